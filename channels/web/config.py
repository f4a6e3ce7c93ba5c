"""Validates what an operator says about the web chat. Where it is served is the HTTP server's setting."""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, model_validator

from channels.messages import DEFAULT_TENANT


class WebAccount(BaseModel):
    """The chat page at `/`, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(default=True, description="Whether the page is served.")
    tenant: str = Field(default=DEFAULT_TENANT, description="Whose chat it is, by a name of [tenants].")
    title: str | None = Field(
        default=None, min_length=1, max_length=60, description="What the page calls the bot; None: the agent's own."
    )
    messages_per_min: int = Field(
        default=60, ge=1, le=6000, description="Messages a minute from one browser; as many at once after a pause."
    )
    address_messages_per_min: int = Field(
        default=240, ge=1, le=60_000, description="The same from one address, new visitors and opened pages included."
    )
    views: int = Field(default=384, ge=1, le=50_000, description="Pages that may be open at the same time, over all.")
    address_views: int = Field(default=48, ge=1, le=50_000, description="The same at one network address.")

    @model_validator(mode="before")
    @classmethod
    def _names_no_old_key(cls, values: object) -> object:
        if isinstance(values, dict) and "address_newcomers_per_min" in values:
            raise ValueError("address_newcomers_per_min is gone: address_messages_per_min counts new visitors, too")
        return values


@dataclass(frozen=True, slots=True)
class Guests:
    """What the gateway knows about visitors, by their chat; asked each time anew."""

    is_known: Callable[[str], bool] = lambda _chat: False  # whether anything they said was ever taken
    may_send_files: Callable[[str], bool] = lambda _chat: False  # whether what they hand over may take room
    is_let_in: Callable[[str], bool] = lambda _chat: False  # whether somebody decided that they may talk here
