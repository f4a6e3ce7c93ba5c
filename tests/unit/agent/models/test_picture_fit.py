"""Pictures of a conversation as the model sees them; each is encoded once."""

import base64
from dataclasses import replace
from functools import partial

import orjson
import pytest

from agent.config import LinkConfig
from agent.context.layers import keep_newest_pictures
from agent.context.sizes import estimate_tokens
from agent.encoded_pieces import EncodedPieces
from agent.models import anthropic_format, openai_format
from agent.models.chain import ModelRoute, RoutedModel, needs_eyes
from agent.models.facts import KnownModel
from agent.models.json_bodies import encode
from agent.models.picture_fit import encode_shown
from agent.models.scripted import ScriptedModel
from agent.pictures import Picture, Unseen
from agent.ports import ModelFacts, ModelRequest, SystemPrompt
from agent.transcript import AssistantItem, ToolCall, UserItem

PNG = Picture("p1", "image/png", 1_200_000, 900, 600)
BYTES = {"p1": b"\x89PNG one", "p2": b"\x89PNG two"}
BODIES = {
    "openai": partial(openai_format.request_body, model="m", tokens_field="max_tokens", usage_in_stream=True),
    "anthropic": partial(anthropic_format.request_body, model="m", config=LinkConfig()),
}


def asked(*items, **more):
    return ModelRequest(SystemPrompt("be kind"), items, **more)


class Kept:
    def __init__(self):
        self.read = []

    async def load(self, ids):
        self.read += ids
        return {id_: BYTES[id_] for id_ in ids if id_ in BYTES}


async def sent_to(model, request):
    await KnownModel(model, LinkConfig()).respond(request, lambda _event: None)
    return model.requests[-1].items


async def test_a_model_that_sees_none_gets_a_line_in_place():
    item = UserItem("what is this?", pictures=(PNG,))
    (blind,) = await sent_to(ScriptedModel(["so"]), asked(item))
    line = "[a picture, 1.2 MB, image/png: this model sees no pictures]"
    assert f"what is this?\n{line}" == openai_format.spoken_text(blind)
    assert [item] == await sent_to(ScriptedModel(["so"], facts=ModelFacts(sees_images=True)), asked(item))


def test_of_too_many_the_newest_are_shown_and_those_of_the_last_message_always():
    items = [UserItem(str(n), pictures=(replace(PNG, id=str(n)),)) for n in range(3)]
    kept = keep_newest_pictures(items, 2, 10_000_000)
    assert [Unseen.OLDER, None, None] == [item.pictures[0].unseen for item in kept]
    assert [Unseen.OLDER, Unseen.OLDER, None] == [item.pictures[0].unseen for item in keep_newest_pictures(items)]
    assert items == keep_newest_pictures(items, 3, 3_600_000)


@pytest.mark.parametrize("wire", BODIES)
async def test_a_picture_is_read_and_encoded_once_a_conversation(wire):
    kept, pieces, items = Kept(), EncodedPieces(), []
    for said in (UserItem("look", pictures=(PNG,)), AssistantItem("so"), UserItem("and?")):
        items.append(said)
        request = asked(*items, pieces=pieces, load_pictures=kept.load)
        body = await encode_shown(request, wire, BODIES[wire])
        plain = replace(request, pieces=None, picture_bytes=BYTES)
        assert encode(BODIES[wire](plain)) == body
        assert base64.b64encode(BYTES["p1"]) in body
    assert ["p1"] == kept.read


@pytest.mark.parametrize("wire", BODIES)
async def test_what_is_not_kept_any_more_is_said_in_words(wire):
    item = UserItem("look", pictures=(PNG, replace(PNG, id="away")))
    body = await encode_shown(asked(item, load_pictures=Kept().load), wire, BODIES[wire])
    assert b"it cannot be fetched any more" in body
    assert 1 == body.count(base64.b64encode(BYTES["p1"]))
    assert b"it cannot be fetched any more" in await encode_shown(asked(item), wire, BODIES[wire])


@pytest.mark.parametrize("wire", BODIES)
async def test_a_body_that_needs_mending_has_its_pictures(wire):
    pieces, item, kept = EncodedPieces(), UserItem("look", pictures=(PNG,)), Kept()
    broken = AssistantItem("", (ToolCall("c", "t", '{"n": "\ud800"}'),))
    for items in ([item], [item, broken, UserItem("\ud800")]):
        body = await encode_shown(asked(*items, pieces=pieces, load_pictures=kept.load), wire, BODIES[wire])
        assert base64.b64encode(BYTES["p1"]) in body
        orjson.loads(body)


async def test_a_route_takes_conversations_with_pictures():
    seeing = ScriptedModel(["I see."], facts=ModelFacts(sees_images=True))
    routed = RoutedModel([ModelRoute(needs_eyes, seeing)], ScriptedModel(["Words."] * 2))
    hidden = UserItem("look", pictures=(replace(PNG, unseen=Unseen.GONE),))
    said = [
        (await routed.respond(asked(item), lambda _event: None)).text
        for item in (UserItem("look", pictures=(PNG,)), hidden, UserItem("look"))
    ]
    assert ["I see.", "Words.", "Words."] == said
    assert routed.facts.sees_images


def test_a_picture_counts_by_its_pixels():
    tokens = [replace(PNG, width=side, height=side).tokens for side in (10, 600, 5000, 0)]
    assert [85, 480, 1600, 1600] == tokens
    assert 480 <= estimate_tokens([UserItem("", pictures=(replace(PNG, width=600, height=600),))]) <= 500
