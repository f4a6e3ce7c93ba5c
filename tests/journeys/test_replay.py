"""An operator runs a turn of yesterday again: with another prompt, model or agent."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli.root import root
from gateway.errors import GatewayError
from gateway.operators.client import call, path_of
from gateway.testing.model import Call, Fault, Reply
from tests.fakes.browser import browser, chromium
from tests.journeys.house import House, house, results
from tests.journeys.test_console import CUT, link_of, owned, visiting

AGENTS = {
    "strict.md": "---\nname: strict\ndescription: A strict coach\n---\nYou are strict.\n",
    "reader.md": "---\nname: reader\ndescription: Reads only\ntools: [get_user_skills]\n---\nYou read.\n",
}
LOG = Call("log_practice", json.dumps({"skill": "cello", "minutes": 30}))
CONFIG = """
[model.fallback.other]
name = "openai:other"
base_url = "http://127.0.0.1:9/v1"
tries = 1
prices = { input_usd_per_mtok = 1, output_usd_per_mtok = 2 }
"""


async def replay(here: House, turn: str, **wish: object) -> dict[str, Any]:
    """Run a turn again, as `tenk replay` asks for it."""
    found: dict[str, Any] = await here.operator(f"POST {path_of('all-turns', turn, 'replay')}", wish)
    return found


async def refusal(here: House, turn: str, **wish: object) -> str:
    """Return the sentence in which a replay is refused."""
    with pytest.raises(GatewayError) as refused:
        await replay(here, turn, **wish)
    return str(refused.value)


async def stored(here: House) -> Mapping[str, Any]:
    """Return all that a replay must not change."""
    tables = ("inbox", "outbox", "turns", "events", "sessions", "practice_sessions", "blobs", "approvals")
    return {table: await here.rows(f"SELECT * FROM {table}") for table in tables}


async def talk(here: House) -> str:
    """Let a person talk with the coach twice; return the second turn."""
    here.model.answers(
        Reply("Hello."), Reply("Well.", calls=(LOG, Call("get_user_skills"))), Reply("Do scales, as always.")
    )
    here.sim.say(1, "hello")
    await here.told(1, "Hello.")
    here.sim.say(1, "half an hour of cello, what now?")
    await here.told(1, "Do scales")
    await here.settled()
    return str((await here.rows("SELECT max(id) AS id FROM turns"))[0]["id"])


async def test_a_bad_answer_is_tried_again_with_another_prompt(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        turn = await talk(here)
        before, recorded = await stored(here), list(here.model.requests)
        prompt = tmp_path / "prompt.md"
        prompt.write_text("You are a cello teacher. Name one exercise.\n")
        more = Call("get_practice_sessions", json.dumps({"skill_id": "none", "days": 3}))
        here.model.answers(Reply("Well.", calls=(LOG, Call("get_user_skills"), more)), Reply("Play long bows."))
        command = ["replay", "Person 1", "--prompt", str(prompt)]
        environ = {"TENK_HOME": str(here.home)}
        done = await asyncio.to_thread(CliRunner().invoke, root, command, env=environ)
        assert (0, None) == (done.exit_code, done.exception)
        asked = here.model.requests[len(recorded) :]
        for then, now in zip(recorded[1:], asked, strict=True):
            assert then.body["tools"] == now.body["tools"]
        assert recorded[1].body["messages"][1:] == asked[0].body["messages"][1:]
        assert "You are a cello teacher." in str(asked[0].body["messages"][0])
        assert [True, True, False] == [result["success"] for result in results(here)]
        assert "not in the record" in results(here)[2]["error"]
        assert f"Turn {turn[-8:]} of Person 1 with coach" in done.output
        assert "! Not in the record, and so as it is now: the agent's prompt" in done.output
        assert '    text: Well.\n    call: log_practice {"minutes": 30, "skill": "cello"}\n' in done.output
        assert '  + call: get_practice_sessions {"days": 3, "skill_id": "none"}\n  +   result: not in the record' in (
            done.output
        )
        assert "Answer:\n  - Do scales, as always.\n  + Play long bows.\n" in done.output
        assert before == await stored(here)
        await here.settled()
        assert ["Hello.", "Do scales, as always."] == here.texts(1)

        audit = (await here.operator("GET /v1/audit"))["changes"]
        (row,) = [row for row in audit if row["action"] == "turn_replayed"]
        assert ("cli", turn, "another prompt") == (row["by"], row["subject"], row["detail"])
        used = (await here.operator("GET /v1/usage/by", {"by": "person", "days": 1}))["rows"]
        assert {"Person 1": 3, "replay": 2} == {group["name"]: group["calls"] for group in used}


async def test_a_turn_runs_again_as_it_did(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        turn = await talk(here)
        here.model.answers(Reply("Well.", calls=(LOG, Call("get_user_skills"))), Reply("Do scales, as always."))
        recorded = here.model.requests[1:3]
        found = await replay(here, turn[-8:])
        for then, now in zip(recorded, here.model.requests[3:5], strict=True):
            assert then.body == now.body
        assert [] == [line for pair in found["steps"] for line in pair["lines"] if not line.startswith(" ")]
        assert found["recorded"]["answer"] == found["replayed"]["answer"] == "Do scales, as always."
        assert 200 == found["recorded"]["input_tokens"] == found["replayed"]["input_tokens"]


async def test_what_cannot_run_again_is_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    for name, text in AGENTS.items():
        (folder / name).write_text(text)
    agents = f'[agent]\nfolder = "{folder}"\n'
    async with house(tmp_path, config=CONFIG + agents) as here:
        turn = await talk(here)
        assert "openai:journey, openai:other" in await refusal(here, turn, model="openai:gone")
        assert "no replay: openai:other: network" in await refusal(here, turn, model="openai:other")
        assert "by --agent: coach, reader, strict" in await refusal(here, turn, agent="gone")
        here.model.answers(Fault(hang=True))
        assert "openai:journey was not done within 1 s" in await refusal(here, turn, wait_s=1)
        before = here.model.connections
        here.model.answers(Fault(hang=True))
        with pytest.raises(GatewayError):  # as by Ctrl-C: the client goes away
            await call(here.home / "control.sock", f"POST /v1/all-turns/{turn}/replay", {}, timeout_s=0.3)
        await here.until(lambda: here.model.connections == before, "the end of the model's call")
        assert f"{turn[-8:]} (" in await refusal(here, "Person 1", at="today")
        assert "no turn then that is still kept" in await refusal(here, "Person 1", at="2020-01-01")
        assert "no turn 0123456789ab is kept" in await refusal(here, "0123456789ab")
        assert "is not a known person" in await refusal(here, "Zacharias")
        here.model.answers(Reply("Once more."))
        found = await replay(here, turn, agent="reader")
        assert "The agent reader has no tool log_practice, which this turn called." in found["notes"]
        assert "You read." in str(here.model.requests[-1].body["messages"][0])


async def test_the_console_shows_a_turn_beside_its_replay(tmp_path: Path) -> None:
    async with house(tmp_path, access="pairing") as here:
        await owned(here)
        turn = await talk(here)
        (session,) = {row["session_id"] for row in await here.rows("SELECT session_id FROM turns")}
        async with visiting(*await link_of(here)) as machine:
            assert f'href="/console/turn?id={turn}"' in (await machine.get(f"/session?id={session}"))[1]
            _, page = await machine.get(f"/turn?id={turn}")
            assert (True, False) == ("Do scales, as always." in page, "Replayed" in page), page
            here.model.answers(Reply(calls=(Call("get_journey_stats"),)), Reply("Play <long> bows."))
            form = {"do": "replay", "id": turn, "model": "openai:journey", "at": f"/console/turn?id={turn}"}
            status, page = await machine.post("/act", **form)
            assert (200, True) == (status, "The turn ran again. 2 steps are different." in page), page
            for words in ("not in the record", "Do scales, as always.", "Play &lt;long&gt; bows.", "Not in the record"):
                assert words in page
            status, page = await machine.post("/act", **form | {"model": "openai:gone"})
            assert (409, True) == (status, "no model &#39;openai:gone&#39; is configured" in page), page
        here.sim.say(1, "/console")
        link = re.search(r"(http://\S+/console)#(\S+)", (await here.told(1, "opens the console")).text)
        assert link is not None
        async with visiting(link[1], link[2]) as owner:  # people's words are for the operator at the machine alone
            assert "/console/turn" not in (await owner.get(f"/session?id={session}"))[1]
            status, page = await owner.get(f"/turn?id={turn}")
            assert (404, False) == (status, "scales" in page)
            assert 409 == (await owner.post("/act", do="replay", id=turn))[0]


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")
async def test_a_replay_in_the_console_is_whole_on_a_phone_and_on_a_desk(tmp_path: Path) -> None:
    async with house(tmp_path) as here, browser(tmp_path / "profile") as page:
        turn = await talk(here)
        await page.look(1280, 900)
        await page.go((await here.operator("POST /v1/console"))["link"])
        await page.until("document.querySelector('h1')?.textContent === 'How it is doing'")
        await page.go(await page.value(f"location.origin + '/console/turn?id={turn}'"))
        await page.until("typeof htmx !== 'undefined' && !!document.getElementById('model')")
        wide = "Play long bows, " + "slowly" * 60 + "."
        here.model.answers(Reply(wide, calls=(Call("get_journey_stats"),)), Reply(f"{wide}\n\nThen rest."))
        await page.value("document.getElementById('model').value = 'openai:journey'; 1")
        await page.value("document.querySelector('form.search button').click()")
        await page.until("document.querySelectorAll('.sides').length === 3")
        assert "different" in await page.value("document.querySelector('.turn h2').textContent")
        await page.value("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        sides = "[...document.querySelector('.sides').children].map((each) => each.getBoundingClientRect().top)"
        for width, dark in ((390, False), (390, True), (1280, False), (1280, True)):
            await page.look(width, 844, phone=width < 500, dark=dark)
            assert [] == await page.barriers()
            assert [] == await page.value(CUT)
            assert await page.value("document.documentElement.scrollWidth <= innerWidth")
            first, second = await page.value(sides)
            assert (width > 500) == (first == second)
            await page.picture(tmp_path / f"replay-{width}-{'dark' if dark else 'light'}.png")
        assert [] == page.complaints
