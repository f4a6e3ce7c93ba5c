"""Settings of one Telegram bot, validated without importing an SDK."""

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from channels.chat.account import PlatformAccount, check_base_url

OFFICIAL_API = "https://api.telegram.org"
WEBHOOK_PORTS = (
    443,
    80,
    88,
    8443,
)  # ports that the official server calls (core.telegram.org/bots/api#setwebhook, 2026-09)
_SECRET_TOKEN = re.compile("[A-Za-z0-9_-]{1,256}")


class TelegramAccount(PlatformAccount):
    """One bot account. Validation errors never show the token."""

    token: SecretStr  # from @BotFather: digits, a colon, letters
    api_base: str = OFFICIAL_API  # another server: a local Bot API server or the simulator
    mode: Literal["polling", "webhook"] = "polling"  # ask for updates, or let Telegram post them
    webhook_url: str | None = Field(default=None, validate_default=True)  # https, as Telegram reaches `webhook_path`
    webhook_secret: SecretStr | None = Field(default=None, validate_default=True)  # Telegram sends it with each update
    webhook_connections: int = Field(default=40, ge=1, le=100)  # updates that Telegram posts at once
    live: Literal["placeholder", "draft"] = "placeholder"  # how a private chat shows a growing answer
    rich: bool = False  # answers as rich messages of Bot API 10: real tables, lists, headings; old clients see less
    poll_timeout_s: int = Field(default=50, ge=1, le=50)  # of one getUpdates; Telegram's limit is 50
    poll_grace_s: float = Field(default=15.0, gt=0)  # after its timeout a poll is given up (watchdog)
    call_timeout_s: float = Field(default=30.0, gt=0)  # any other call
    file_timeout_s: float = Field(default=120.0, gt=0)  # a call that carries a file, either way
    connect_timeout_s: float = Field(default=10.0, gt=0)

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
        return check_base_url(base, OFFICIAL_API)

    @field_validator("webhook_url")
    @classmethod
    def _url_shape(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is None:
            if info.data.get("mode") == "webhook":
                raise ValueError(
                    'is missing: mode = "webhook" needs the https URL under which Telegram reaches this gateway,'
                    " like https://bot.example.com"
                )
            return None
        parts = urlsplit(url)
        if info.data.get("api_base", OFFICIAL_API) == OFFICIAL_API:
            if parts.scheme != "https" or (parts.port or 443) not in WEBHOOK_PORTS:
                ports = ", ".join(map(str, WEBHOOK_PORTS))
                raise ValueError(f"must be an https URL with port {ports}, or none: Telegram calls no other port")
        elif parts.scheme not in ("http", "https"):
            raise ValueError("write the whole URL, with http:// or https:// in front")
        if not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("must be a URL without password, query and fragment, like https://bot.example.com")
        return url.rstrip("/")

    @field_validator("webhook_secret")
    @classmethod
    def _secret_shape(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if info.data.get("mode") == "webhook" and not (secret and secret.get_secret_value()):
            raise ValueError(
                'is missing: mode = "webhook" without it would accept updates from anyone; set it in secrets.toml to'
                " 32 or more random letters and digits (`openssl rand -hex 32`)"
            )
        if secret is not None and not _SECRET_TOKEN.fullmatch(secret.get_secret_value()):
            raise ValueError("must be 1 to 256 of the characters A-Z, a-z, 0-9, _ and -")
        return secret

    @property
    def webhook_path(self) -> str:
        """Return the path on which the gateway's HTTP server accepts this bot's updates."""
        return f"/webhooks/telegram/{self.name}"

    @property
    def webhook_target(self) -> str:
        """Return the URL to register with Telegram: `webhook_url`, with `webhook_path` added if it has no path."""
        url = self.webhook_url or ""
        return url if urlsplit(url).path else url + self.webhook_path
