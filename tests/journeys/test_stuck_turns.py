"""A model that goes in circles: the turn ends with words."""

import itertools
from pathlib import Path
from typing import Any

from gateway.testing.model import Answer, Call, Fault, Reply
from tests.fakes.model_server import ModelServer
from tests.journeys.house import house

MANY_STEPS = "[agent]\nmax_steps = 60\nraised_output_tokens = 8192\n"
TOO_LONG = Fault(status=400, body={"error": {"code": "context_length_exceeded", "message": "maximum context length"}})


def circling(server: ModelServer, *circle: Reply) -> None:
    turns = itertools.cycle(circle)

    def answer(body: dict[str, Any]) -> Answer:
        return next(turns) if body.get("tools") else Reply("What I know so far.")

    server.brain = answer


async def test_f41_f42_a_request_that_stays_too_long_is_never_sent_twice(tmp_path: Path) -> None:
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
