"""Settings of providers that people connect accounts of their own to; keyed by the name that `model.provider` says."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

HttpUrl = r"^https?://[^\s/]+\S*$"


class OAuthConfig(BaseModel):
    """An OAuth 2.0 server, as its provider describes it; PKCE by S256 always."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    authorize_url: str = Field(pattern=HttpUrl)
    """The page where a person agrees."""
    token_url: str = Field(pattern=HttpUrl)
    """Where codes and refresh tokens are exchanged."""
    client_id: str
    """Ours, as the provider registered it."""
    client_secret: SecretStr | None = None
    """None: a public client."""
    redirect_url: str = Field(pattern=HttpUrl)
    """Where the provider sends people back: `/oauth/callback` at http.public_url, or a page that shows them a code."""
    scopes: tuple[str, ...] = ()
    """What is asked for."""
    token_encoding: Literal["form", "json"] = "form"  # noqa: S105  no token
    """How requests to the token URL are written."""
    code_format: Literal["code", "code#state"] = "code"
    """How the code reads that people are shown: alone, or with the state behind it."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Sent with each request to the token URL."""
    send_state: bool = False
    """Whether the exchange of a code holds its state, too."""


class ConnectConfig(BaseModel):
    """One provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str | None = None
    """What people read; None: its name."""
    oauth: OAuthConfig | None = None
    """None: people connect with an API key."""
