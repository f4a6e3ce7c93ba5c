"""A model that goes in circles: the turn ends with words, whatever shape the circle has."""

import itertools
from pathlib import Path
from typing import Any

from gateway.testing.model import Answer, Call, Fault, Reply
from tests.fakes.model_server import ModelServer
from tests.journeys.house import house

MANY_STEPS = "[agent]\nmax_steps = 60\nraised_output_tokens = 8192\n"
TOO_LONG = Fault(status=400, body={"error": {"code": "context_length_exceeded", "message": "maximum context length"}})


def circling(server: ModelServer, *circle: Reply) -> None:
    """The model asks for these again and again, and answers once it has no tools."""
    turns = itertools.cycle(circle)

    def answer(body: dict[str, Any]) -> Answer:
        return next(turns) if body.get("tools") else Reply("What I know so far.")

    server.brain = answer


async def test_f54_two_calls_that_alternate_six_times_are_told_then_ended(tmp_path: Path) -> None:
    """A/B for six cycles is a circle, five are none: told once, then the next six end the turn with an answer."""
    async with house(tmp_path, config=MANY_STEPS) as here:
        circling(here.model, Reply(calls=(Call("get_user_skills"),)), Reply(calls=(Call("get_journey_stats"),)))
        here.sim.say(1, "look around")
        shown = await here.told(1, "What I know so far.")
        await here.settled()
        assert "circles" in shown.text
        assert 2 * 12 + 1 == len(here.model.requests)
        assert [{"end_reason": "stuck"}] == await here.rows("SELECT end_reason FROM turns")


async def test_f54_a_monologue_is_ended(tmp_path: Path) -> None:
    """A model that says the same again instead of going on is not asked to go on for ever."""
    async with house(tmp_path, config=MANY_STEPS) as here:
        here.model.brain = lambda _: Reply("As I said. ", finish="length")
        here.sim.say(1, "hello")
        shown = await here.told(1, "circles")
        await here.settled()
        assert 3 == len(here.model.requests)
        assert "As I said." in shown.text
        assert [{"end_reason": "stuck"}] == await here.rows("SELECT end_reason FROM turns")


async def test_f41_f42_a_request_that_stays_too_long_is_never_sent_twice(tmp_path: Path) -> None:
    """Each try leaves something out; when nothing is left to leave out the person is told."""
    async with house(tmp_path, config=MANY_STEPS) as here:
        circling(here.model, Reply(calls=(Call("get_user_skills"),) * 3), Reply("These are your skills."))
        here.sim.say(1, "skills")
        await here.told(1, "These are your skills.")
        await here.settled()
        here.model.requests.clear()
        here.model.brain = lambda _: TOO_LONG
        here.sim.say(1, "and now?")
        await here.told(1, "too long for my model")
        sent = [str(received.body["messages"]) for received in here.model.requests]
        assert len(sent) == len(set(sent)) > 1
        fallbacks = await here.rows("SELECT payload FROM events WHERE kind = 'recovered'")
        assert len(sent) - 1 <= len(fallbacks) <= 3
        here.model.brain = lambda _: Reply("All well.")
        here.sim.say(1, "hello?")
        await here.told(1, "All well.")
