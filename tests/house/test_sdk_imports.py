"""The few modules that may import a platform's own library."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import PACKAGES, named, parsed, python_files

SDKS = {"aiogram", "discord", "slack_bolt", "slack_sdk"}

IMPORTERS = {
    "channels/discord/library.py",
    "channels/discord/wire.py",
    "channels/slack/receiving.py",
    "channels/slack/sockets.py",
    "channels/slack/webhook.py",
    "channels/slack/wire.py",
    "channels/telegram/wire.py",
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_a_platform_sdk_is_seen_by_its_adapters_wire_alone() -> None:
    assert sorted(IMPORTERS) == [named(path) for path in python_files(*PACKAGES) if SDKS & set(imported(path))]
