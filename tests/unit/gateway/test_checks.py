"""Checks of an agent product: an answer that fails one does not end the turn, a few times."""

from dataclasses import replace

import pytest

from agent.hooks.chain import HookChain
from agent.loop import run_turn
from agent.models.scripted import ScriptedModel
from agent.transcript import EndReason, NoteItem
from agent.turn_run import MAX_STOPS_DENIED
from gateway.coach.product import COACH
from gateway.product import check_hooks
from gateway.store.engine import Store, engine_for
from tests.fakes.agents import an_agent
from tests.fakes.turn_port import ANA, FakeTurnPort, a_turn

CLOSED = Store(engine_for("sqlite:///never-opened.db"))


async def names_a_number(given):
    assert (ANA.user_id, ANA.tenant) == (given["user"], given["tenant"])
    return "" if any(letter.isdigit() for letter in given["text"]) else "Name the number of minutes."


async def breaks(given):
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        (["45 minutes."], "45 minutes."),
        (["Some minutes.", "45 minutes."], "45 minutes."),
        (["Some."] * MAX_STOPS_DENIED + ["Many."], "Many."),
    ],
)
async def test_an_answer_that_fails_a_check_is_sent_on_and_told_why(answers, answer):
    product, port, model = (
        replace(COACH, checks=lambda _: [breaks, names_a_number]),
        FakeTurnPort(),
        ScriptedModel(answers),
    )
    agent = replace(an_agent(model), hooks=HookChain(check_hooks(product, CLOSED)))
    assert EndReason.COMPLETED is await run_turn(a_turn(port), port.ports, agent)
    assert port.answer.endswith(answer)
    notes = [item.text for request in model.requests for item in request.items[-1:] if isinstance(item, NoteItem)]
    assert ["Do not stop yet: Name the number of minutes."] * (len(answers) - 1) == notes


async def test_the_answers_of_another_agent_are_not_checked():
    product, port = replace(COACH, checks=lambda _: [names_a_number]), FakeTurnPort()
    agent = replace(an_agent(ScriptedModel(["Some minutes."])), hooks=HookChain(check_hooks(product, CLOSED)))
    await run_turn(a_turn(port, principal=replace(ANA, agent="finder")), port.ports, agent)
    assert "Some minutes." == port.answer
