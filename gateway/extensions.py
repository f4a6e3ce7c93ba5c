"""Finds what other distributions bring, by name, through entry points. What an agent or a tool is, others know."""

import difflib
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from gateway.errors import SettingsError

AGENTS = "tenk.agents"
"""Each names a `gateway.product.AgentProduct`, under the product's own name."""

TOOLS = "tenk.tools"
"""Each names what gives, called without arguments, an object with `@tool` methods: a class of its own, mostly."""

HOOKS = "tenk.hooks"
"""Each names an `agent.hooks.points.Hook`, several of them, or what gives them when it is called."""

KINDS = {AGENTS: "agent", TOOLS: "tool", HOOKS: "hook"}


FLAWS = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
    SyntaxError, SystemExit, TypeError, ValueError,
)  # fmt: skip
"""What somebody else's module may raise at its import, pydantic's word on fields without a schema among it."""


def list_offered(group: str) -> list[str]:
    """The names there are, sorted; nothing is imported."""
    return sorted({point.name for point in entry_points(group=group)})


def check_offered(group: str, name: str) -> None:
    """Whether somebody offers it; nothing is imported.

    Raises:
        SettingsError: nobody does; the message lists what there is.
    """
    _find(group, name, tuple(sys.path))


@lru_cache(64)
def _find(group: str, name: str, _path: tuple[str, ...]) -> EntryPoint:
    """Found once: each look reads what all distributions offer, and what is imported of one stays as it is."""
    point = next(iter(entry_points(group=group, name=name)), None)
    if point is not None:
        return point
    names = list_offered(group)
    near = difflib.get_close_matches(name, names, 1, cutoff=0.6)
    meant = f'; did you mean "{near[0]}"?' if near else ""
    raise SettingsError(f"there is no {KINDS[group]} {name!r}{meant}; there are: {', '.join(names) or 'none'}")


def load_extension(group: str, name: str) -> object:
    """What an entry point names, imported.

    Raises:
        SettingsError: nobody offers it, or it cannot be imported.
    """
    point = _find(group, name, tuple(sys.path))
    try:
        loaded: object = point.load()
    except FLAWS as error:
        raise SettingsError(
            f"the {KINDS[group]} {name!r} ({point.value}) cannot be imported: {first_words(error)}"
        ) from error
    return loaded


def first_words(error: BaseException) -> str:
    """An error of somebody else's code in one line."""
    words = str(error).strip().partition("\n")[0]
    return words if isinstance(error, ImportError) else f"{type(error).__name__}: {words}"
