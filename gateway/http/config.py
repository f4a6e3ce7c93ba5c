"""Settings of `[http]`, the gateway's own HTTP server."""

import ipaddress
import re
from typing import Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from gateway.http.forwarded import IpNetwork

MAX_PORT = 65_535

OAUTH_PATH = "/oauth/callback"
"""Path to which providers redirect people."""

MCP_PATH = "/mcp"
"""Path of the MCP server, on the HTTP server and on the control socket."""

_LISTEN = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})")
HOST_NAME = re.compile(r"[a-z0-9._-]{1,253}|[0-9a-f:.]{2,45}")


class HttpConfig(BaseModel):
    """Settings of the HTTP server: address, names, key, proxies and limits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    listen: str = "127.0.0.1:8080"
    api_key: SecretStr | None = Field(default=None, min_length=16)
    public_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()

    trusted_proxies: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    connections: int = Field(default=512, ge=8, le=60_000)
    address_connections: int = Field(default=64, ge=4, le=60_000)
    head_timeout_s: float = Field(default=75.0, gt=0, le=300)

    @field_validator("public_url")
    @classmethod
    def _is_a_root(cls, given: str | None) -> str | None:
        return None if given is None else root_of(given)

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for text in given:
            if as_network(text).prefixlen == 0:
                raise ValueError(f"{text} would trust every address; name the proxies")
        return given

    @field_validator("cors_origins")
    @classmethod
    def _are_origins(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for origin in given:
            parts = urlsplit(origin)
            if parts.scheme not in {"http", "https"} or f"{parts.scheme}://{parts.netloc.lower()}" != origin:
                raise ValueError(f'"{origin}" is not an origin; write it as browsers do, like https://app.example.com')
        return given

    @property
    def hosts(self) -> frozenset[str]:
        """Return the names that a Host header may have."""
        public = urlsplit(self.public_url or "").hostname or ""
        return frozenset(map(str.lower, ("localhost", self.host, *self.allowed_hosts, *([public] if public else ()))))

    @property
    def trusted(self) -> tuple[IpNetwork, ...]:
        return tuple(map(as_network, self.trusted_proxies))

    @property
    def host(self) -> str:
        """Return the address to bind, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Return the port to bind; 0 lets the system choose."""
        return int(self.listen.rpartition(":")[2])

    @field_validator("listen")
    @classmethod
    def _is_an_address_and_a_port(cls, listen: str) -> str:
        if (read := _LISTEN.fullmatch(listen)) is None:
            raise ValueError("write an address and a port, such as 127.0.0.1:8080")
        if int(read[1]) > MAX_PORT:
            raise ValueError(f"port {read[1]} is over {MAX_PORT}")
        return listen

    @model_validator(mode="after")
    def _needs_key_off_loopback(self) -> Self:
        if self.api_key is None and not is_loopback(self.host):
            raise ValueError(
                f"{self.listen} can be reached from other machines and there is no key; "
                "set http.api_key in the secrets file, or listen on 127.0.0.1"
            )
        return self


def root_of(text: str) -> str:
    """Normalise a server's root URL: scheme, name and port in lower case, without a path.

    Raises:
        ValueError: it is no such URL, or not https although other machines use it.
    """
    try:
        parts = urlsplit(text.strip())
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise ValueError(f"this is not a URL ({error}); write it like https://bot.example.com") from None
    if parts.scheme not in {"http", "https"} or not HOST_NAME.fullmatch(host) or "@" in parts.netloc:
        raise ValueError("write the whole URL of the server, like https://bot.example.com")
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError("it has a path, but pages are served at the root: use a host name of its own")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError("it is not https: links that give access could be read on their way")
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}" + (f":{port}" if port else "")


def as_network(text: str) -> IpNetwork:
    """Parse a network, or an address as a network of one.

    Raises:
        ValueError: it is neither.
    """
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError:
        raise ValueError(f'"{text}" is no network; write it like 10.1.2.3 or 10.1.2.0/24') from None


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach `host`. Any name but localhost counts as reachable."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
