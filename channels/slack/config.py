"""Settings of one Slack app, validated without importing an SDK."""

from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from channels.chat.account import PlatformAccount, check_base_url

OFFICIAL_API = "https://slack.com"
OFFICIAL_FILES = "files.slack.com"
OFFICIAL_HOOKS = "hooks.slack.com"
MOST_SOCKETS = 10  # of one app (docs.slack.dev/apis/events-api/using-socket-mode, read 2026-11)


class SlackAccount(PlatformAccount):
    """One app in one workspace. Validation errors never show a secret."""

    bot_token: SecretStr  # xoxb-...: OAuth & Permissions
    app_token: SecretStr | None = None  # xapp-...: Basic Information, App-Level Tokens; Socket Mode needs it
    signing_secret: SecretStr | None = None  # Basic Information, App Credentials; HTTP mode needs it
    mode: Literal["socket", "http"] = "socket"  # how events come: over our own WebSocket, or posted to us
    api_base: str = OFFICIAL_API  # another server: the simulator
    text_format: Literal["markdown", "mrkdwn"] = "markdown"  # Slack's Markdown block, or its own older markup
    answer_in_threads: bool = True  # a mention in a channel is answered in a thread under it
    live: Literal["stream", "edits"] = "stream"  # answers in threads while they are written: Slack's streams, or edits
    call_timeout_s: float = Field(default=30.0, gt=0)
    connect_timeout_s: float = Field(default=10.0, gt=0)
    sockets: int = 1  # open WebSockets; Slack spreads events over them
    ping_every_s: float = Field(default=10.0, gt=0)  # a socket without an answer is closed
    backfill_s: float = Field(default=10.0, ge=0)  # how long a new event waits, after a gap, for older ones of its chat

    @field_validator("bot_token")
    @classmethod
    def _bot_token_shape(cls, token: SecretStr) -> SecretStr:
        if not token.get_secret_value().startswith("xoxb-"):
            raise ValueError(
                "is not a bot token; it begins with xoxb- and stands under OAuth & Permissions at api.slack.com/apps"
            )
        return token

    @field_validator("app_token")
    @classmethod
    def _app_token_shape(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not token.get_secret_value().startswith("xapp-"):
            raise ValueError(
                "is not an app-level token; it begins with xapp- and is made under Basic Information, App-Level "
                "Tokens, with the scope connections:write"
            )
        return token

    @field_validator("sockets")
    @classmethod
    def _sockets_bound(cls, sockets: int) -> int:
        if not 1 <= sockets <= MOST_SOCKETS:
            raise ValueError(f"must be 1 to {MOST_SOCKETS}: Slack takes no more of one app; 1 is enough for most")
        return sockets

    @field_validator("api_base")
    @classmethod
    def _base_shape(cls, base: str) -> str:
        return check_base_url(base, OFFICIAL_API).removesuffix("/api")

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> Self:
        if self.mode == "socket" and self.app_token is None:
            raise ValueError(
                "app_token is missing: Socket Mode needs it (api.slack.com/apps, Basic Information, App-Level Tokens, "
                "scope connections:write); for HTTP set mode to http and signing_secret"
            )
        if self.mode == "http" and self.sockets > 1:
            raise ValueError('sockets is of mode "socket": by HTTP events are posted, and no socket is opened')
        if self.mode == "http" and (self.signing_secret is None or not self.signing_secret.get_secret_value().strip()):
            raise ValueError(
                "signing_secret is missing: without it anyone could post events; find it at "
                "api.slack.com/apps, Basic Information, App Credentials"
            )
        return self

    @property
    def api_url(self) -> str:
        """Return the base URL of the Web API's methods."""
        return f"{self.api_base}/api/"

    @property
    def file_hosts(self) -> frozenset[str]:
        """Return the hosts (with port) that may receive the bot token for a download."""
        return frozenset({OFFICIAL_FILES}) if self.api_base == OFFICIAL_API else frozenset({self._own_host})

    @property
    def hook_hosts(self) -> frozenset[str]:
        """Return the hosts that response URLs may lead to."""
        return frozenset({OFFICIAL_HOOKS}) if self.api_base == OFFICIAL_API else frozenset({self._own_host})

    @property
    def _own_host(self) -> str:
        return urlsplit(self.api_base).netloc
