"""What an operator says about the web chat. Where it is served is the HTTP server's setting."""

from pydantic import BaseModel, ConfigDict, Field


class WebAccount(BaseModel):
    """The chat page at `/`, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(default=True, description="Whether the page is served.")
    title: str = Field(default="TenK Coach", min_length=1, max_length=60, description="What the page calls the bot.")
