"""The check of the checker: each way a conversation can be wrong is seen, on both wires."""

import pytest

from tests.fakes.strict_transcripts import flaws_in_request

ASKED = {"role": "user", "content": "hi"}


def called(*ids):
    calls = [{"id": id_, "type": "function", "function": {"name": "t", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def came(id_):
    return {"role": "tool", "tool_call_id": id_, "content": "{}"}


@pytest.mark.parametrize(
    ("messages", "flaw"),
    [
        ([{"role": "system", "content": "s"}, ASKED, called("a", "b"), came("a"), came("b")], None),
        ([ASKED, called("a"), came("a"), ASKED, ASKED], None),
        ([ASKED, called("a")], "no result"),
        ([ASKED, called("a"), ASKED, came("a")], "no result"),
        ([ASKED, called("a"), came("a"), came("a")], "a result for a"),
        ([ASKED, called("a", "b"), came("b"), came("a")], "a result for b"),
        ([ASKED, came("a")], "a result for a"),
        ([ASKED, called("a"), came("a"), called("a"), came("a")], "twice"),
        ([ASKED, {"role": "assistant", "content": "x"}, called("a"), came("a")], "twice in a row"),
        ([ASKED, {"role": "assistant", "content": "x"}], "last word"),
        ([ASKED, {"role": "assistant", "content": ""}, ASKED], "empty"),
        ([called("a"), came("a")], "begins"),
        ([], "last word"),
    ],
)
def test_openai(messages, flaw):
    """Each call has its one result right behind it, in order; somebody else has the last word."""
    flaws = flaws_in_request({"messages": messages}, openai=True)
    assert ([] == flaws) if flaw is None else any(flaw in each for each in flaws)


def asks(*blocks):
    return {"role": "user", "content": list(blocks)}


def uses(*ids):
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id_, "name": "t", "input": {}} for id_ in ids]}


WORD = {"type": "text", "text": "hi"}


def result(id_):
    return {"type": "tool_result", "tool_use_id": id_, "content": "{}"}


@pytest.mark.parametrize(
    ("messages", "flaw"),
    [
        ([asks(WORD), uses("a", "b"), asks(result("a"), result("b"), WORD)], None),
        ([asks(WORD), asks(WORD)], "message 1"),
        ([asks(WORD), uses("a"), asks(WORD, result("a"))], "behind words"),
        ([asks(WORD), uses("a"), asks(WORD)], "no result"),
        ([asks(WORD, result("a"))], "a result for a"),
        ([uses("a"), asks(result("a"))], "message 0"),
        ([asks({"type": "text", "text": " "})], "empty"),
        ([asks(WORD), {"role": "assistant", "content": "x"}], "last word"),
    ],
)
def test_anthropic(messages, flaw):
    """Roles take turns; results stand first in the message behind their calls."""
    flaws = flaws_in_request({"messages": messages}, openai=False)
    assert ([] == flaws) if flaw is None else any(flaw in each for each in flaws)
