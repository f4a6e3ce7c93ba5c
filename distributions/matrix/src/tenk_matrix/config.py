"""Settings of one account on a Matrix homeserver."""

from pydantic import Field, SecretStr, field_validator

from channels.chat.account import PlatformAccount, check_base_url

ENCRYPTED = "I cannot read encrypted messages. Please invite me to a room without encryption."


class MatrixAccount(PlatformAccount):
    """The settings in `[channels.matrix.main]`. Validation errors never show the token."""

    api_base: str  # the homeserver's URL: https://matrix.example.org
    access_token: SecretStr  # the README says how to get one for a password
    edits_per_min: float = Field(default=6.0, gt=0)  # of live answers, over all rooms; a homeserver allows 12 events
    encrypted_notice: str = ENCRYPTED  # said once in an encrypted room
    poll_timeout_s: int = Field(default=30, ge=1, le=300)  # a /sync without events returns after it
    call_timeout_s: float = Field(default=30.0, gt=0)  # any other call; a /sync may take as much longer
    file_timeout_s: float = Field(default=120.0, gt=0)  # a call that carries a file, and the first /sync
    connect_timeout_s: float = Field(default=10.0, gt=0)

    @field_validator("api_base")
    @classmethod
    def _base_shape(cls, base: str) -> str:
        return check_base_url(base, "https://matrix.example.org").removesuffix("/_matrix")
