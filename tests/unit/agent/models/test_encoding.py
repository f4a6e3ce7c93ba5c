"""A request's body, built on the encoding of the last one, beside one encoded anew."""

import json
import operator
import tracemalloc
from dataclasses import replace
from functools import partial

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.config import LinkConfig
from agent.encoded_pieces import EncodedPieces
from agent.models import anthropic_format, openai_format
from agent.models.json_bodies import encode, encode_request, to_piece
from agent.ports import ModelRequest, SystemPrompt, ToolSpec
from agent.transcript import AssistantItem, NoteItem, ToolCall, ToolItem, UserItem
from tests.fakes.amounts import share

BODIES = {
    "openai": partial(openai_format.request_body, model="m", tokens_field="max_tokens", usage_in_stream=True),
    "anthropic": partial(anthropic_format.request_body, model="m", config=LinkConfig()),
}
SYSTEM = SystemPrompt("be kind", "Ana speaks")
TOOLS = tuple(ToolSpec(f"t{n}", "Does.", {"type": "object", "maximum": n * 1.5}) for n in range(3))
TEXTS = st.one_of(
    st.sampled_from(["", " ", "hello", "señora 👩‍🎤", '"\\\n\x00\x7f', "\ud800", "[a]:"]), st.text(max_size=9)
)
ARGUMENTS = st.sampled_from(["{}", '{"n": 1}', '{"n": 1.0}', '{"n": 1e16}', '{"n": 36893488147419103232}', "no", "[]"])
BLOCKS = st.one_of(
    st.builds(
        lambda number, at: {"wire": "anthropic", "block": {"type": "thinking", "n": number}, "text_before": at},
        st.sampled_from([0, 0.0, 1, 1.0, True, 1e16]),
        st.integers(0, 3),
    ),
    st.builds(lambda text: {"wire": "openai", "name": "reasoning", "text": text}, TEXTS),
)
CALLS = st.builds(ToolCall, TEXTS, TEXTS, ARGUMENTS)
ITEMS = st.one_of(
    st.builds(UserItem, TEXTS, st.none() | TEXTS, data=TEXTS, own=st.booleans()),
    st.builds(NoteItem, TEXTS),
    st.builds(ToolItem, TEXTS, TEXTS, TEXTS),
    st.builds(AssistantItem, TEXTS, st.lists(CALLS, max_size=2).map(tuple), st.lists(BLOCKS, max_size=2).map(tuple)),
)
CHANGES = st.one_of(
    st.tuples(st.just("say"), st.lists(ITEMS, min_size=1, max_size=4)),
    st.tuples(st.just("cut"), st.integers(0, 6)),  # the oldest are left out
    st.tuples(st.just("compact"), st.integers(0, 6)),  # notes stand for them
    st.tuples(st.just("blank"), st.integers(0, 12)),  # a layer changes one in the middle
    st.tuples(st.just("fold"), st.none()),  # the same once more, as a turn's next step makes it
    st.tuples(st.just("think"), st.sampled_from([1, 1.0, True])),  # equal for Python, three things in JSON
    st.tuples(st.just("reword"), TEXTS),  # the thoughts stay the same object
    st.tuples(st.just("recall"), st.lists(CALLS, max_size=2)),
    st.tuples(st.just("wire"), st.sampled_from(sorted(BODIES))),  # another model is asked
    st.tuples(st.just("tools"), st.integers(0, 3)),
    st.tuples(st.just("retry"), st.none()),
)


def changed(items, kind, what):
    match kind:
        case "say":
            return [*items, *what]
        case "cut":
            return items[what:]
        case "compact":
            return [UserItem("", data="[notes]"), *items[what:]]
        case "blank":
            return [NoteItem("gone") if index == what else item for index, item in enumerate(items)]
        case "fold":
            return [replace(item) for item in items]
        case "think":
            thought = {"wire": "anthropic", "block": {"n": what}}
            before = items[:-2] if items[-2:-1] == [UserItem("think")] else items
            return [*before, UserItem("think"), AssistantItem("so", (), (thought,))]
        case "recall":
            return [
                replace(item, tool_calls=tuple(what)) if isinstance(item, AssistantItem) else item for item in items
            ]
        case "reword":
            return [replace(item, text=what) if isinstance(item, AssistantItem) else item for item in items]
        case _:
            return items


@settings(max_examples=share(150))
@given(changes=st.lists(CHANGES, min_size=1, max_size=10))
@example([("think", 1), ("think", 1.0), ("think", True)])
@example([("think", 1), ("reword", "other"), ("recall", [ToolCall("c", "t0", "{}")])])
@example(
    [("say", [UserItem("\ud800"), UserItem("b")]), ("cut", 1), ("say", [AssistantItem("c")]), ("wire", "anthropic")]
)
def test_a_body_is_the_same_bytes_as_one_made_anew(changes):
    pieces, items, wire, tools = EncodedPieces(), [], "openai", ()
    for kind, what in changes:
        items = changed(items, kind, what)
        wire = what if kind == "wire" else wire
        tools = TOOLS[:what] if kind == "tools" else tools
        request = ModelRequest(SYSTEM, items, tools)
        plain = encode(BODIES[wire](request))
        assert plain == encode_request(replace(request, pieces=pieces), BODIES[wire])
        assert plain == encode_request(replace(request, pieces=pieces), BODIES[wire])


@pytest.mark.parametrize("wire", BODIES)
def test_the_marks_move_along(wire):
    pieces, items = EncodedPieces(), []
    for turn in range(5):
        call = ToolCall(f"c{turn}", "t0", "{}")
        for item in (
            UserItem(f"{turn}"),
            AssistantItem("", (call,)),
            ToolItem(call.id, "t0", "{}"),
            AssistantItem("so"),
        ):
            items.append(item)
            request = ModelRequest(SYSTEM, tuple(items), TOOLS)
            body = encode_request(replace(request, pieces=pieces), BODIES[wire])
            assert encode(BODIES[wire](request)) == body
            users = [message for message in orjson.loads(body)["messages"] if message["role"] == "user"]
            marked = [index for index, message in enumerate(users) if "cache_control" in json.dumps(message)]
            assert marked == ([*range(len(users))][-2:] if wire == "anthropic" else [])


@pytest.mark.parametrize("wire", BODIES)
def test_all_conversations_share_the_encoded_tools(wire):
    one, two = (BODIES[wire](ModelRequest(SYSTEM, (UserItem("a"),), TOOLS, pieces=EncodedPieces())) for _ in "ab")
    assert all(map(operator.is_, one["tools"], two["tools"]))


def test_a_short_piece_takes_little_memory():
    tracemalloc.start()
    kept = [to_piece({"role": "user", "content": "a" * 100}) for _ in range(100)]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (100, True) == (len(kept), taken < 50_000)


class Maker:
    def __init__(self):
        self.made = []

    def __call__(self, item):
        self.made.append(item)
        return str(item)


def talk(count, first=0):
    return [UserItem(f"message {number}") for number in range(first, first + count)]


class TestEncodedPieces:
    def test_a_piece_that_cannot_be_made_leaves_all_as_it_was(self):
        pieces, maker = EncodedPieces(), Maker()
        pieces.of("w", talk(5), maker)

        def refuse(_item):
            raise TypeError("no")

        with pytest.raises(TypeError):
            pieces.of("w", talk(6), refuse)
        maker.made.clear()
        pieces.of("w", talk(5), maker)
        assert [] == maker.made
