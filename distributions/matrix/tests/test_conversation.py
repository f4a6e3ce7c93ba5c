"""The channel in the real gateway, with a scripted model and people on a real homeserver."""

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from distributions.matrix.tests.homeserver import Account, Homeserver
from gateway.testing.gateway import TestGateway
from gateway.testing.model import Reply

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(90)]


class House:
    """The gateway, its bot's account, and Ada."""

    def __init__(self, gateway: TestGateway, bot: Account, server: Homeserver) -> None:
        self.gateway, self.bot, self.server = gateway, bot, server
        self.ada = server.register("Ada")

    async def seen(self, room: str, holds: Callable[[list[str]], bool]) -> list[dict[str, Any]]:
        """Return what Ada sees of the bot once that holds."""

        def texts() -> list[str]:
            return [content["body"] for content in self.ada.seen(room, self.bot)]

        await self.gateway.until(lambda: holds(texts()), f"an answer; there is {texts()}")
        return self.ada.seen(room, self.bot)


OPEN = """
[access]
groups = "open"
danger_allow_everyone = true
[access.accounts."matrix:main"]
allow_groups = ["*"]
"""
PRIVATE = """
[access.accounts."matrix:main"]
direct = "pairing"
"""


@asynccontextmanager
async def in_house(server: Homeserver, directory: Path, access: str) -> AsyncIterator[House]:
    """Run the gateway, with these rules of access."""
    bot = server.register("Coach")
    account = f'[channels.matrix.main]\napi_base = "{server.url}"\nedits_per_min = 6000\n'
    secrets = directory / "secrets.toml"
    secrets.touch(0o600)
    secrets.write_text(f'[channels.matrix.main]\naccess_token = "{bot.token}"\n')
    config = f"{access}[delivery]\nplaceholder_after_s = 0.2\n{account}"
    async with TestGateway(config, platforms=(), directory=directory) as gateway:
        yield House(gateway, bot, server)


@pytest.fixture
async def house(tmp_path: Path, homeserver: Homeserver) -> AsyncIterator[House]:
    async with in_house(homeserver, tmp_path, OPEN) as made:
        yield made


async def test_the_first_message_of_a_new_room_is_answered(house: House):
    house.gateway.model.answers("Hello **Ada**!")
    room = house.ada.make_room(house.bot, is_direct=True)
    house.ada.say(room, "hello")
    (answer,) = await house.seen(room, lambda texts: texts[-1:] == ["Hello Ada!"])
    assert "Hello <strong>Ada</strong>!" == answer["formatted_body"]


async def test_in_a_group_only_a_mention_is_answered_and_the_answer_is_a_reply(house: House):
    bob = house.server.register("Bob")
    room = house.ada.make_room(house.bot, bob)
    bob.call("POST", "join", room)
    await house.gateway.until(lambda: len(house.ada.members(room)) == 3, "the bot")
    house.gateway.model.answers("Yes.")
    house.ada.say(room, "nice weather")
    asked = house.ada.say(room, "Coach: are you there?", **{"m.mentions": {"user_ids": [house.bot.user]}})
    (answer,) = await house.seen(room, lambda texts: texts[-1:] == ["Yes."])
    assert {"m.in_reply_to": {"event_id": asked}} == answer["m.relates_to"]
    assert {} == answer["m.mentions"]


async def test_an_owner_allows_a_group_in_words(homeserver: Homeserver, tmp_path: Path):
    async with in_house(homeserver, tmp_path, PRIVATE) as house:
        direct = house.ada.make_room(house.bot)
        house.ada.say(direct, "hello")
        (told,) = await house.seen(direct, lambda texts: len(texts) == 1)
        code = re.findall(r"\b[A-Z2-9]{8}\b", told["body"])[0]
        assert code in told["formatted_body"]
        house.gateway.model.answers("Hello Ada.", "Hello all.")
        await house.gateway.operator("POST /v1/pairing/approve", {"code": code})
        await house.seen(direct, lambda texts: texts[-1:] == ["Hello Ada."])
        bob = house.server.register("Bob")
        room = house.ada.make_room(house.bot, bob)
        bob.call("POST", "join", room)
        await house.gateway.until(lambda: len(house.ada.members(room)) == 3, "the bot")
        mention = {"m.mentions": {"user_ids": [house.bot.user]}}
        house.ada.say(room, "Coach: are you there?", **mention)
        await house.seen(room, lambda texts: len(texts) == 1 and texts[0].endswith("write /group on."))
        house.ada.say(room, "Coach: !group on", **mention)
        await house.seen(room, lambda texts: texts[-1:] == ["Hello all."])


async def test_a_slow_answer_grows_in_one_message(house: House):
    words = " ".join(f"word{number}" for number in range(60))
    house.gateway.model.answers(Reply(words, chunk_chars=20, chunk_delay_s=0.15))
    room = house.ada.make_room(house.bot)
    house.ada.say(room, "tell me")
    await house.seen(room, lambda texts: len(texts) == 1 and "word3" in texts[0] and texts[0].endswith("…"))
    await house.seen(room, lambda texts: texts == [words])


async def test_an_edit_of_an_answered_message_is_answered_again(house: House):
    house.gateway.model.answers("First.", "Second.")
    room = house.ada.make_room(house.bot)
    said = house.ada.say(room, "20 minutes")
    await house.seen(room, lambda texts: texts == ["First."])
    relation = {"rel_type": "m.replace", "event_id": said}
    new = {"msgtype": "m.text", "body": "30 minutes"}
    house.ada.say(room, "* 30 minutes", **{"m.new_content": new, "m.relates_to": relation})
    await house.seen(room, lambda texts: texts == ["First.", "Second."])


async def test_a_thread_is_answered_in_the_thread(house: House):
    house.gateway.model.answers("First.", "There.")
    room = house.ada.make_room(house.bot)
    root = house.ada.say(room, "a topic")
    await house.seen(room, lambda texts: texts == ["First."])
    relation = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True, "m.in_reply_to": {"event_id": root}}
    house.ada.say(room, "more", **{"m.relates_to": relation})
    answer = (await house.seen(room, lambda texts: texts == ["First.", "There."]))[-1]
    assert ("m.thread", root) == (answer["m.relates_to"]["rel_type"], answer["m.relates_to"]["event_id"])


async def test_a_command_is_typed_with_an_exclamation_mark(house: House):
    room = house.ada.make_room(house.bot)
    house.ada.say(room, "!log 20m piano")
    (answer,) = await house.seen(room, lambda texts: any("20 min" in text for text in texts))
    assert "piano" in answer["body"].lower()
