"""A conversation that outgrows its model's window: old messages are condensed, and its person is told."""

import json
from pathlib import Path
from typing import Any

from agent.context.compaction import INSTRUCTIONS, STEP_INSTRUCTIONS
from gateway.telemetry import REGISTRY
from gateway.testing.model import Answer, Call, Fault, Reply
from tests.journeys.house import House, house, said

LIMITS = "[access.limits]\nburst_messages = 1000\n"
WINDOW = f"{LIMITS}[agent]\ncontext_window_tokens = 8000\n"
FACT = "My cello is named Bruno."
TALK = "I practised slow scales and long tones with the metronome today, and it went well. " * 6  # 140 tokens


def condensing(body: dict[str, Any]) -> bool:
    return str(body["messages"][0]["content"]) == str(INSTRUCTIONS)


def noting(body: dict[str, Any]) -> Answer:
    asked = json.dumps(body["messages"])
    if condensing(body):
        assert "tools" not in body
        return Reply(FACT if "Bruno" in asked else "Nothing of note.", usage=(1000, 20))
    return Reply(f"Turn {len(body['messages'])}. {'Bruno!' if 'Bruno' in asked else 'Who?'}")


async def talk(here: House, turns: int, person: int = 1) -> None:
    for _ in range(turns):
        count = len(here.texts(person))
        here.sim.say(person, TALK)
        await here.until(lambda count=count: len(here.texts(person)) > count, "an answer")
        await here.settled()


def summaries(kind: str) -> float:
    return REGISTRY.get_sample_value("tenk_context_summaries_total", {"kind": kind}) or 0.0


async def test_a_long_conversation_stays_in_its_window_and_knows_its_first_facts(tmp_path: Path) -> None:
    before = summaries("notes")
    async with house(tmp_path, config=WINDOW) as here:
        here.model.brain = noting
        here.sim.say(1, FACT)
        await here.told(1, "Bruno")
        await talk(here, 45)
        asked = [request.body for request in here.model.requests if not condensing(request.body)]
        assert any(condensing(request.body) for request in here.model.requests)
        assert all(len(json.dumps(body)) / 3.5 < 8_000 for body in asked)
        assert "Bruno!" in here.texts(1)[-1]
        assert 1 == sum("grown long" in text for text in here.texts(1))
        first = said(asked[-1])[0]
        assert "Notes on the older part" in first and "not a request" in first and FACT in first
        costs = await here.rows("SELECT count(*) AS n FROM usage WHERE step < 0 AND input_tokens = 1000")
        assert summaries("notes") > before
        assert costs[0]["n"] == sum(condensing(request.body) for request in here.model.requests)
        here.sim.say(1, "/new")
        await here.until(lambda: "Turn" not in here.texts(1)[-1], "a word on the beginning")
        here.sim.say(1, "And who am I?")
        await here.told(1, "Who?")


async def test_the_prompt_begins_with_the_same_bytes_turn_for_turn(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        here.model.brain = noting
        for person, words in ((1, "hello"), (2, "/log 45m guitar"), (2, "how am I doing?"), (1, "and me?")):
            count = len(here.texts(person))
            here.sim.say(person, words)
            await here.until(lambda count=count, person=person: len(here.texts(person)) > count, words)
            await here.settled()
        bodies = [request.body for request in here.model.requests]
        beginnings = {body["messages"][0]["content"].partition("\n\n---\n\n")[0] for body in bodies}
        assert 3 == len(bodies) and 1 == len(beginnings) == len({json.dumps(body["tools"]) for body in bodies})


async def test_steps_of_older_turns_become_notes_before_the_conversation_is_condensed(tmp_path: Path) -> None:

    def brain(body: dict[str, Any]) -> Answer:
        messages = body["messages"]
        if str(messages[0]["content"]) == str(STEP_INSTRUCTIONS):
            return Reply("Looked for scales.", usage=(500, 5))
        if messages[-1]["role"] == "tool" or "look" not in messages[-1]["content"]:
            return Reply(f"Done {len(messages)}.")
        return Reply(calls=tuple(Call("find", json.dumps({"n": n, "what": "scales " * 200})) for n in range(5)))

    async with house(tmp_path, config=f"{LIMITS}[agent]\ncontext_window_tokens = 11000\n") as here:
        here.model.brain = brain
        for words in ("look", "look again", "thanks", "and this: " + "la " * 3_000, "well?"):
            count = len(here.texts(1))
            here.sim.say(1, words)
            await here.until(lambda count=count: len(here.texts(1)) > count, "an answer")
            await here.settled()
        sent = [request.body for request in here.model.requests]
        noting_calls = [body for body in sent if str(body["messages"][0]["content"]) == str(STEP_INSTRUCTIONS)]
        assert 2 == len(noting_calls) and not any(map(condensing, sent))
        (noted,) = await here.rows("SELECT count(*) AS n FROM events WHERE kind = 'steps_noted'")
        (paid,) = await here.rows("SELECT count(*) AS n FROM usage WHERE step < 0 AND input_tokens = 500")
        assert (2, 2) == (noted["n"], paid["n"])
        *_, asked, last = (json.dumps(body["messages"]) for body in sent)
        assert 2 == asked.count("find x5. Notes on them") == last.count("find x5. Notes on them")


async def test_f41_too_long_for_the_provider_is_condensed_and_answered(tmp_path: Path) -> None:

    def brain(body: dict[str, Any]) -> Answer:
        if not condensing(body) and len(json.dumps(body["messages"])) > 14_000:
            return Fault(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})
        return noting(body)

    async with house(tmp_path) as here:
        here.model.brain = brain
        here.sim.say(1, FACT)
        await here.told(1, "Bruno")
        await talk(here, 24)
        assert not any("/new" in text and "grown long" not in text for text in here.texts(1))
        assert "Bruno!" in here.texts(1)[-1]
        sent = [json.dumps(request.body["messages"]) for request in here.model.requests]
        assert len(sent) == len(set(sent))


async def test_f44_without_a_summary_it_goes_on_and_says_what_is_missing(tmp_path: Path) -> None:

    def brain(body: dict[str, Any]) -> Answer:
        return Fault(400, {"error": {"message": "no"}}) if condensing(body) else noting(body)

    async with house(tmp_path, config=WINDOW) as here:
        here.model.brain = brain
        here.sim.say(1, FACT)
        await here.told(1, "Bruno")
        await talk(here, 36)
        assert 1 == sum("no longer before me" in text for text in here.texts(1))
        last = said(here.model.requests[-1].body)
        assert "messages are left out" in last[0] and not any(FACT in words for words in last)
