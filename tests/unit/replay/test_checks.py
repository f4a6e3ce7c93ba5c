"""Turns that can run again, and the sentences about those that cannot."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.models.scripted import ScriptedModel
from agent.replay.record import RecordedCall
from agent.transcript import (
    CallOutcome,
    EndReason,
    JournalEvent,
    ModelResponded,
    Nudged,
    NudgeReason,
    TurnEnded,
    TurnStarted,
    UserItem,
)
from channels.messages import Address
from gateway.errors import GatewayError
from gateway.replay import checks
from gateway.store.journal import TurnRow
from gateway.store.recorded import StoredPast, StoredTurn
from tests.fakes.agents import a_tool, an_agent, double
from tests.fakes.spine import NOON

ROW = TurnRow("t", "default", "s", "u", "chat", Address("telegram", "main", "1"), None, NOON)
STARTED = TurnStarted((UserItem("hello"),))
PAST = StoredPast((), None, summarised_since=False, begins_later=False)


def a_turn(*events: JournalEvent, has_ended: bool = True, kind: str = "chat") -> StoredTurn:
    return StoredTurn(replace(ROW, kind=kind), "agent:coach:telegram:main:direct:1", has_ended, (STARTED, *events))


@pytest.mark.parametrize(
    ("turn", "product", "words"),
    [
        (a_turn(has_ended=False), "coach", "is not over"),
        (replace(a_turn(), events=()), "coach", "were deleted"),
        (replace(a_turn(), events=(ModelResponded(0, ""),)), "coach", "were deleted"),
        (a_turn(), "http:http://127.0.0.1:9", "another framework answers here (http:http://127.0.0.1:9)"),
        (a_turn(kind="plan"), "coach", "of the kind plan"),
    ],
)
def test_a_turn_that_cannot_run_again_is_refused(turn: StoredTurn, product: str, words: str) -> None:
    checks.check_kind(a_turn(), "coach", ("chat",))
    with pytest.raises(GatewayError) as refused:
        checks.check_kind(turn, product, ("chat",))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("models", "configured", "words"),
    [
        (["offline:coach"], ["openai:a", "openai:b"], "rules answered this turn; name a model by --model: openai:a, "),
        ([], [], "no model answered this turn; name a model by --model: none; set [model] first"),
        (["openai:old"], ["openai:a"], "openai:old answered this turn and is not configured any more"),
    ],
)
def test_a_turn_whose_model_cannot_be_asked_needs_another(
    models: Sequence[str], configured: Sequence[str], words: str
) -> None:
    turn = a_turn(*(ModelResponded(0, "", model=model) for model in models))
    with pytest.raises(GatewayError) as refused:
        checks.model_that_answered(turn, configured)
    assert words in str(refused.value)


def test_the_last_model_that_answered_is_asked_again() -> None:
    models = ("openai:a", "openai:b", "offline:coach")
    turn = a_turn(*(ModelResponded(step, "", model=model) for step, model in enumerate(models)))
    assert "openai:b" == checks.model_that_answered(turn, ["openai:a", "openai:b"])


def test_tools_that_ran_and_are_gone_are_named_once() -> None:
    calls = [RecordedCall(name, "{}", "{}") for name in ("double", "gone", "gone")]
    calls.append(RecordedCall("never_was", "{}", "{}", CallOutcome.FAILED))
    gone = checks.tools_gone(an_agent(ScriptedModel([]), a_tool("double", double)), calls)
    assert ["gone"] == gone
    checks.check_tools([], "coach")
    with pytest.raises(GatewayError, match="this turn called gone, which the agent coach does not have any more"):
        checks.check_tools(gone, "coach")


def test_a_run_without_an_answer_is_an_error() -> None:
    checks.check_answered([TurnEnded(EndReason.COMPLETED, "Hello.")], "openai:a", 300)
    for ended, words in (
        (TurnEnded(EndReason.TIMEOUT, "", why="late"), "openai:a was not done within 300 s"),
        (TurnEnded(EndReason.MAX_COST, "", why="over the cap of day"), "no replay: over the cap of day."),
    ):
        with pytest.raises(GatewayError) as refused:
            checks.check_answered([ended], "openai:a", 300)
        assert words in str(refused.value)


def test_what_the_record_does_not_keep_is_said() -> None:
    assert [checks.AS_NOW] == [*checks.record_gaps(a_turn(Nudged(0, "Answer.", NudgeReason.EMPTY)), PAST)]
    past = replace(PAST, summarised_since=True, begins_later=True)
    gaps = [checks.AS_NOW, checks.CONDENSED, checks.CUT, checks.NO_ACCOUNT, checks.NO_HOOKS]
    assert gaps == [*checks.record_gaps(a_turn(Nudged(0, "By a hook.")), past, lacks_account=True)]
