"""Settings of an account on any platform."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from channels.messages import DEFAULT_TENANT


class PlatformAccount(BaseModel):
    """One account on a platform. Validation errors never show a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    name: str = Field(default="main", pattern=r"^[a-z0-9_-]{1,32}$")  # the `account` of its addresses
    tenant: str = DEFAULT_TENANT  # owner of the bot, a name of [tenants]
    pacing: Literal["adaptive", "strict"] = "adaptive"  # limits engage after the first 429, or always


def check_base_url(base: str, official: str) -> str:
    """Return a server's URL without a trailing slash.

    Raises:
        ValueError: it is not a plain http(s) URL.
    """
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"write the whole URL, with http:// or https:// in front, like {official}")
    if "{" in base or "}" in base:
        raise ValueError("must hold no placeholders")
    return base.rstrip("/")
