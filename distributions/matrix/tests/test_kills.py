"""The gateway as a process that is killed again and again, between people on a real homeserver and a scripted model."""

import asyncio
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from distributions.matrix.tests.homeserver import Account, Homeserver
from gateway.testing.model import FakeModel, Reply

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(170)]

LIVE_POINTS = ("placeholder_sent", "live_edit", "edit_done")
POINTS = ("inbox_pre", "acked", "final_pre", "send_done", "sent_pre", *LIVE_POINTS)
RANDOM_KILLS = 4
CONFIG = """
[http]
listen = "127.0.0.1:0"
[access]
direct = "open"
danger_allow_everyone = true
[access.limits]
messages_per_min = 6000
burst_messages = 6000
[sessions]
mode = "followup"
[delivery]
placeholder_after_s = 0.2
[channels.matrix.main]
api_base = "{url}"
edits_per_min = 6000
"""


def answer(body: dict[str, Any]) -> Reply:
    """Answer `m17` by `re:m17`, in some seconds if that is asked for."""
    said = str(next(each["content"] for each in reversed(body["messages"]) if each["role"] == "user"))
    number = int(re.findall(r"\bm(\d+)\b", said)[-1])
    words = " ".join(f"word{at}" for at in range(40))
    return Reply(f"re:m{number} {words}", chunk_chars=20, chunk_delay_s=0.25 if "slowly" in said else 0.01)


class Process:
    """A gateway over one home."""

    def __init__(self, home: Path, environ: dict[str, str]) -> None:
        self._home, self._environ = home, environ
        self._running: asyncio.subprocess.Process | None = None

    async def start(self, failpoint: str = "") -> None:
        environ = self._environ | ({"TENK_FAILPOINT": f"{failpoint}:1:exit"} if failpoint else {})
        with (self._home / "log").open("ab") as log:
            self._running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "gateway", "run", "--config", "gateway.toml"),
                cwd=self._home,
                env=environ,
                stdout=log,
                stderr=log,
            )

    async def ended(self, within_s: float) -> int | None:
        """Return the exit status; None if it still runs."""
        assert self._running is not None
        try:
            async with asyncio.timeout(within_s):
                return await self._running.wait()
        except TimeoutError:
            return None

    async def kill(self) -> None:
        if self._running is not None and self._running.returncode is None:
            self._running.send_signal(signal.SIGKILL)
            await self._running.wait()


class Talk:
    """Two people, each in a room with the bot, who count their messages."""

    def __init__(self, server: Homeserver, bot: Account) -> None:
        self.bot = bot
        self.people = [server.register("Ada"), server.register("Bob")]
        self.rooms = [person.make_room(bot) for person in self.people]
        self.said = 0

    def go_on(self, manner: str) -> None:
        for person, room in zip(self.people, self.rooms, strict=True):
            for _ in range(2):  # one waits while the other is answered
                self.said += 1
                person.say(room, f"this is m{self.said} {manner}")

    def answers(self) -> list[str]:
        seen = [person.seen(room, self.bot) for person, room in zip(self.people, self.rooms, strict=True)]
        return [content["body"] for contents in seen for content in contents]

    async def until_answered(self, process: Process) -> None:
        """Wait until each message has a whole answer."""
        ends_s = time.monotonic() + 60
        while (waiting := self.list_waiting()) and time.monotonic() < ends_s:
            assert await process.ended(0.1) is None, "the gateway ended"
        assert [] == waiting, self.answers()

    def list_waiting(self) -> list[str]:
        """Return the messages without a whole answer."""
        whole = [text for text in self.answers() if not text.endswith("…")]
        numbers = range(1, self.said + 1)
        return [f"m{number}" for number in numbers if not any(f"re:m{number} " in text for text in whole)]


async def test_kills_lose_nothing_and_say_nothing_twice(tmp_path: Path, homeserver: Homeserver):
    bot = homeserver.register("Coach")
    (tmp_path / "gateway.toml").write_text(CONFIG.format(url=homeserver.url))
    (tmp_path / "secrets.toml").touch(0o600)
    (tmp_path / "secrets.toml").write_text(f'[channels.matrix.main]\naccess_token = "{bot.token}"\n')
    chance = random.Random(29)
    async with FakeModel(answer) as model:
        environ = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "TENK_HOME": str(tmp_path / "home"),
            "TENK_MODEL": "openai:test",
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "sk-test",
        }
        talk, process = Talk(homeserver, bot), Process(tmp_path, environ)
        try:
            died = []
            for round_, point in enumerate((*POINTS, *[""] * RANDOM_KILLS)):
                talk.go_on("slowly" if point in LIVE_POINTS else "quickly")
                await process.start(point)
                if point:
                    died += [point] if await process.ended(20.0) == 137 else []
                else:
                    await process.ended(chance.uniform(0.8, 3.0))
                await process.kill()
                if round_ % 2:  # or a turn that runs in three deaths is given up, and its person told so
                    await process.start()
                    await talk.until_answered(process)
                    await process.kill()
            assert list(POINTS) == died
        finally:
            await process.kill()
    counted = Counter(re.findall(r"re:m\d+", " ".join(talk.answers())))
    assert {f"re:m{number}": 1 for number in range(1, talk.said + 1)} == dict(counted)
    assert talk.said == len(talk.answers()), "each answer is one message"
