"""What a model takes in and gives out: as the operator's config says, else as a kept table knows, else with care.

The table is genai-prices' own (windows and prices of some 2,300 models; no output caps, read 2026-11). It is read when
it is first asked, which costs a quarter of a second: `facts` of a wire is asked for before people are waited on.
"""

from agent.config import LinkConfig
from agent.ports import ModelFacts

UNKNOWN_WINDOW_TOKENS = 128_000
"""Of a model that neither config nor table knows; most that are served today take this much."""


def facts_of(name: str, config: LinkConfig) -> ModelFacts:
    """The facts of the model of this name (`WIRE:NAME`) as it is configured; a server of one's own is in no table."""
    wire, _, model = name.partition(":")
    window = config.context_window_tokens
    if window is None and not config.is_local:
        window = window_of(wire, model, config.base_url)
    return ModelFacts(
        context_window_tokens=window or UNKNOWN_WINDOW_TOKENS,
        max_output_tokens=config.max_output_tokens,
        sees_images=config.base_url is None if config.sees_images is None else config.sees_images,
        takes_tools=config.takes_tools,
    )


def window_of(wire: str, model: str, base_url: str | None) -> int | None:
    """Tokens that the model takes in, its output included, as the table has it; None: it has not."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  its import reads the whole table

    try:
        _, known = get_snapshot().find_provider_model(model, None, None if base_url else wire, base_url)
    except LookupError:
        return None
    return known.context_window
