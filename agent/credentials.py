"""Credentials for a model server, as data."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class CredentialKind(StrEnum):
    """The kind of a credential, which selects the profile that sends it."""

    API = "api"  # a key, valid until revoked
    OAUTH = "oauth"  # an access token with a refresh token


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """A secret: in no log, prompt or repr."""

    secret: str  # "": the server needs none
    kind: CredentialKind = CredentialKind.API
    expires_at: datetime | None = None  # aware; None: unknown
    refresh_token: str = ""  # "": cannot be renewed
    place: str = field(default="", compare=False)  # where an operator finds it; "": in the settings, or a person's own
