"""Settings of every test: no network, no settings of the machine, the same number of generated cases everywhere."""

import gc
import logging
import os
import sys
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

FOREIGN = ("TENK_", "TELEGRAM_", "DISCORD_", "SLACK_", "OPENAI_", "ANTHROPIC_", "DATABASE_URL", "NATS_URL")
"""Environment variables that would change what is tested; processes that tests start must not inherit them either."""

for name in [name for name in os.environ if name.startswith(FOREIGN)]:
    del os.environ[name]

sys.dont_write_bytecode = False  # as in the Makefile: else each of many processes compiles all of us again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

for profile, examples in (("sample", 10), ("whole", 100)):
    settings.register_profile(
        profile, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
settings.load_profile(os.environ.get("EXAMPLES", "sample"))  # `make gate`: whole


structlog.configure(  # where a test configures nothing else; with `rich` one traceback takes longer than most tests
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)

PLAIN_LOG = structlog.get_config()


@pytest.fixture(autouse=True)
def _log_as_it_was() -> Iterator[None]:
    root = logging.getLogger()  # noqa: TID251  the libraries' logging is set up, too
    handlers, level = list(root.handlers), root.level
    yield
    if structlog.get_config()["processors"] is PLAIN_LOG["processors"]:
        return
    structlog.configure(**PLAIN_LOG)
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    for module in list(sys.modules.values()):
        if isinstance(kept := getattr(module, "__dict__", {}).get("log"), structlog._config.BoundLoggerLazyProxy):  # noqa: SLF001  else it speaks to the closed stream of that test for ever
            vars(kept).pop("bind", None)


gc.disable()  # while tests are collected nothing becomes garbage


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Freeze what was collected: the garbage collector need not look at it again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest tests first, so that the workers end together; keep the rest shuffled."""
    items.sort(key=lambda item: -max((float(mark.args[0]) for mark in item.iter_markers("timeout")), default=0.0))
