"""Every function that reads text is measured for growth, or is excused with a reason: one message must not stop all."""

import gc
from cProfile import Profile
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from types import CodeType

import pytest

from tests.attacks.shapes import SHAPES
from tests.attacks.text_of_agent import ENTRIES as OF_AGENT
from tests.attacks.text_of_agent import EXCUSED as AGENT_EXCUSED
from tests.attacks.text_of_channels import ENTRIES as OF_CHANNELS
from tests.attacks.text_of_channels import EXCUSED as CHANNELS_EXCUSED
from tests.attacks.text_of_gateway import ENTRIES as OF_GATEWAY
from tests.attacks.text_of_gateway import EXCUSED as GATEWAY_EXCUSED
from tests.house.text_functions import module_of, text_functions
from tests.house.tree import PACKAGES, ROOT

SHORT_CHARS = 60

TABLES = {
    "agent": (OF_AGENT, AGENT_EXCUSED),
    "channels": (OF_CHANNELS, CHANNELS_EXCUSED),
    "gateway": (OF_GATEWAY, GATEWAY_EXCUSED),
}


@pytest.mark.parametrize("package", sorted(TABLES))
def test_every_text_function_is_measured_or_excused(package: str) -> None:
    """A new one fails the build until an entry of `tests/attacks` runs it, or says why none has to."""
    found = {name for name in text_functions() if name.startswith(f"{package}.")}
    unexcused = {name for name in found if not excuse_for(name, TABLES[package][1])}
    assert [] == sorted(unexcused - functions_run())


@pytest.mark.parametrize("package", sorted(TABLES))
def test_no_excuse_outlives_its_function(package: str) -> None:
    """An excuse for what is not there any more, or not a text function, leaves the list."""
    found = text_functions()
    excused = TABLES[package][1]
    assert [] == [key for key in excused if not any(excuse_for(name, {key: ""}) for name in found)]
    assert [] == [key for key, reason in excused.items() if len(reason.split()) < 4]


def excuse_for(name: str, excused: dict[str, str]) -> str | None:
    """The entry of the table that excuses a function: its own name, its module, or a package that ends in a dot."""
    module = name.partition(":")[0]
    return next((key for key in excused if key in (name, module) or (key.endswith(".") and name.startswith(key))), None)


@cache
def functions_run() -> frozenset[str]:
    """`module:Qualified.name` of every function that the entries reach with a short text of every seventh shape."""
    _forget_answers()
    profile = Profile()
    profile.enable()
    try:
        for entry in (entry for entries, _ in TABLES.values() for entry in entries.values()):
            for shape in SHAPES[::7]:
                entry.call(shape.text(SHORT_CHARS))
    finally:
        profile.disable()
    codes = [seen.code for seen in profile.getstats() if isinstance(seen.code, CodeType)]
    return frozenset(named(code) for code in codes if code.co_filename.startswith(str(ROOT)))


def _forget_answers() -> None:
    """Empty the caches of the project: a function whose answer is kept would not be seen to run."""
    for each in gc.get_objects():
        if isinstance(each, _lru_cache_wrapper) and str(each.__module__).partition(".")[0] in PACKAGES:
            each.cache_clear()


def named(code: CodeType) -> str:
    """A function as `text_functions` calls it."""
    return f"{module_of(Path(code.co_filename))}:{code.co_qualname.replace('.<locals>', '')}"
