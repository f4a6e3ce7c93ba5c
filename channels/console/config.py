"""Settings of the terminal chat."""

from pydantic import BaseModel, ConfigDict


class ConsoleAccount(BaseModel):
    """The terminal chat, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
