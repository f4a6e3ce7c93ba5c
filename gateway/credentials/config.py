"""Settings of providers for accounts that people connect themselves, by the name in `model.provider`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from agent.plain_errors import check_url

HttpUrl = Annotated[str, AfterValidator(check_url)]


class OAuthConfig(BaseModel):
    """Settings of an OAuth 2.0 server; PKCE with S256 is always used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    authorize_url: HttpUrl
    """Page on which a person agrees."""
    token_url: HttpUrl
    """Endpoint for codes and refresh tokens."""
    client_id: str
    """Our id, as registered with the provider."""
    client_secret: SecretStr | None = None
    """None: a public client."""
    redirect_url: HttpUrl
    """Page to which the provider redirects: `/oauth/callback` at http.public_url, or one that shows the code."""
    scopes: tuple[str, ...] = ()
    """Requested scopes."""
    token_encoding: Literal["form", "json"] = "form"  # noqa: S105  no token
    """Encoding of requests to the token URL."""
    code_format: Literal["code", "code#state"] = "code"
    """Form of the code that people are shown: alone, or followed by the state."""
    headers: Mapping[str, str] = Field(default_factory=dict)
    """Headers of each request to the token URL."""
    send_state: bool = False
    """Send the state with the code."""


class ConnectConfig(BaseModel):
    """One provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str | None = None
    """Name for people; None: the provider's key."""
    oauth: OAuthConfig | None = None
    """None: people connect with an API key."""
