"""A program as a tool: it gets the operator's secrets in its own environment, and the model never sees them."""

import asyncio
import base64
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from pydantic import BaseModel, Field

from agent.child_process import MAX_OUTPUT_BYTES, ProgramEnded, bare_environment, run_program
from agent.programs.config import ProgramConfig, begins_with
from agent.tools.base import Effect, Tool, ToolContext, ToolError

MAX_ARGUMENTS = 100
MAX_ARGUMENT_CHARS = 20_000
GRACE_S = 5.0
"""Seconds between a program's own limit and that of its tool call, which could not say that it was killed."""

MIN_LINE_CHARS = 8
"""Shortest line of a secret, such as a private key of several, that is hidden by itself and in Base64."""

HIDDEN = "[REDACTED]"

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class ProgramArguments(BaseModel):
    """Arguments of a program."""

    arguments: list[Annotated[str, Field(max_length=MAX_ARGUMENT_CHARS)]] = Field(
        max_length=MAX_ARGUMENTS, description="One string each, passed as they are; no shell reads them."
    )


class Program:
    """One program that the model may run."""

    def __init__(self, name: str, config: ProgramConfig, environ: Mapping[str, str] | None = None) -> None:
        """Take the environment of the gateway, for tests; None: this process's."""
        self._config = config
        self._environ = os.environ if environ is None else environ
        self._secrets = {name: secret.get_secret_value() for name, secret in config.secrets.items()}
        self._hidden = _pieces(self._secrets.values())
        self.name = name

    def why_missing(self) -> str:
        """Return why the program cannot be run; "" if it can."""
        return "" if self._path() is not None else f"there is no program {self._config.binary!r} that could be run"

    def place(self) -> str:
        """Return the program's path, or its name if it is missing."""
        return self._path() or self._config.binary

    def tool(self) -> Tool:
        """Return the program as a tool."""
        config = self._config
        allowed, free = (", ".join(each) for each in (config.subcommands, config.read_only_subcommands))
        description = " ".join(
            filter(
                None,
                (
                    config.description or f"Run the program {Path(config.binary).name}.",
                    f"The arguments begin with one of: {allowed}; options stand behind it.",
                    free and f"These change nothing: {free}.",
                    "The result has its exit_code, output and errors. It is logged in already.",
                ),
            )
        )
        return Tool(
            name=f"cli__{self.name}",
            description=description,
            arguments=ProgramArguments,
            run=self._run,
            effect=Effect.UNSAFE,
            read_only=self._only_reads,
            permission=lambda _context, given: "allow" if self._only_reads(given) else "passthrough",
            validate=lambda _context, given: self._check(given.arguments),
            timeout_s=config.timeout_s + GRACE_S,
        )

    def _path(self) -> str | None:
        return shutil.which(self._config.binary, path=self._environ.get("PATH", os.defpath))

    def _only_reads(self, given: ProgramArguments) -> bool:
        return begins_with(given.arguments, self._config.read_only_subcommands)

    async def _check(self, arguments: Sequence[str]) -> None:
        if not begins_with(list(arguments), self._config.subcommands):
            allowed = ", ".join(self._config.subcommands)
            raise ToolError(f"The first arguments must be one of: {allowed}. Put options behind them.")
        for each in arguments:
            if _CONTROLS.search(each):
                raise ToolError("An argument has a control character; write it without.")

    async def _run(self, _context: ToolContext, given: ProgramArguments) -> Mapping[str, object]:
        path, limit_s = self._path(), self._config.timeout_s
        if path is None:
            raise ToolError(f"{self.why_missing()}. Tell the person; an operator must install it.")
        env = bare_environment(self._secrets, self._environ)
        with ExitStack() as closing:
            folder = self._config.folder or Path(closing.enter_context(TemporaryDirectory(prefix="tenk-cli-")))
            try:
                async with asyncio.timeout(limit_s):
                    ended = await run_program((path, *given.arguments), env=env, folder=folder)
            except TimeoutError:
                raise ToolError(
                    f"It was killed after {limit_s:g} s. It may have done a part; look before you try again."
                ) from None
            except OSError as error:
                raise ToolError(f"It cannot be started: {error.strerror}. Tell the person.") from None
        return self._result(ended)

    def _result(self, ended: ProgramEnded) -> Mapping[str, object]:
        errors = self._to_text(ended.errors)
        return {"exit_code": ended.code, "output": self._to_text(ended.output)} | ({"errors": errors} if errors else {})

    def _to_text(self, written: bytes) -> str:
        """Return output for the model: without secrets, and cut behind them."""
        text, is_capped = written.decode(errors="replace"), len(written) >= MAX_OUTPUT_BYTES
        for piece in self._hidden:
            text = text.replace(piece, HIDDEN)
        if is_capped and self._hidden:
            text = text[: -len(self._hidden[0])]  # a secret may be cut there
        if len(text) <= self._config.max_output_chars and not is_capped:
            return text
        whole = f"at least {MAX_OUTPUT_BYTES:,}" if is_capped else f"{len(written):,}"
        return f"{text[: self._config.max_output_chars]}\n[cut: it wrote {whole} bytes]"


def _pieces(secrets: Iterable[str]) -> list[str]:
    """Return the texts to hide, the longest first: each secret, its lines, and both in Base64 at each offset."""
    plain: set[str] = set()
    for secret in secrets:
        plain |= {secret, *(line for line in secret.splitlines() if len(line) >= MIN_LINE_CHARS)}
    encoded = {form for each in plain if len(each) >= MIN_LINE_CHARS for form in _in_base64(each.encode())}
    return sorted((plain | encoded) - {""}, key=lambda piece: (-len(piece), piece))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the characters that the secret alone decides, for each place that it may have in a longer text."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + secret).decode().rstrip("=")
        ends_inside = (before + len(secret)) % 3 != 0
        yield whole[(0, 2, 3)[before] : -1 if ends_inside else None]
