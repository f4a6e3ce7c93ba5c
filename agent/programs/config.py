"""Settings of programs that the model may run with secrets of the operator's."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

ProgramName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]

_WORDS = re.compile(r"[^\s-]\S*(?: [^\s-]\S*)*")


class ProgramConfig(BaseModel):
    """One program, with the subcommands that the model may run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    binary: str = Field(min_length=1)
    """Name of the program on the gateway's PATH, or its absolute path."""
    subcommands: tuple[str, ...] = Field(min_length=1)
    """Beginnings of the arguments that may run, such as "issue list": whole words, never options."""
    read_only_subcommands: tuple[str, ...] = ()
    """Those of them that change nothing, which run without asking the person."""
    secrets: Mapping[VariableName, SecretStr] = Field(default_factory=dict)
    """Environment variables that only this program gets, in secrets.toml."""
    description: str = Field(default="", max_length=500)
    """Its purpose, in words for the model."""
    folder: Path | None = None
    """Directory in which it runs; None: an empty one for each call."""
    timeout_s: float = Field(default=50.0, gt=0, le=600)
    """Seconds after which it is killed with its children."""
    max_output_chars: int = Field(default=50_000, ge=1_000, le=200_000)
    """Most characters of its output, and of its errors, that the model gets."""

    @field_validator("binary")
    @classmethod
    def _is_a_name_or_absolute(cls, binary: str) -> str:
        if "/" in binary and not binary.startswith("/"):
            raise ValueError("it is a program's name or an absolute path")
        return binary

    @field_validator("subcommands", "read_only_subcommands")
    @classmethod
    def _are_words(cls, subcommands: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [each for each in subcommands if _WORDS.fullmatch(each) is None]:
            raise ValueError(f"{wrong[0]!r} is not words with single blanks between, none of which begins with -")
        return subcommands

    @model_validator(mode="after")
    def _reads_what_it_may_run(self) -> Self:
        for each in self.read_only_subcommands:
            if not begins_with(each.split(), self.subcommands):
                raise ValueError(f"read_only_subcommands: {each!r} is none of the subcommands")
        return self


def begins_with(arguments: list[str], subcommands: tuple[str, ...]) -> bool:
    """Return True if the arguments begin with the words of one of these subcommands."""
    return any(arguments[: len(words)] == words for words in (each.split(" ") for each in subcommands))
