"""A person who is forgotten: no byte of what they said, did or are stays in the database."""

import asyncio
from pathlib import Path

from channels.simulators.slack.server import SlackSimulator
from gateway.testing.model import Call, Reply
from tests.journeys.house import WAIT_S, House, house, slow

CANARY = "Zanzibar"
WHO = 777_001


async def bytes_left(here: House, *words: str) -> list[str]:
    files = [here.home / f"tenk.db{ending}" for ending in ("", "-wal")]
    content = b"".join(file.read_bytes() for file in files if file.exists())
    return [word for word in words if word.encode() in content]


async def talk(here: House, who: int, word: str) -> None:
    lines = [f"/log 45m {word} scales of {word}", "/chart", f"/remind 19:00 mon {word}", "/export", "/goal 5h"]
    for line in lines:
        before = len(here.texts(who))
        here.sim.say(who, line)
        await here.until(lambda before=before: len(here.texts(who)) > before, f"an answer to {line}")
    here.model.answers(Reply(calls=(Call("get_user_skills", "{}"),)), Reply(f"You are good at {word}."))
    here.sim.say(who, f"how am I at {word}?")
    await here.told(who, f"You are good at {word}.")
    await here.settled()


async def until_done(here: House) -> None:
    """Wait until every wish is carried out, and the log is empty."""
    log = here.home / "tenk.db-wal"
    async with asyncio.timeout(WAIT_S):
        while await here.rows("SELECT id FROM erasures") or log.stat().st_size:
            await asyncio.sleep(0.05)


async def test_nothing_stays_of_who_asks_for_it(tmp_path: Path):
    async with house(tmp_path) as here:
        await talk(here, WHO, CANARY)
        await talk(here, 2, "Tombuctu")
        assert [CANARY, str(WHO)] == await bytes_left(here, CANARY, str(WHO))
        here.sim.say(WHO, "/forget")
        assert "practice" in (await here.told(WHO, "What shall I forget?")).text
        here.sim.say(WHO, "/forget everything")
        await here.told(WHO, "It cannot be undone")
        here.model.answers(slow(f"A long story of {CANARY}. " * 20, 20.0))
        asked = len(here.model.requests)
        here.sim.say(WHO, f"tell me of {CANARY}")
        await here.asked(asked + 1)
        here.sim.say(WHO, "/mode followup")
        await here.told(WHO, "followup")
        here.sim.say(WHO, f"and then of {CANARY} again")
        here.sim.say(WHO, "/forget everything yes")
        await here.told(WHO, "everything I know about you is deleted")
        await until_done(here)
        assert [] == await bytes_left(here, CANARY, str(WHO), f"Name{WHO}")
        assert ["Tombuctu"] == await bytes_left(here, "Tombuctu")
        record = await here.rows("SELECT actor, detail FROM audit WHERE action = 'person_forgotten'")
        assert [{"actor": "person", "detail": "everything"}] == record
        anonymous = await here.rows("SELECT DISTINCT user_id FROM usage WHERE user_id = 'forgotten'")
        assert 1 == len(anonymous)
        here.sim.say(2, "/forget talk yes")
        await here.told(2, "our conversations are deleted")
        await until_done(here)
        assert ["Tombuctu"] == await bytes_left(here, "Tombuctu", "You are good at")
        here.sim.say(2, "/stats")
        await here.told(2, "45 min")
        here.model.answers(Reply("Hello, stranger."))
        here.sim.say(WHO, "hello again")
        await here.told(WHO, "Hello, stranger.")
        before = len(here.texts(WHO))
        here.sim.say(WHO, "/forget everything yes")
        await here.until(lambda: len(here.texts(WHO)) > before, "the goodbye")
        here.model.answers(Reply("Welcome, newcomer."))
        here.sim.say(WHO, "hello at once")  # in the same second, and Telegram tells whole seconds
        await here.told(WHO, "Welcome, newcomer.")


async def test_the_only_owner_is_not_forgotten_but_told_what_to_do(tmp_path: Path):
    async with house(tmp_path, access="pairing") as here:
        here.sim.say(WHO, "/start")
        await here.told(WHO, "private")
        (request,) = (await here.operator("GET /v1/pairing"))["requests"]
        await here.operator(f"POST /v1/pairing/{request['request']}/approve")
        await here.told(WHO, "owner")
        for words in ("everything", "everything yes"):
            before = len(here.texts(WHO))
            here.sim.say(WHO, f"/forget {words}")
            await here.until(lambda before=before: len(here.texts(WHO)) > before, "an answer")
            assert "You are the only owner here" in here.texts(WHO)[-1]
        assert not await here.rows("SELECT id FROM erasures")
        here.sim.say(WHO, "/forget talk yes")
        await here.told(WHO, "our conversations are deleted")
        await until_done(here)
        assert [{"role": "owner"}] == await here.rows("SELECT role FROM users")


async def test_what_slack_tells_again_after_a_gap_is_no_strangers(tmp_path: Path):
    chat = f"D{WHO}"
    async with SlackSimulator.with_bot() as slack:
        for start in (1, 2):
            async with house(tmp_path, environ=slack.environment()) as here:
                await here.until(slack.is_connected, "the socket")
                if start == 1:
                    slack.say(chat, f"My word is {CANARY}")
                    await here.until(lambda: len(slack.answers(chat)) == 1, "an answer")
                    slack.command(chat, "forget", "everything yes")
                    await here.until(lambda: "we start from the beginning" in slack.answers(chat)[-1].text, "a goodbye")
                    await until_done(here)
                    assert [] == await bytes_left(here, CANARY, f"U{WHO}")
                slack.say(chat, f"hello, start {start}")
                await here.until(lambda start=start: f"start {start}" in str(here.model.requests[-1:]), "a request")
                await here.settled()
                assert CANARY not in str(here.model.requests[-1])
                assert [] == await bytes_left(here, CANARY)
        said = [answer for answer in slack.answers(chat) if "from the beginning" not in answer.text]
        assert 3 == len(said)


async def test_an_operator_erases_a_person_while_it_runs(tmp_path: Path) -> None:
    async with house(tmp_path, model=None) as here:
        here.sim.say(WHO, f"/log 45m {CANARY}")
        await here.told(WHO, CANARY)
        done = await here.operator(f"POST /v1/users/telegram:{WHO}/forget", {"extent": "everything"})
        assert [f"telegram:{WHO}"] == done["senders"]
        await until_done(here)
        assert [] == await bytes_left(here, CANARY, str(WHO))
        here.sim.say(WHO, "/stats")
        await here.until(lambda: len(here.texts(WHO)) > 1, "an answer to a newcomer")
        assert CANARY not in here.texts(WHO)[-1]
