"""Conversations as their people and the operator see them."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.sessions import timeline_lines
from gateway.testing.model import Call, Reply
from tests.journeys.house import house, said
from tests.journeys.streets import SlackStreet, TelegramStreet, WebStreet, street
from tests.journeys.test_groups import ALLOWED, GROUP
from tests.journeys.test_linking import asks, linked


async def test_an_operator_reads_a_turn_hop_by_hop_and_takes_the_conversation_out(tmp_path: Path) -> None:
    prices = "[model.prices]\ninput_usd_per_mtok = 2\noutput_usd_per_mtok = 10\n"
    async with house(tmp_path, config=prices) as here:
        here.model.answers(Reply("", calls=(Call("get_user_skills", {}),)), Reply("You have none."), Reply("Hello."))
        here.sim.say(1, "Which skills do I have\x1b[2J?\nTell me.")
        await here.told(1, "You have none.")
        here.sim.say(2, "hi")
        await here.told(2, "Hello.")
        await here.settled()
        other, mine = (await here.operator("GET /v1/all-sessions", {"limit": 10}))["sessions"]
        assert (1, True) == (mine["turns"], mine["living"])
        only = (await here.operator("GET /v1/all-sessions", {"limit": 10, "person": other["person"]}))["sessions"]
        assert [other] == only
        shown = await here.operator(f"GET /v1/all-sessions/{mine['id'][-8:]}", {"turns": 20})
        exported = await here.operator(f"GET /v1/all-sessions/{mine['id']}/export", {"skip": 0})
    hops = [hop["hop"] for hop in shown["hops"]]
    assert [
        "received",
        "admitted",
        "claimed",
        "turn_started",
        "model_responded",
        "tool_returned",
        "model_responded",
        "turn_ended",
        "settled",
        "part_put",
        "part_sent",
    ] == [hop for hop in hops if hop != "tool_result_rewritten"]
    facts = {hop["hop"]: hop["facts"] for hop in shown["hops"]}
    assert ("get_user_skills", "done") == (facts["tool_returned"]["tool"], facts["tool_returned"]["outcome"])
    assert facts["model_responded"]["cost_microusd"] and facts["part_sent"]["platform_id"]
    assert "Tell me" not in str(shown["hops"]) and "none" not in str(shown["hops"])
    said = exported["turns"][0]["events"]
    assert "You have none." == said[-1]["answer"] and "Tell me." in said[0]["person"] and not exported["more"]
    lines = "\n".join(timeline_lines(shown))
    assert "Which skills" not in f"{mine} {shown} {exported['session']} {lines}"
    assert "\x1b" not in lines and "tool=get_user_skills" in lines and lines.count("+0.") > 5


async def test_a_person_goes_back_to_an_earlier_conversation(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.answers(Reply("Noted: blue."), Reply("Noted: cats."), Reply("Blue."))
        here.sim.say(1, "My colour is blue")
        await here.told(1, "Noted: blue.")
        await here.settled()
        here.sim.say(1, "/new")
        await here.settled()
        here.sim.say(1, "I like cats")
        await here.told(1, "Noted: cats.")
        here.sim.say(1, "/title Animals")
        await here.told(1, "Animals")
        here.sim.say(2, "/sessions")
        await here.told(2, "no conversation here yet")
        held = (await here.operator("GET /v1/all-sessions", {"limit": 10}))["sessions"]
        here.sim.say(2, f"/sessions {held[0]['id'][-8:]}")
        await here.told(2, "I have no conversation")
        here.sim.say(1, "/sessions")
        listed = (await here.told(1, "Conversations here")).text
        assert listed.index("Animals") < listed.index("My colour is blue") and "cats" not in listed
        (shown,) = [one for one in here.telegram.answers(1) if "Conversations here" in one.text]
        ((label, value),) = shown.buttons
        assert "2. My colour is blue" == label
        here.telegram.press(1, shown.message_id, value)
        await here.told(1, "We are back in “My colour is blue”")
        here.sim.say(1, "Which colour?")
        await here.told(1, "Blue.")
        await here.settled()
        request = here.model.requests[-1].body
        assert ["My colour is blue", "Which colour?"] == said(request) and "cats" not in str(request)
        turns = await here.rows("SELECT count(DISTINCT session_id) AS held FROM turns")
        assert 2 == turns[0]["held"]


@pytest.mark.gate
@pytest.mark.timeout(120)
async def test_a_linked_person_goes_on_elsewhere_with_what_was_said(tmp_path: Path) -> None:
    here, there = SlackStreet(), TelegramStreet()
    async with AsyncExitStack() as stack:
        await here.open(stack)
        made = house(tmp_path, config=ALLOWED, environ=here.environ())
        home = here.here = there.here = await stack.enter_async_context(made)
        await here.ready(stack, 1)
        home.sim.add_chat(GROUP, "supergroup")
        bot = f"@{home.sim.world.bot().username}"
        home.model.answers(Reply("Noted: blue."), Reply("Hello all."), Reply("Noted: cats."))
        await asks(there, 7, "My colour is blue", "Noted: blue.")
        await home.settled()
        home.sim.say(GROUP, f"{bot} hello from the group", person=7)
        await home.told(GROUP, "Hello all.")
        await asks(here, 3, "I like cats", "Noted: cats.")
        await asks(here, 3, "/sessions", "I like cats")
        assert "blue" not in (await here.reads(3, "Conversations here"))[1]
        await linked(here, 3, there, 7)

        await here.say(3, "/sessions")
        _, listed, buttons = await here.reads(3, "Telegram")
        assert listed.index("I like cats") < listed.index("My colour is blue") and "group" not in listed
        (value,) = [data for label, data in buttons.items() if "My colour is blue" in label]
        message = (await here.reads(3, "Telegram"))[0]
        await here.press(3, message, value)
        await here.reads(3, "We go on here with “My colour is blue”")
        home.model.answers(Reply("It is blue."), Reply("Green, here."), Reply("I do not know."))
        await asks(here, 3, "Which colour?", "It is blue.")
        assert ["My colour is blue", "Which colour?"] == said(home.model.requests[-1].body)

        home.sim.say(GROUP, f"/sessions{bot}", person=7)
        assert "colour" not in (await home.told(GROUP, "Conversations here")).text
        await asks(there, 7, "/sessions 1", "We go on here with “My colour is blue”")
        await asks(there, 7, "And now?", "Green, here.")
        assert ["My colour is blue", "Which colour?", "And now?"] == said(home.model.requests[-1].body)

        await asks(there, 7, "/unlink", "Undone")
        await here.say(3, "What was my colour?")
        await here.reads(3, "I do not know.")
        assert ["Which colour?", "What was my colour?"] == said(home.model.requests[-1].body)


@pytest.mark.gate
@pytest.mark.timeout(120)
async def test_the_page_lists_and_reads_what_its_person_said_elsewhere(tmp_path: Path) -> None:
    async with street(WebStreet, tmp_path, 1, config=ALLOWED) as here:
        assert isinstance(here, WebStreet)
        there, home, page = TelegramStreet(), here.here, here.pages[1]
        there.here = home

        async def past(path: str, **query: str) -> list[dict[str, Any]]:
            async with page.http.get(f"{page.url}web/{path}", params=query) as answer:
                (found,) = (await answer.json()).values()
            return list(found)

        await here.let_in(1)
        await there.let_in(7)
        home.sim.add_chat(GROUP, "supergroup")
        home.model.answers(Reply("Noted: blue."), Reply("Hello all."), Reply("Noted: cats."), Reply("It is blue."))
        await asks(there, 7, "My colour is blue", "Noted: blue.")
        await home.settled()
        home.sim.say(GROUP, f"@{home.sim.world.bot().username} hello from the group", person=7)
        await home.told(GROUP, "Hello all.")
        await asks(here, 1, "I like cats", "Noted: cats.")
        await home.settled()
        assert [("I like cats", "", True)] == [
            (one["title"], one["place"], one["living"]) for one in await past("conversations")
        ]
        listed = [
            (one["key"].split(":"), one["id"])
            for one in (await home.operator("GET /v1/all-sessions", {"limit": 10}))["sessions"]
        ]
        held = {f"{key[2]} {key[4]}": id_ for key, id_ in listed}
        assert [] == await past("conversation", id=held["telegram direct"])

        await linked(here, 1, there, 7)
        listed = await past("conversations")
        assert {("I like cats", "", True), ("My colour is blue", "Telegram", False)} == {
            (one["title"], one["place"], one["living"]) for one in listed
        }
        blue = held.pop("telegram direct")
        mine, told = await past("conversation", id=blue)
        assert ("My colour is blue", True) == (mine["text"], "Noted: blue." in told["html"])
        del held["web direct"]
        assert [[]] == [await past("conversation", id=group) for group in held.values()]
        await asks(here, 1, f"/sessions {blue}", "We go on here with")
        await asks(here, 1, "Which colour?", "It is blue.")
        assert ["My colour is blue", "Which colour?"] == said(home.model.requests[-1].body)

        await asks(here, 1, "/unlink", "Undone")
        assert "Telegram" not in {one["place"] for one in await past("conversations")}
        assert [] == await past("conversation", id=blue)
