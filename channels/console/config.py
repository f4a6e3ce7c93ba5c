"""Validates what an operator says about the terminal chat, and declares what its channel is given."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field


class ConsoleAccount(BaseModel):
    """The terminal chat, account `main`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = Field(default=True, description="Whether `tenk chat` is answered.")


@dataclass(frozen=True, slots=True)
class ConsolePlace:
    """Where terminals come in."""

    listen: Callable[[], AbstractContextManager[socket.socket]]
    """A listening Unix socket that only the same user reaches, not blocking."""
