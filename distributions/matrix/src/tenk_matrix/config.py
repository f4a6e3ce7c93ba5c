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

    @field_validator("api_base")
    @classmethod
    def _base_shape(cls, base: str) -> str:
        return check_base_url(base, "https://matrix.example.org").removesuffix("/_matrix")
