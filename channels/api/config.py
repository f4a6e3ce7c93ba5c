"""Validates what an operator says about the HTTP API. Where it is served is the HTTP server's setting."""

from pydantic import BaseModel, ConfigDict, Field


class ApiAccount(BaseModel):
    """Programs that talk over `/v1`, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(default=True, description="Whether /v1 is served; nobody is heard there without a key.")
    waiting: int = Field(default=256, ge=1, le=10_000, description="Requests that may wait for an answer at once.")
    waiting_of_key: int = Field(default=64, ge=1, le=10_000, description="The same of one key.")
