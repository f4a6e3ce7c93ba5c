"""The bridges to other frameworks by name: `SCHEME:PLACE` in the configuration names an agent behind one."""

import importlib
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

from agent.bridges.port import ForeignAgent
from agent.models.credentials import is_showable
from agent.plain_errors import check_url


class UnusableAgent(Exception):
    """An agent cannot be reached through its bridge; the message says what to do."""


T = TypeVar("T")

Connect = Callable[..., ForeignAgent]
"""The function `connect` of a bridge's module: it gets an agent's name in the configuration, its place and, for an
agent at a URL, the operator's token; it raises UnusableAgent if there is none.
"""


URL = "URL"
"""The form of a place that is an address."""

COMMAND = "COMMAND"
"""The form of a place that is a program with its arguments, as in a shell."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A bridge: its module here, the package that it needs, and the form of a place."""

    module: str
    needs: str  # a top-level package; "": none beside our own
    place: str  # for people

    @property
    def is_remote(self) -> bool:
        """Return True if its agents are at URLs."""
        return self.place == URL


BRIDGES = {
    "a2a": Bridge("agent.bridges.a2a", "a2a", URL),
    "acp": Bridge("agent.bridges.acp", "acp", COMMAND),
    "http": Bridge("agent.bridges.http", "", URL),
    "langgraph": Bridge("agent.bridges.langgraph", "langgraph", "MODULE:GRAPH"),
    "openai-agents": Bridge("agent.bridges.openai_agents", "agents", "MODULE:AGENT"),
    "pydantic-ai": Bridge("agent.bridges.pydantic_ai", "pydantic_ai", "MODULE:AGENT"),
}


def check_bridge(name: str) -> None:
    """Check that a bridge of this name exists and its package is installed, without importing it.

    Raises:
        UnusableAgent: it does not.
    """
    _split(name)


def connect(name: str, token: str = "") -> ForeignAgent:
    """Return the agent that the configuration calls by this name; the token is for an agent at a URL.

    Raises:
        UnusableAgent: there is none.
    """
    bridge, place = _split(name)
    make = cast("Connect", importlib.import_module(bridge.module).connect)
    if not bridge.is_remote:
        return make(name, place)
    if not is_showable(token):
        raise UnusableAgent("agent.token holds characters that no HTTP header takes")
    return make(name, place, token)


def _split(name: str) -> tuple[Bridge, str]:
    scheme, _, place = name.partition(":")
    if place.startswith("//"):
        raise UnusableAgent('write "http:" in front of the URL, or "a2a:" if an A2A agent is there')
    bridge = BRIDGES.get(scheme)
    if bridge is None:
        raise UnusableAgent(f'there is no bridge "{scheme}"; there are: {", ".join(sorted(BRIDGES))}')
    if not place:
        raise UnusableAgent(f"write {scheme}:{bridge.place}")
    if bridge.needs and find_spec(bridge.needs) is None:
        raise UnusableAgent(f"install what it needs: pip install 'tenk-gateway[{scheme}]'")
    if bridge.is_remote:
        _check_url(scheme, place)
    if bridge.place == COMMAND:
        command_of(place)
    return bridge, place


def command_of(place: str) -> list[str]:
    """Return the words of a command.

    Raises:
        UnusableAgent: its quotes do not match, or there is no such program.
    """
    try:
        argv = shlex.split(place)
    except ValueError as problem:
        raise UnusableAgent(f"the command cannot be read: {problem}") from None
    if not argv or shutil.which(argv[0]) is None:
        raise UnusableAgent(f"there is no program {argv[0] if argv else place!r} that can be started")
    return argv


def _check_url(scheme: str, url: str) -> None:
    try:
        has_password = "@" in urlsplit(check_url(url)).netloc
    except ValueError:
        raise UnusableAgent(f"write the whole URL, such as {scheme}:http://127.0.0.1:8900") from None
    if has_password:
        raise UnusableAgent("the URL holds a password; write a bearer token into agent.token of secrets.toml")


def load_object(place: str, kind: type[T], words: str) -> T:
    """Import `MODULE:ATTRIBUTE`, which is of this kind; modules in the working directory are found, too.

    Raises:
        UnusableAgent: the module has no such attribute, or it is no `words`. Whatever the module raises is passed on.
    """
    module, _, attribute = place.partition(":")
    if not attribute:
        raise UnusableAgent(f"{place} names no object: write MODULE:ATTRIBUTE")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    found = getattr(importlib.import_module(module), attribute, None)
    if found is None:
        raise UnusableAgent(f"the module {module} has no {attribute}")
    if not isinstance(found, kind):
        raise UnusableAgent(f"{place} is no {words} but a {type(found).__name__}")
    return found
