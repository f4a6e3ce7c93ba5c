"""`tenk chat` on a home whose process does not hear terminals says at once who does."""

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue

from channels.console.adapter import ConsoleChannel
from gateway.cli.chat import chat, heard_elsewhere
from gateway.config.settings import load
from gateway.errors import GatewayError
from gateway.http.mounts import Mounts
from gateway.ops.control import ControlServer
from tests.fakes.http import Loaded


def status(ours: str, theirs: str = "lives", reads: str = "h/b") -> JsonValue:
    """A cluster of two, as the first of them tells it."""
    members: JsonValue = {"h/a": {"state": f"{ours} (this one)"}, "h/b": {"state": theirs}}
    return {"cluster": {"members": members, "accounts": {"console:main": {"read_by": reads}}}}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (status("lives"), "another process of this cluster, h/b"),
        (status("lives", "is gone"), ""),  # its lease is about to be taken
        (status("lives", reads="h/a"), ""),
        (status("lives", reads="nobody"), ""),
        ({"cluster": {"members": {}, "accounts": {}}}, ""),
        ({"state": "ready"}, ""),
        (None, ""),
    ],
)
def test_who_hears_terminals_is_told_by_the_status(told: JsonValue, words: str) -> None:
    """Where nobody is known to yet it is waited for."""
    why = heard_elsewhere(told)
    assert words in why
    assert bool(words) == bool(why)


@pytest.mark.timeout(60)
async def test_a_terminal_is_told_at_once_where_it_is_heard(tmp_path: Path) -> None:
    """Over the control socket of a process that stands by for terminals."""
    settings = load(None, {"TENK_HOME": str(tmp_path)})

    async def tell(_arguments: dict[str, JsonValue]) -> JsonValue:
        return status("lives")

    mounts = Mounts(Loaded([ConsoleChannel()]), private=True)
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(ControlServer(settings.control_path, {"status": tell}, mounts).run())
        while not settings.control_path.exists():
            await asyncio.sleep(0)
        with pytest.raises(GatewayError, match="another process of this cluster, h/b: run `tenk chat` on that machine"):
            await chat(settings, "hello")
        serving.cancel()
