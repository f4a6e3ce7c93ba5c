"""Several machines as one: each event reaches its owner, and another machine takes over what one leaves."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from channels.clocks import steady_now
from channels.simulators.telegram.state import ShownMessage
from gateway.store import leases
from gateway.store.journal import shard_of
from gateway.store.leases import Member
from gateway.testing.model import Call, Fault, Reply
from tests.fakes.postgres import PostgresServer
from tests.fakes.views import FakePage
from tests.journeys.house import House, slow
from tests.journeys.machines import Machines, machines
from tests.journeys.test_agents import FINDER, tell_who, write_agents
from tests.journeys.test_console import visiting

pytestmark = [pytest.mark.gate, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


ASKS = '[permissions]\nask = ["get_user_skills"]\n'
LOOKS = Reply(calls=(Call("get_user_skills", "{}", id="one"),))


async def test_what_comes_in_elsewhere_reaches_the_owner_and_its_heir(tmp_path: Path, server: PostgresServer) -> None:
    async with machines(tmp_path, server, 2, config=ASKS) as all_:
        here, sim = all_.here, all_.here.sim
        heir, chat = await chat_read_for_elsewhere(all_)
        here.model.answers(slow("About cats."), Reply("About dogs."))
        asked = sim.say(chat, "tell me about cats")
        await here.asked(1)
        sim.edit(chat, asked, "tell me about dogs")
        await here.told(chat, "About dogs.")
        here.model.answers(Fault(hang=True))
        sim.say(chat, "and then?")
        await here.asked(3)
        sim.say(chat, "/stop")
        await here.told(chat, "Stopped")
        here.model.answers(LOOKS, Reply("Nothing yet."), LOOKS, Reply("Still nothing."))
        sim.say(chat, "what can I do?")
        await answer_question(here, chat, 1)
        await here.told(chat, "Nothing yet.")
        sim.say(chat, "and now?")
        await here.until(lambda: len(questions(here, chat)) == 2, "the second question")
        await all_.die(1 - heir)
        await all_.wait_for_owners()
        await answer_question(here, chat, 2)
        await here.told(chat, "Still nothing.")
        said = await all_.until(heir, lambda said: 256 in [one["shards"] for one in said["members"].values()])
        (own,) = [one for one in said["members"].values() if "this one" in one["state"]]
        assert "chores" in own["leases"]


async def test_an_agent_chosen_on_one_machine_answers_what_another_takes_in(
    tmp_path: Path, server: PostgresServer
) -> None:
    write_agents(tmp_path, finder=FINDER)
    async with machines(tmp_path, server, 2) as all_:
        here, sim = all_.here, all_.here.sim
        here.model.brain = tell_who
        heir, chat = await chat_read_for_elsewhere(all_)
        sim.say(chat, "one")
        await here.told(chat, "coach: one")
        sim.say(chat, "/agent finder")
        await here.told(chat, "finder answers")
        sim.say(chat, "two")
        await here.told(chat, "finder: two")
        await all_.die(1 - heir)
        await all_.wait_for_owners()
        sim.say(chat, "three")
        await here.told(chat, "finder: two + three")


async def chat_read_for_elsewhere(all_: Machines) -> tuple[int, int]:
    """Return the machine that reads for the bot, and a chat whose session the other one owns."""
    said = await all_.until(0, lambda said: [128, 128] == [one["shards"] for one in said["members"].values()])
    reader = said["accounts"]["telegram:main"]["read_by"].partition("/")[2]
    (number,) = [number for number, home in enumerate(all_.homes) if is_of(reader, home)]
    others = await all_.here.rows(f"SELECT shard FROM shards WHERE owner <> '{reader}'")
    shards = {row["shard"] for row in others}
    chats = (chat for chat in range(1, 99) if shard_of(f"agent:coach:telegram:main:direct:{chat}") in shards)
    return number, next(chats)


def questions(here: House, chat: int) -> list[ShownMessage]:
    return [shown for shown in here.sim.answers(chat) if "May I" in shown.text]


async def answer_question(here: House, chat: int, number: int) -> None:
    """Press yes under the newest."""
    await here.until(
        lambda: len(questions(here, chat)) == number and bool(questions(here, chat)[-1].buttons), "a question"
    )
    asked = questions(here, chat)[-1]
    here.sim.press(chat, asked.message_id, dict(asked.buttons)["Allow once"], person=chat)


def is_of(owner: str, home: Path) -> bool:
    return owner.startswith((home / "node").read_text().strip())


async def test_two_that_read_for_one_bot_and_one_of_another_version(tmp_path: Path, server: PostgresServer) -> None:
    async with machines(tmp_path, server, 2) as all_:
        here = all_.here
        here.model.brain = lambda _body: Reply("Here.")
        here.sim.say(1, "hello")
        await here.told(1, "Here.")
        said = await all_.until(0, lambda said: [128, 128] == [one["shards"] for one in said["members"].values()])
        (reader,) = [name for name, one in said["members"].items() if "in telegram:main" in one["leases"]]
        assert said["accounts"]["telegram:main"]["read_by"] == reader == (await reads(all_, 1))
        shown = await tables(all_, 0)
        assert [reader, said["accounts"]["telegram:main"]["sent_by"]] == shown["telegram:main"][:2]
        assert 2 == len(said["members"])
        for name, one in said["members"].items():
            assert "128" == shown[f"{name} {one['state']}, {one['version']}"][0]
        (dead,) = [number for number, home in enumerate(all_.homes) if is_of(reader.partition("/")[2], home)]
        await all_.die(dead)
        here.sim.say(2, "hello")
        await here.told(2, "Here.")
        assert reader != await reads(all_, 1 - dead)
        await all_.until(1 - dead, lambda said: (256, 0) == _shares(said["members"], reader))
        gone = await tables(all_, 1 - dead)
        assert ["0"] == [cells[0] for head, cells in gone.items() if head.startswith(f"{reader} is gone")]
        old = Member("0ld:1", "old", "0.0.1, schema 0001", "key")
        await here.store.commit(leases.join, me=old, now=steady_now(), lease_s=600.0)
        differ = (await all_.until(1 - dead, lambda said: "versions_differ" in said))["versions_differ"]
        assert differ.startswith("old/0ld:1 runs 0.0.1, schema 0001; ")


def _shares(members: dict[str, Any], dead: str) -> tuple[int, int]:
    others = sum(one["shards"] for name, one in members.items() if name != dead)
    return others, members[dead]["shards"] if "gone" in members[dead]["state"] else -1


ROW = re.compile(r"<tr><th scope=\"row\">(?:<span [^>]*></span>)?(.*?)</th>(.*?)</tr>", re.DOTALL)


async def tables(all_: Machines, number: int) -> dict[str, list[str]]:
    base, _, secret = (await all_.ask(number, "POST /v1/console"))["link"].partition("#")
    async with visiting(base, secret) as visit:
        status, page = await visit.get("")
    assert 200 == status
    return {head: re.findall("<td>(.*?)</td>", cells) for head, cells in ROW.findall(page)}


async def reads(all_: Machines, number: int) -> str:
    return str((await all_.cluster(number))["accounts"]["telegram:main"]["read_by"])


async def test_every_process_serves_programs_and_pages(tmp_path: Path, server: PostgresServer) -> None:
    async with machines(tmp_path, server, 2) as all_:
        all_.here.model.brain = lambda _body: Reply("Here.")
        await all_.until(0, lambda said: [128, 128] == [one["shards"] for one in said["members"].values()])
        made = await all_.ask(0, "POST /v1/keys", {"name": "a test"})
        roots = [(await all_.ask(number, "POST /v1/console"))["link"].partition("console")[0] for number in range(2)]
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {made['key']}"}) as program:
            for user in ("ana", "bo", "cy"):
                for root in roots:
                    say = {"message": "hello", "user": user}
                    async with program.post(f"{root}v1/chat", json=say) as answer:
                        assert (200, "Here.") == (answer.status, (await answer.json())["answer"])
        one = FakePage(roots[0])
        other = FakePage(roots[1], cookies=one.http.cookie_jar)
        async with one.http, other.http, asyncio.TaskGroup() as tasks:
            visits = [tasks.create_task(one.run())]
            await one.until(lambda: bool(one.told("history")))
            visits.append(tasks.create_task(other.run()))
            await other.until(lambda: bool(other.told("history")))
            assert one.chat == other.chat
            for number, page in enumerate((one, other, one, other), 1):
                await page.say(f"message {number}")
                for each in (one, other):
                    await each.until(lambda count=number, each=each: count == len(answers_of(each)))
            await all_.die(1)
            await one.say("and now?")
            await one.until(lambda: 5 == len(answers_of(one)))
            for visit in visits:
                visit.cancel()


def answers_of(page: FakePage) -> list[dict[str, Any]]:
    """Return the complete answers that a page shows."""
    return [frame for frame in page.shown.values() if "Here." in frame["html"] and not frame["live"]]
