"""A turn with pictures: unseen ones are reported, refused ones are dropped and retried."""

from dataclasses import replace

import pytest

from agent.coach.reader.reader import OfflineReader
from agent.context.compaction import lines_of
from agent.context.layers import fit
from agent.errors import FailureKind
from agent.fallbacks import Fallback, Recovered
from agent.loop import run_turn
from agent.models.failures import from_answer
from agent.models.scripted import ScriptedModel
from agent.pictures import Picture, Unseen, visible
from agent.ports import ModelFacts, ModelFailure, ModelRequest, SystemPrompt
from agent.transcript import JOURNAL_EVENT, EndReason, TurnStarted, UserItem, fold
from tests.fakes.agents import an_agent
from tests.fakes.turn_port import NOW, FakeTurnPort, a_turn

PNG = Picture("p1", "image/png", 120_000, 900, 600)
REFUSED = ModelFailure(FailureKind.BAD_REQUEST, "image exceeds 5 MB maximum", 400)


def looking(*unseen, text="what is this?"):
    return UserItem(text, pictures=tuple(replace(PNG, unseen=why) for why in unseen))


async def answer_to(item, *script, history=(), **facts):
    port = FakeTurnPort([TurnStarted((item,))])
    model = ScriptedModel(list(script) or ["So."], facts=ModelFacts(sees_images=True, **facts))
    turn = replace(a_turn(port), history=history)
    assert EndReason.COMPLETED is await run_turn(turn, port.ports, an_agent(model))
    return port, model


@pytest.mark.parametrize("why", [each for each in Unseen if each is not Unseen.OLDER])
async def test_a_person_is_told_why_a_picture_was_not_seen_beside_the_answer(why):
    port, _ = await answer_to(looking(why, why, None))
    said, _, note = port.answer.partition("\n\n")
    assert "So." == said
    assert note.startswith("(")
    assert note == port.events[-1].note
    assert ["what is this?", "So."] == [item.text for item in fold(port.events)]


async def test_that_no_picture_is_seen_is_told_once_a_conversation_and_never_beside_a_picture_alone():
    told, _ = await answer_to(looking(Unseen.BLIND))
    assert "pictures" in told.answer
    for port, _ in (
        await answer_to(looking(Unseen.BLIND), history=(looking(Unseen.BLIND),)),
        await answer_to(looking(Unseen.BLIND, text="")),
    ):
        assert "So." == port.answer


async def test_refused_pictures_are_left_out_the_older_ones_first_then_all():
    older = looking(None)
    port, model = await answer_to(looking(None), REFUSED, REFUSED, "So.", history=(older,))
    fallbacks = [event.fallback for event in port.events if isinstance(event, Recovered)]
    assert [Fallback.PICTURES_DROPPED, Fallback.PICTURES_STRIPPED] == fallbacks
    seen = [[len(visible(item.pictures)) for item in request.items] for request in model.requests]
    assert [[1, 1], [0, 1], [0, 0]] == seen
    assert "would not take a picture" in port.answer
    assert [Unseen.REFUSED] == [picture.unseen for item in fold(port.events)[:1] for picture in item.pictures]


async def test_one_refused_picture_alone_is_one_step_and_a_request_without_any_is_none():
    port, _ = await answer_to(looking(None), REFUSED, "So.")
    assert [Fallback.PICTURES_STRIPPED] == [event.fallback for event in port.events if isinstance(event, Recovered)]
    port = FakeTurnPort()
    assert EndReason.MODEL_ERROR is await run_turn(a_turn(port), port.ports, an_agent(ScriptedModel([REFUSED])))
    assert [] == [event for event in port.events if isinstance(event, Recovered)]


async def test_too_long_with_pictures_leaves_the_older_ones_out():
    """Cover F12."""
    too_long = ModelFailure(FailureKind.CONTEXT, "request_too_large", 413)
    port, model = await answer_to(looking(None), too_long, "So.", history=(looking(None),))
    fallbacks = [event.fallback for event in port.events if isinstance(event, Recovered)]
    assert [Fallback.RESULTS_DROPPED, Fallback.PICTURES_DROPPED] == fallbacks
    assert [0, 1] == [len(visible(item.pictures)) for item in model.requests[-1].items]


def test_a_server_without_eyes_that_fails_refuses_the_request():
    said = '{"error": {"code": 500, "message": "image input is not supported - hint: you may need the mmproj"}}'
    assert FailureKind.BAD_REQUEST is from_answer(500, {}, said, NOW).kind


def test_a_summary_and_a_full_window_have_words_in_the_place_of_old_pictures():
    assert ["Person: what is this? (with: [a picture, 120 kB, image/png])"] == lines_of(looking(None), 1000)
    items = fit([looking(None), looking(None)], 800)
    assert [[], [PNG]] == [visible(item.pictures) for item in items]


def test_a_picture_is_journaled_by_reference_and_an_old_journal_is_read():
    started = TurnStarted((looking(None),))
    assert started == JOURNAL_EVENT.validate_json(JOURNAL_EVENT.dump_json(started))
    old = JOURNAL_EVENT.validate_json('{"kind": "turn_started", "items": [{"text": "hi"}]}')
    assert TurnStarted((UserItem("hi"),)) == old


def test_the_offline_coach_says_that_it_cannot_look():

    def answer(item):
        return OfflineReader().answer(ModelRequest(SystemPrompt(), (item,)))

    assert "I can't look at pictures." in answer(looking(Unseen.BLIND, text="")).text
    assert "pictures" not in answer(looking(Unseen.BLIND, text="thanks!")).text
