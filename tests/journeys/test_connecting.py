"""A person's own key: /connect on Telegram, with a model server that knows which keys are good."""

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from channels.simulators.discord.server import DiscordSimulator
from channels.simulators.slack.server import SlackSimulator
from gateway.testing.model import Reply
from tests.journeys.house import House, house

GROUP = -1001234567890
CONFIG = f"""
[model]
provider = "openai"
[access.accounts."telegram:main"]
groups = "open"
allow_groups = ["telegram:{GROUP}"]
"""
SECRETS = [f"canary{number:02}-not-a-key-shape-{number * 7919}" for number in range(12)]
"""None looks like a key: nothing but the command says that it is one."""
SHAPED = "sk-canary-shape-0123456789"


def keys_used(here: House) -> list[str]:
    return [request.headers["Authorization"].removeprefix("Bearer ") for request in here.model.requests]


async def test_a_person_connects_is_answered_with_their_key_and_disconnects(tmp_path: Path) -> None:
    good, other = SECRETS[:2]
    async with house(tmp_path, config=CONFIG) as here:
        here.sim.say(1, f"/connect openai {good}")
        told = await here.told(1, "Connected to OpenAI")
        assert "I deleted your message" in told.text
        assert [] == [shown.text for shown in here.sim.messages(1) if good in shown.text and not shown.deleted]
        for person in (1, 2):
            here.sim.say(person, "hello")
            await here.told(person, "A short answer.")
        await here.settled()
        assert [good, "sk-journey"] == keys_used(here)
        done = await here.operator("POST /v1/keys/rotate")
        assert (1, 0) == (done["sealed"], done["lost"])
        here.model.refused_keys.add(other)
        here.sim.say(1, f"/connect openai {other}")
        await here.told(1, "OpenAI refuses this key")
        for refused, answer in ((other, "Still yours."), (good, "Of the house.")):
            here.model.refused_keys.add(refused)
            here.model.answers(Reply(answer))
            here.sim.say(1, "again")
            await here.told(1, answer)
        here.sim.say(1, "/connect off openai")
        await here.told(1, "I forgot your key")
        here.sim.say(1, "/connect")
        await here.told(1, "not connected")
        here.model.answers(Reply("For good."))
        here.sim.say(1, "bye")
        await here.told(1, "For good.")
        await here.settled()
        assert [good, "sk-journey", good, good, good, "sk-journey", "sk-journey"] == keys_used(here)


async def test_no_byte_of_twelve_secrets_is_anywhere(tmp_path: Path) -> None:
    with capture_logs() as logged:
        async with house(tmp_path, config=CONFIG, environ={"OPENAI_API_KEY": SECRETS[0]}) as here:
            here.sim.add_chat(GROUP, "supergroup")
            bot = here.sim.world.bot().username
            here.model.refused_keys |= {SECRETS[2]}
            said = [
                here.sim.say(1, f"/connect openai {SECRETS[1]}"),
                here.sim.say(1, f"/connect openai {SECRETS[2]}"),
                here.sim.say(1, f"/connect nobody {SECRETS[3]}"),
                here.sim.say(1, f"/connect {SECRETS[4]}"),
                here.sim.say(1, f"/connect@{bot} OpenAI\n{SECRETS[5]}"),
                here.sim.say(1, f"/coach /connect openai {SECRETS[6]}"),
                here.sim.say(1, f"/connect openai {SECRETS[7]} {SECRETS[7]}"),
                here.sim.say(1, f"/conect openai {SECRETS[8]}é"),
            ]
            here.sim.say(GROUP, f"/connect@{bot} openai {SECRETS[9]}", person=1)
            here.sim.say(GROUP, f"/connect openai {SECRETS[10]}", person=2)
            await here.told(GROUP, "direct message only")
            here.sim.say(1, "what did I say there?", under=said[3])
            here.sim.say(1, f"and my other key is {SHAPED}, is it good?")
            here.sim.edit(1, here.sim.say(1, "hm"), f"/connect openai {SECRETS[11]}")
            await here.told(1, "A short answer.")
            await here.settled()
            shown = [text for chat in (1, GROUP) for text in here.texts(chat)]
            prompts = json.dumps([request.body for request in here.model.requests])
            names = [row["name"] for row in await here.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = repr([await here.rows(f'SELECT * FROM "{name}"') for name in names])
            live = {path.name: path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file()}
        left = {f"after {path.name}": path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file()}
    places = {"log": repr(logged), "prompts": prompts, "rows": rows, "answers": repr(shown)}
    everywhere = {name: text.encode() for name, text in places.items()} | live | left
    assert {"tenk.db", "tenk.db-wal"} <= live.keys()
    assert "my other key is [REDACTED], is it good?" in prompts
    for name, content in everywhere.items():
        assert [] == [secret for secret in (*SECRETS, SHAPED) if secret.encode() in content], name


@pytest.mark.parametrize("side", [DiscordSimulator, SlackSimulator])
async def test_where_only_the_person_can_delete_it_they_are_told_to(
    side: type[DiscordSimulator | SlackSimulator], tmp_path: Path
) -> None:
    async with side.with_bot() as people, house(tmp_path, config=CONFIG, environ=people.environment()) as here:
        await here.until(people.is_connected, "the connection")
        chat = people.direct(1)
        for number, words in enumerate((" /connect openai", " /conect openai", "connect openai"), 3):
            said = people.say(chat, f"{words} {SECRETS[number]}")
            await here.until(lambda n=number: len(people.answers(chat)) == n - 2, f"an answer to {words}")
            told = people.answers(chat)[-1].text
            assert "Connected to OpenAI" in told and "Only you can delete your message here" in told
            assert any(message.message_id == said for message in people.messages(chat))
        people.command(chat, "connect", f"openai {SECRETS[6]}")
        await here.until(lambda: len(people.answers(chat)) == 4, "an answer to the native command")
        assert "delete" not in people.answers(chat)[-1].text
        await here.settled()
        files = b"".join(path.read_bytes() for path in (tmp_path / "home").iterdir() if path.is_file())
        assert [] == [secret for secret in SECRETS[3:7] if secret.encode() in files]
