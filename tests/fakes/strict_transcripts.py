"""Rules of a strict API for a conversation: calls and results pair, turns are in order.

Three forms of one check: a transcript's items, OpenAI's messages, Anthropic's messages. `ModelServer` checks every
request it gets, `FakeTurnPort` its journal after every commit, the torture every journal in the end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agent.transcript import AssistantItem, Item, ToolItem


@dataclass(frozen=True, slots=True)
class _Turn:
    """One message, reduced to what its order depends on."""

    role: str  # user | assistant | result
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    empty: bool = False


def flaws_in_items(items: Sequence[Item]) -> list[str]:
    """Return the flaws in a transcript that was folded from a journal."""
    turns: list[_Turn] = []
    for item in items:
        match item:
            case ToolItem():
                turns.append(_Turn("result", results=(item.call_id,)))
            case AssistantItem():
                calls = tuple(call.id for call in item.tool_calls)
                turns.append(_Turn("assistant", calls, empty=not (calls or item.text.strip())))
            case _:
                turns.append(_Turn("user"))
    return [*_pairing_flaws(turns), *_order_flaws(turns)]


def flaws_in_request(body: Mapping[str, Any], *, openai: bool) -> list[str]:
    """Return the flaws in a request as it came over a wire."""
    turns = [_of_openai(one) if openai else _of_anthropic(one) for one in body["messages"]]
    if openai:
        turns = turns[1:] if turns and turns[0].role == "system" else turns
    else:
        turns, flaws = list(_spread(turns)), _alternation_flaws(turns)
        flaws += _thinking_flaws(body)
        return [*flaws, *_pairing_flaws(turns), *_order_flaws(turns), *_end_flaws(turns)]
    return [*_pairing_flaws(turns), *_order_flaws(turns), *_end_flaws(turns)]


def _of_openai(message: Mapping[str, Any]) -> _Turn:
    if message["role"] == "tool":
        return _Turn("result", results=(message["tool_call_id"],))
    calls = tuple(call["id"] for call in message.get("tool_calls") or ())
    return _Turn(message["role"], calls, empty=not (calls or message.get("content")))


def _of_anthropic(message: Mapping[str, Any]) -> _Turn:
    content = message["content"]
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    calls = tuple(block["id"] for block in blocks if block["type"] == "tool_use")
    results = tuple(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")
    first = tuple(block["type"] for block in blocks[: len(results)])
    blank = any(block["type"] == "text" and not block["text"].strip() for block in blocks)
    late = any(kind != "tool_result" for kind in first)
    role = f"{message['role']}, with results behind words" if late else message["role"]
    return _Turn(role, calls, results, blank or not blocks)


def _spread(turns: Sequence[_Turn]) -> Iterator[_Turn]:
    for turn in turns:
        yield from (_Turn("result", results=(id_,)) for id_ in turn.results)
        if not turn.results or turn.role != "user":
            yield turn


def _alternation_flaws(turns: Sequence[_Turn]) -> list[str]:
    wanted = ["user", "assistant"] * (len(turns) // 2 + 1)
    return [
        f"message {at} is the {turn.role}'s"
        for at, (turn, role) in enumerate(zip(turns, wanted, strict=False))
        if turn.role != role
    ]


def _pairing_flaws(turns: Sequence[_Turn]) -> Iterator[str]:
    open_: list[str] = []
    seen: set[str] = set()
    for turn in turns:
        if turn.role == "result":
            (id_,) = turn.results
            if open_[:1] != [id_]:
                yield f"a result for {id_}, where {open_[:1]} is to be answered"
            open_ = [other for other in open_ if other != id_]
            continue
        if open_:
            yield f"no result for {open_}"
        if len(set(turn.calls)) != len(turn.calls) or seen & set(turn.calls) or "" in turn.calls:
            yield f"a call id twice, or none: {turn.calls}"
        seen |= set(turn.calls)
        open_ = list(turn.calls)
    if open_:
        yield f"no result for {open_}"


def _order_flaws(turns: Sequence[_Turn]) -> Iterator[str]:
    if turns and turns[0].role != "user":
        yield f"the {turns[0].role} begins"
    for before, turn in pairwise(turns):
        if before.role == turn.role == "assistant":
            yield "the assistant speaks twice in a row"
    for at, turn in enumerate(turns):
        if turn.empty:
            yield f"message {at}, the {turn.role}'s, is empty"


def _end_flaws(turns: Sequence[_Turn]) -> Iterator[str]:
    if not turns or turns[-1].role == "assistant":
        yield "the assistant has the last word"


def _thinking_flaws(body: Mapping[str, Any]) -> Iterator[str]:
    if body.get("thinking", {}).get("type") != "enabled":
        return
    first: str | None = None
    for message in body["messages"]:
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "assistant":
            first = first or kinds[0]
        elif "tool_result" not in kinds:
            first = None
    if first not in {None, "thinking", "redacted_thinking"}:
        yield f"expected a thinking block at the start of the turn, found {first}"
