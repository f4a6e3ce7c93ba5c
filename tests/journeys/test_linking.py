"""One person on two platforms becomes one user with one log, and two again."""

import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.journeys.house import house
from tests.journeys.streets import DiscordStreet, Street, TelegramStreet

CODE = re.compile(r"/link ([2-9A-HJ-NP-Z]{8})")


async def press(here: Street, person: int, words: str, label: str) -> None:
    """Somebody presses what stands under these words."""
    message, _, buttons = await here.reads(person, words)
    await here.press(person, message, buttons[label])


async def linked_and_parted_by_the_owner(here: Street, there: Street) -> None:
    """Two members are linked; the owner, whose language is Spanish by now, undoes it, and both are told."""
    await there.say(2, "/link")
    (code,) = CODE.findall((await there.reads(2, "/link "))[1])
    await here.say(5, f"/link {code}")
    await press(here, 5, "Is that you, too?", "Yes, both are me")
    await press(there, 2, "gave your code", "Connect")
    await here.reads(5, "Connected")
    await here.say(5, "/unlink telegram:1")
    await here.reads(5, "Which one?")
    await here.say(1, "/unlink telegram:5")
    await here.reads(1, "vuelve a ser una persona")
    for where, who in ((here, 5), (there, 2)):
        await where.reads(who, "Whoever runs this bot undid your link")


@pytest.mark.timeout(90)
async def test_telegram_and_discord_are_one_person_and_two_again(tmp_path: Path) -> None:
    """Confirmed on both sides; one log, one role, one language; after /unlink each has what was theirs."""
    here, there = TelegramStreet(), DiscordStreet()
    async with AsyncExitStack() as stack:
        await there.open(stack)
        running = house(tmp_path, access="pairing", model=None, environ=there.environ())
        here.here = there.here = home = await stack.enter_async_context(running)
        await there.ready(stack, 1)
        await here.let_in(1)  # the owner
        await here.let_in(5)
        await there.let_in(2)
        await here.say(1, "/log 45m guitar")
        await here.reads(1, "Logged 45 min")
        await there.say(2, "/log 30m guitar")
        await there.reads(2, "Logged **30 min**")
        await here.say(1, "/link")
        (code,) = CODE.findall((await here.reads(1, "/link "))[1])

        await here.say(5, f"/link {code[:-1]}2" if code[-1] != "2" else f"/link {code[:-1]}3")
        await here.reads(5, "nobody's code")
        await there.say(2, f"/link {code}")
        await press(there, 2, "Is that you, too?", "Yes, both are me")
        await here.reads(1, "discord:2) gave your code")
        await here.say(5, "/link yes")
        await here.reads(5, "Nothing waits")
        await here.say(5, f"/link {code}")
        await here.reads(5, "holds no more")
        assert {"discord:2": "member"}.items() <= (await here.roles()).items()
        await press(here, 1, "discord:2) gave your code", "Connect")
        await there.reads(2, "Connected")
        await here.reads(1, "Connected")
        users = await home.operator("users.list")
        assert [["discord:2", "telegram:1"], ["telegram:5"]] == [user["senders"] for user in users]
        kept = [await home.rows(f"SELECT * FROM {table}") for table in ("inbox", "outbox")]
        assert code not in str(kept)

        await there.say(2, "/language es")
        await there.reads(2, "español")
        await there.say(2, "/stats")
        await there.reads(2, "1 h 15 min")
        await here.say(1, "/log 5m guitar")
        await here.reads(1, "5 min")
        await here.say(1, "/unlink")
        await there.reads(2, "Undone")
        await here.say(1, "/stats")
        await here.reads(1, "50 min")
        await there.say(2, "/stats")
        await there.reads(2, "30 min**", 2)
        expected = {"telegram:1": "owner", "telegram:5": "member", "discord:2": "member"}
        assert expected == await here.roles()
        await linked_and_parted_by_the_owner(here, there)
        assert expected == await here.roles()
        actions = [row["action"] for row in await home.operator("users.audit")]
        assert {"people_linked", "people_unlinked"} <= set(actions)
