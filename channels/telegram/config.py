"""What an operator says about one Telegram bot. No SDK is imported here."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

OFFICIAL_API = "https://api.telegram.org"


class TelegramAccount(BaseModel):
    """One bot account. Validation errors never show the token."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: str = Field(default="main", pattern=r"^[a-z0-9_-]{1,32}$")  # the `account` of its addresses
    token: SecretStr  # from @BotFather: digits, a colon, letters
    api_base: str = OFFICIAL_API  # another server: a local Bot API server or the simulator
    poll_timeout_s: int = Field(default=50, ge=1, le=50)  # how long one getUpdates may wait; Telegram caps it at 50
    poll_grace_s: float = Field(default=15.0, gt=0)  # a poll this much later than its timeout is given up (watchdog)
    call_timeout_s: float = Field(default=30.0, gt=0)  # any other call
    connect_timeout_s: float = Field(default=10.0, gt=0)
    pacing: Literal["adaptive", "strict"] = "adaptive"  # limits engage after the first 429, or always

    @field_validator("token")
    @classmethod
    def _token_shape(cls, token: SecretStr) -> SecretStr:
        number, colon, secret = token.get_secret_value().partition(":")
        word = secret.replace("_", "").replace("-", "")
        if not (colon and number.isascii() and number.isdigit() and word.isascii() and word.isalnum()):
            raise ValueError("is not a bot token; @BotFather gives it as digits, a colon and letters: 123456:ABC-def")
        return token

    @field_validator("api_base")
    @classmethod
    def _base_shape(cls, base: str) -> str:
        parts = urlsplit(base)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise ValueError("must be an http(s) URL like https://api.telegram.org")
        if "{" in base or "}" in base:
            raise ValueError("must hold no placeholders; /bot<token>/<method> is added to it")
        return base.rstrip("/")
