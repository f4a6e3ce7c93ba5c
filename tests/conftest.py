"""What every test stands on: no network, no settings of the machine, the same amount of generated cases everywhere."""

import gc
import os

import pytest
import structlog
from hypothesis import HealthCheck, settings

FOREIGN = ("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "NATS_URL")
"""Environment variables that would change what is tested; processes that tests start must not inherit them either."""

for name in [name for name in os.environ if name.startswith(FOREIGN)]:
    del os.environ[name]

for profile, examples in (("sample", 25), ("whole", 100)):
    settings.register_profile(
        profile, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
settings.load_profile(os.environ.get("EXAMPLES", "sample"))  # `make coverage` looks at the whole


structlog.configure(  # where a test configures nothing else; with `rich` one traceback takes longer than most tests
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

gc.disable()  # while tests are collected nothing becomes garbage


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected stays: the collector need not look at it again, as in the product after its start."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What may take longest begins first, so that the workers end together; the rest as it was shuffled."""
    items.sort(key=lambda item: -max((float(mark.args[0]) for mark in item.iter_markers("timeout")), default=0.0))
