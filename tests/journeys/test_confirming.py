"""A call that needs a confirmation: asked in its person's chat, and of them alone; over the wires."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from agent.tools.base import ToolContext, tool, tools_of
from gateway.testing.model import Call, Reply
from tests.journeys.house import house
from tests.journeys.streets import SlackStreet, Street, TelegramStreet, WebStreet, street

GROUP = -1001234567890
ASKS = '[permissions]\nask = ["get_user_skills"]\n'
ALLOWED = f'{ASKS}[access.accounts."telegram:main"]\ngroups = "open"\nallow_groups = ["telegram:{GROUP}"]\n'
LOOKS = Reply(calls=(Call("get_user_skills", "{}", id="one"),))


async def test_in_a_group_only_the_asker_confirms_and_no_member_waits(tmp_path: Path) -> None:
    async with house(tmp_path, config=ALLOWED) as here:
        here.sim.add_chat(GROUP, "supergroup")
        bot = f"@{here.sim.world.bot().username}"
        for person in (1, 2):
            here.sim.say(person, "/start")
            await here.told(person, "Hello")
        here.model.answers(LOOKS, Reply("Hello Ben."), Reply("Nothing yet, Ana."))
        here.sim.say(GROUP, f"{bot} what can I do?", person=1)
        asked = await here.told(GROUP, "only you can answer this:")
        here.sim.say(GROUP, f"{bot} hello", person=2)
        await here.told(GROUP, "Hello Ben.")
        here.sim.press(GROUP, asked.message_id, dict(asked.buttons)["Allow once"], person=2)
        await here.told(GROUP, "That question is for someone else. I did nothing.")
        assert 2 == len(here.model.requests)
        here.sim.press(GROUP, asked.message_id, dict(asked.buttons)["Allow once"], person=1)
        await here.told(GROUP, "Nothing yet, Ana.")
        await here.settled()
        assert "get_user_skills" in str(here.model.requests[-1].body["messages"][-2])


async def test_on_the_page_the_buttons_stand_under_the_question(tmp_path: Path) -> None:
    async with street(WebStreet, tmp_path, 1, config=ASKS) as here:
        await here.let_in(1)
        here.here.model.answers(LOOKS, Reply("Nothing yet."), LOOKS, Reply("As you like."))
        await here.say(1, "what can I do?")
        asked, _, buttons = await here.reads(1, "Looking at your skills")
        assert ["Allow once", "Deny"] == list(buttons)
        await here.press(1, asked, buttons["Allow once"])
        await here.reads(1, "Nothing yet.")
        await here.say(1, "and now?")
        again, _, buttons = await here.reads(1, "May I do this", 2)
        await here.say(1, "never mind")
        await here.reads(1, "As you like.")
        await here.press(1, again, buttons["Allow once"])
        await here.reads(1, "That question was closed")
        messages = here.here.model.requests[-1].body["messages"]
        assert "Skipped due to queued user message." in str(messages[-2]) and "never mind" in str(messages[-1])


@pytest.mark.parametrize("kind", [TelegramStreet, SlackStreet])
async def test_a_placeholder_becomes_the_question_and_the_answer_stands_below(
    tmp_path: Path, kind: Callable[[], Street]
) -> None:
    async with street(kind, tmp_path, 1, config=ASKS) as here:
        await here.let_in(1)
        before = len(here.seen(1))
        slowly = replace(LOOKS, text="Let me look. " * 20, chunk_chars=20, chunk_delay_s=0.1)
        here.here.model.answers(slowly, Reply("Nothing yet."))
        await here.say(1, "what can I do?")
        asked, _, buttons = await here.reads(1, "May I do this")
        await here.press(1, asked, buttons["Allow once"])
        await here.reads(1, "Nothing yet.")
        await here.here.settled()
        texts = [text for _, text, _ in here.seen(1)][before:]
        assert 2 == len(texts) and "May I do this" in texts[0] and "Nothing yet." == texts[1]


async def test_a_denied_call_is_not_asked_for_again_until_the_person_takes_the_denial_back(tmp_path: Path) -> None:
    async with house(tmp_path, config=ASKS) as here:
        again = Reply(calls=(Call("get_user_skills", "{}", id="two"),))
        here.model.answers(LOOKS, again, Reply("As you like."), LOOKS, Reply("Still no."))
        here.sim.say(1, "what can I do?")
        asked = await here.told(1, "May I do this")
        here.sim.press(1, asked.message_id, dict(asked.buttons)["Deny"])
        await here.told(1, "As you like.")
        assert 3 == len(here.model.requests)
        here.sim.say(1, "and now?")
        await here.told(1, "Still no.")
        assert "the person said no to this" in str(here.model.requests[-1].body["messages"][-1])
        here.sim.say(1, "/permissions")
        await here.told(1, "1. get_user_skills (include_archived: false): denied in this conversation")
        here.sim.say(1, "/permissions 1")
        await here.told(1, "Taken back:")
        here.model.answers(LOOKS)
        here.sim.say(1, "and now?")
        await here.told(1, "May I do this")


class Thing(BaseModel):
    """A thing to order."""

    name: str


class Shop:
    """A tool with an effect outside."""

    def __init__(self) -> None:
        self.ordered: list[str] = []

    @tool(Thing)
    async def order(self, context: ToolContext, arguments: Thing) -> object:
        """Order a thing."""
        self.ordered.append(arguments.name)
        return "ordered"


async def test_in_mode_auto_a_small_model_says_what_need_not_be_asked(tmp_path: Path) -> None:
    shop = Shop()
    config = '[permissions]\nmode = "auto"\n[permissions.auto]\nmodel = "openai:small"\nallow = ["small things"]\n'
    async with house(tmp_path, config=config, tools=tools_of(shop)) as here:
        for name, sure, said in (("tea", 0.9, "Done."), ("gold", 0.5, "May I use")):
            wish = Reply(calls=(Call("order", f'{{"name": "{name}"}}'),))
            here.model.answers(wish, Reply(f'{{"matches": "allow", "confidence": {sure}}}'), Reply("Done."))
            here.sim.say(1, f"order {name}")
            await here.told(1, said)
        assert ["journey", "small", "journey", "journey", "small"] == [one.body["model"] for one in here.model.requests]
        assert "small things" in str(here.model.requests[1].body["messages"])
        assert ["tea"] == shop.ordered
        here.model.forget()
