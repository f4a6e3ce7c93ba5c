"""Settings of one MCP server."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from agent.plain_errors import check_url

McpServerName = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=28)]
"""Name of a server: part of the names of its tools, `mcp__NAME__TOOL`, and of the accounts of people, `mcp:NAME`."""

HANDSHAKE_S = 30.0
"""Most seconds in which a server must be connected and have listed its tools: `npx` may download it first."""


class McpServerConfig(BaseModel):
    """One server: a program (`command`), an address (`url`) or a Python object (`python`), and what it may do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str | None = None
    """Program that is started and speaks MCP over its standard input and output; None: it is no program."""
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: Mapping[str, SecretStr] = Field(default_factory=dict)
    """Environment variables of the program beside PATH, HOME and LANG; it gets no others."""
    url: str | None = None
    """Address of a server that runs already, http or https; None: it has none."""
    transport: Literal["http", "sse"] = "http"
    """Transport to that address: http is streamable HTTP, sse is the older one."""
    headers: Mapping[str, SecretStr] = Field(default_factory=dict)
    """HTTP headers of each request, such as Authorization."""
    python: str | None = None
    """Server object in this process, as module:name; None: it is none."""
    timeout_s: float = Field(default=60.0, ge=1, le=600)
    """Seconds that one call may take, 1 to 600."""
    enabled: bool = True
    """False: the server is not connected, and its tools do not exist."""
    allow_tools: tuple[str, ...] = ("*",)
    """Patterns of the server's tools that are used, by the server's own names."""
    deny_tools: tuple[str, ...] = ()
    """Patterns of tools that are not used; they win over allow_tools."""
    per_person: bool = False
    """True: each person connects an account of their own by /connect NAME; only with url."""
    trust_annotations: bool = False
    """True: tools that the server calls read-only or idempotent are treated so; False: each call counts as unsafe."""

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and "@" in urlsplit(check_url(url)).netloc:
            raise ValueError("it holds a password; write it into [mcp.NAME.headers] of secrets.toml")
        return url

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        given = [name for name in ("command", "url", "python") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"it needs one of command, url and python, and has {' and '.join(given) or 'none'}")
        if self.per_person and self.url is None:
            raise ValueError("per_person is for a url: a program does not know for whom it is called")
        return self

    @property
    def handshake_s(self) -> float:
        """Return the seconds in which it must be connected and have listed its tools."""
        return min(HANDSHAKE_S, self.timeout_s)

    @property
    def identity(self) -> str:
        """Return a hash of the address or of the program and its arguments; it is the same for the same server."""
        parts = (self.command, *self.args) if self.command else ("url", (self.url or self.python or "").rstrip("/"))
        return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()
