"""One person on two platforms becomes one user with one log, and two again."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.journeys.house import WAIT_S, House, house
from tests.journeys.streets import DiscordStreet, Seen, Street, TelegramStreet
from tests.journeys.test_forgetting import bytes_left

WHO = 777_005
CODE = re.compile(r"/link ([2-9A-HJ-NP-Z]{8})")


@asynccontextmanager
async def on_two_platforms(directory: Path, member: int) -> AsyncIterator[tuple[Street, Street, House]]:
    here, there = TelegramStreet(), DiscordStreet()
    async with AsyncExitStack() as stack:
        await there.open(stack)
        running = house(directory, access="pairing", model=None, environ=there.environ())
        here.here = there.here = await stack.enter_async_context(running)
        await there.ready(stack, 1)
        await here.let_in(1)
        await here.let_in(member)
        await there.let_in(2)
        yield here, there, here.here


async def press(here: Street, person: int, words: str, label: str, times: int = 1) -> None:
    message, _, buttons = await here.reads(person, words, times)
    await here.press(person, message, buttons[label])


async def asks(here: Street, person: int, words: str, answer: str) -> None:
    await here.say(person, words)
    await here.reads(person, answer)


def code_in(told: Seen) -> str:
    (code,) = CODE.findall(told[1])
    return str(code)


async def linked_and_parted_by_the_owner(here: Street, there: Street) -> None:
    await there.say(2, "/link")
    code = code_in(await there.reads(2, "/link "))
    await here.say(5, f"/link {code}")
    await press(here, 5, "Is that you, too?", "Yes, both are me")
    await press(there, 2, "gave your code", "Connect")
    await here.reads(5, "Connected")
    await here.say(5, "/unlink telegram:1")
    await here.reads(5, "Which one?")
    await here.say(1, "/unlink telegram:5")
    await here.reads(1, "vuelve a ser una persona")
    for where, who in ((here, 5), (there, 2)):
        await where.reads(who, "An operator of this bot undid your link")


async def linked(here: Street, stays: int, there: Street, joins: int, times: int = 1) -> None:
    await here.say(stays, "/link")
    await there.say(joins, f"/link {code_in(await here.reads(stays, 'Do not give this code to anyone', times))}")
    await press(there, joins, "Is that you, too?", "Yes, both are me", times)
    await press(here, stays, "gave your code", "Connect", times)
    await there.reads(joins, "Connected", times)


@pytest.mark.gate
@pytest.mark.timeout(120)
async def test_who_is_forgotten_is_forgotten_as_both(tmp_path: Path) -> None:
    async with on_two_platforms(tmp_path, WHO) as (here, there, home):
        for where, person, logged in ((here, WHO, "Logged 45 min"), (there, 2, "Logged **45 min**")):
            await asks(where, person, "/log 45m Zanzibar", logged)
            await asks(where, person, "/goal 5h", "5 h")
        await linked(here, WHO, there, 2)
        await asks(there, 2, "/forget practice yes", "deleted")
        await asks(there, 2, "/unlink", "Undone")
        for table in ("skills", "practice_sessions", "practice_settings"):
            assert [] == await home.rows(f"SELECT * FROM {table}")

        await linked(here, WHO, there, 2, 2)
        await asks(there, 2, "/forget everything yes", "deleted")
        async with asyncio.timeout(WAIT_S):
            while await home.rows("SELECT id FROM erasures") or (home.home / "tenk.db-wal").stat().st_size:
                await asyncio.sleep(0.05)
        assert {"telegram:1": "owner"} == await here.roles()
        assert [] == await bytes_left(home, "Zanzibar", str(WHO), "discord:2")
        assert [] == await home.rows("SELECT * FROM tickets WHERE other_id IS NOT NULL")
        await there.say(2, "hello again")
        await there.reads(2, "private", 2)


@pytest.mark.timeout(90)
async def test_telegram_and_discord_are_one_person_and_two_again(tmp_path: Path) -> None:
    async with on_two_platforms(tmp_path, 5) as (here, there, home):
        await asks(here, 1, "/log 45m guitar", "Logged 45 min")
        await asks(there, 2, "/log 30m guitar", "Logged **30 min**")
        await here.say(1, "/link")
        code = code_in(await here.reads(1, "/link "))
        await asks(here, 5, f"/link {code[:-1]}{'3' if code[-1] == '2' else '2'}", "nobody's code")
        await there.say(2, f"/link {code}")
        await there.reads(2, "Is that you, too?")
        await asks(there, 2, "no", "Nothing was connected")
        await here.say(1, "/link")
        code = code_in(await here.reads(1, "/link ", 2))
        await there.say(2, f"/link {code}")
        await there.reads(2, "Is that you, too?", 2)
        await asks(there, 2, "yes", "Now I ask")
        await here.reads(1, "discord:2) gave your code")
        await asks(here, 5, "/link yes", "Nothing waits")
        await asks(here, 5, f"/link {code}", "holds no more")
        assert {"discord:2": "member"}.items() <= (await here.roles()).items()
        await asks(here, 1, "sí", "Connected")
        await there.reads(2, "Connected")
        await here.reads(1, "Connected")
        assert [["discord:2", "telegram:1"], ["telegram:5"]] == [
            user["senders"] for user in (await home.operator("GET /v1/users"))["users"]
        ]
        kept = [await home.rows(f"SELECT * FROM {table}") for table in ("inbox", "outbox")]
        assert code not in str(kept)

        await asks(there, 2, "/language es", "español")
        await asks(there, 2, "/stats", "1 h 15 min")
        await asks(here, 1, "/log 5m guitar", "5 min")
        await here.say(1, "/unlink")
        await there.reads(2, "Undone")
        await asks(here, 1, "/stats", "50 min")
        await there.say(2, "/stats")
        await there.reads(2, "30 min**", 2)
        expected = {"telegram:1": "owner", "telegram:5": "member", "discord:2": "member"}
        assert expected == await here.roles()
        await linked_and_parted_by_the_owner(here, there)
        assert expected == await here.roles()
        actions = [row["action"] for row in (await home.operator("GET /v1/audit"))["changes"]]
        assert {"people_linked", "people_unlinked"} <= set(actions)
