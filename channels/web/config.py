"""Settings of the web chat; the HTTP server's settings say where it is served."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, model_validator

from channels.messages import DEFAULT_TENANT


class WebAccount(BaseModel):
    """The chat page at `/`, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    tenant: str = DEFAULT_TENANT
    title: str | None = Field(default=None, min_length=1, max_length=60)
    messages_per_min: int = Field(default=60, ge=1, le=6000)
    address_messages_per_min: int = Field(default=240, ge=1, le=60_000)
    views: int = Field(default=384, ge=1, le=50_000)
    address_views: int = Field(default=48, ge=1, le=50_000)

    @model_validator(mode="before")
    @classmethod
    def _names_no_old_key(cls, values: object) -> object:
        if isinstance(values, dict) and "address_newcomers_per_min" in values:
            raise ValueError("address_newcomers_per_min is gone: address_messages_per_min counts new visitors, too")
        return values


@dataclass(frozen=True, slots=True)
class Guests:
    """The gateway's knowledge of visitors by chat; asked each time."""

    is_known: Callable[[str], bool] = lambda _chat: False  # True if a message of theirs was ever stored
    may_send_files: Callable[[str], bool] = lambda _chat: False  # True if their uploads may be stored
    is_let_in: Callable[[str], bool] = lambda _chat: False  # True if an operator or policy has let them in
