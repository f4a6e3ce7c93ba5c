"""Names of the servers' tools as models accept them; pure."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

MAX_NAME_CHARS = 64
"""Longest tool name that every model's provider accepts."""

_HASH_CHARS = 8
_FOREIGN = re.compile(r"[^A-Za-z0-9_]+")


def tool_name(server: str, tool: str) -> str:
    """Return a name such as mcp__files__read that models accept; one that is too long ends in a hash."""
    name = f"mcp__{_clean(server)}__{_clean(tool)}"
    return name if len(name) <= MAX_NAME_CHARS else _with_hash(name, server, tool)


def is_name_of(tool: str, servers: Iterable[str]) -> bool:
    """Return True if a tool of one of these servers may have this name."""
    return any(tool.startswith(f"mcp__{_clean(server)}__") for server in servers)


def name_tools(server: str, tools: Sequence[str]) -> Mapping[str, str]:
    """Return the name of each tool of a server for the model.

    Tools whose names would be the same all end in a hash, so that their order and later ones change nothing for any
    whose own name is already clean.
    """
    named: dict[str, list[str]] = {}
    for tool in dict.fromkeys(tools):
        named.setdefault(tool_name(server, tool), []).append(tool)
    found: dict[str, str] = {}
    for name, same in named.items():
        for tool in same:
            is_own = len(same) == 1 or name == f"mcp__{_clean(server)}__{tool}"
            found[tool] = name if is_own else _with_hash(name, server, tool)
    return found


def is_wanted(tool: str, allowed: Sequence[str], denied: Sequence[str]) -> bool:
    """Return True if a tool matches an allowed pattern and no denied one."""
    return any(fnmatchcase(tool, each) for each in allowed) and not any(fnmatchcase(tool, each) for each in denied)


def _clean(name: str) -> str:
    return _FOREIGN.sub("_", name) or "_"


def _with_hash(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{name[: MAX_NAME_CHARS - _HASH_CHARS - 1]}_{digest}"
