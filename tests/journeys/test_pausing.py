"""An operator pauses the agents: messages wait, their senders are told once, and they are answered afterwards."""

import asyncio
import os
from pathlib import Path

from channels.simulators.slack.server import SlackSimulator
from gateway.testing.model import Reply
from tests.fakes.fork_server import ForkServer
from tests.journeys.house import House, house

CHAT = "D4101"


async def typed(here: House, command: str) -> str:
    """Run a command of `tenk` where the configuration is broken and the home is the default one."""
    directory = here.home.parent
    (directory / "config").mkdir()
    (directory / "config" / "gateway.toml").write_text("[gateway\n")
    (directory / "var").symlink_to(here.home)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TENK_")}
    done = await asyncio.to_thread(ForkServer.of().run, ["-m", "gateway", command], environ, directory, 30)
    assert "config/gateway.toml is not TOML" in done.stderr
    return done.stdout


async def test_messages_of_a_pause_are_kept_and_answered_after_it(tmp_path: Path) -> None:
    async with SlackSimulator.with_bot() as slack:

        def count_told(words: str) -> int:
            return sum(words in answer.text for answer in slack.answers(CHAT))

        async with house(tmp_path, environ=slack.environment()) as here:
            await here.until(slack.is_connected, "the socket")
            assert "Paused." in await typed(here, "pause")
            assert not (await here.operator("POST /v1/pause"))["changed"]
            slack.say(CHAT, "are you there?")
            await here.until(lambda: count_told("I am paused") == 1, "the notice")
            slack.say(CHAT, "and are you awake?")
            slack.command(CHAT, "stats", "")
            await here.until(lambda: len(slack.answers(CHAT)) == 2, "the answer to a command")
            assert not here.model.requests
        async with house(tmp_path, environ=slack.environment()) as here:  # a restart ends no pause
            await here.until(slack.is_connected, "the socket")
            assert "`tenk resume`" in (await here.operator("GET /v1/status"))["paused"]
            here.model.answers(Reply("I am here and awake."))
            assert (await here.operator("POST /v1/resume"))["changed"]
            await here.until(lambda: count_told("I am here and awake.") == 1, "the answer")
            assert 1 == count_told("I am paused")
            asked = str(here.model.requests[-1])
            assert "are you there?" in asked
            assert "and are you awake?" in asked
            assert not (await here.operator("POST /v1/resume"))["changed"]
            logged = await here.rows("SELECT action FROM audit WHERE action IN ('paused', 'resumed') ORDER BY id")
            assert ["paused", "resumed"] == [row["action"] for row in logged]
            assert "paused" not in await here.operator("GET /v1/status")
