"""The bridges to other frameworks by name: `SCHEME:PLACE` in the configuration names an agent behind one."""

import importlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from agent.bridges.port import ForeignAgent


class UnusableAgent(Exception):
    """An agent cannot be reached through its bridge; the message says what to do."""


class Connect(Protocol):
    """The function `connect` of a bridge's module."""

    def __call__(self, name: str, place: str) -> ForeignAgent:
        """Return the agent at this place; `name` is what the configuration calls it.

        Raises:
            UnusableAgent: there is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge: its module here, the package that it needs, and the form of a place."""

    module: str
    needs: str  # a top-level package; "": none beside our own
    place: str  # for people


BRIDGES = {
    "langgraph": Bridge("agent.bridges.langgraph", "langgraph", "MODULE:GRAPH"),
    "pydantic-ai": Bridge("agent.bridges.pydantic_ai", "pydantic_ai", "MODULE:AGENT"),
}


def check_bridge(name: str) -> None:
    """Check that a bridge of this name exists and its package is installed, without importing it.

    Raises:
        UnusableAgent: it does not.
    """
    _split(name)


def connect(name: str) -> ForeignAgent:
    """Return the agent that the configuration calls by this name.

    Raises:
        UnusableAgent: there is none.
    """
    bridge, place = _split(name)
    return cast("Connect", importlib.import_module(bridge.module).connect)(name, place)


def _split(name: str) -> tuple[Bridge, str]:
    scheme, _, place = name.partition(":")
    bridge = BRIDGES.get(scheme)
    if bridge is None:
        raise UnusableAgent(f'there is no bridge "{scheme}"; there are: {", ".join(sorted(BRIDGES))}')
    if not place:
        raise UnusableAgent(f"write {scheme}:{bridge.place}")
    if bridge.needs and find_spec(bridge.needs) is None:
        raise UnusableAgent(f"install what it needs: pip install 'tenk-gateway[{scheme}]'")
    return bridge, place


def load_object(place: str) -> object:
    """Import `MODULE:ATTRIBUTE`; modules in the working directory are found, too.

    Raises:
        UnusableAgent: it names no attribute of the module. Whatever the module raises is passed on.
    """
    module, _, attribute = place.partition(":")
    if not attribute:
        raise UnusableAgent(f"{place} names no object: write MODULE:ATTRIBUTE")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    found = getattr(importlib.import_module(module), attribute, None)
    if found is None:
        raise UnusableAgent(f"the module {module} has no {attribute}")
    return cast("object", found)
