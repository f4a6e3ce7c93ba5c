"""How a command asks the gateway, and how it prints what strangers wrote."""

import asyncio
from pathlib import Path
from typing import Any


def ask(config_path: Path | None, name: str, arguments: dict[str, Any]) -> Any:
    """What the running gateway answers, or the store where none runs.

    Raises:
        GatewayError: it was refused, or nothing can be reached; the message says why.
    """
    from gateway.cli.operate import operate  # noqa: PLC0415  heavy: the store
    from gateway.cli.prepare import prepare  # noqa: PLC0415  heavy: every room's config model

    return asyncio.run(operate(prepare(config_path), name, arguments))


def known_as(person: dict[str, Any]) -> str:
    """A person by name, with the senders that are theirs."""
    return f"{printable(person['name'])} ({', '.join(person['senders'])})"


def printable(name: str) -> str:
    """A display name is a stranger's text: nothing in it may move the cursor (A67)."""
    from gateway.safety.redaction import escape_controls  # noqa: PLC0415  its patterns are compiled when imported

    return escape_controls(name)
