"""A credential lets a model server know us; as data. Where it is kept, and who renews it, is not known here."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class CredentialKind(StrEnum):
    """Which profile says how it is shown."""

    API = "api"  # a key that holds until it is taken back
    OAUTH = "oauth"  # an access token, renewed with another


@dataclass(frozen=True, slots=True, repr=False)
class Credential:
    """A secret: in no log, no prompt, no repr."""

    secret: str  # what the server is shown; "" where it asks for nothing
    kind: CredentialKind = CredentialKind.API
    expires_at: datetime | None = None  # aware; None: unknown
    refresh_token: str = ""  # "": it cannot be renewed
    place: str = field(default="", compare=False)  # where an operator finds it; "": the settings', or a person's own
