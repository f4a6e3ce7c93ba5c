"""What the body of a request costs to make at 300 turns: encoded anew each time, and with the last request's pieces.

Each turn asks twice, as after a tool; its own items are folded anew for each request, as a turn does.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from agent.config import LinkConfig
from agent.context.history import PastTurn, history_for
from agent.encoded_pieces import EncodedPieces
from agent.models import anthropic_format, openai_format
from agent.models.json_bodies import encode_request
from agent.ports import ModelRequest, SystemPrompt, ToolSpec
from agent.transcript import (
    EndReason,
    JournalEvent,
    ModelResponded,
    StopReason,
    ToolCall,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    UserItem,
    fold,
)
from tests.fakes.long_conversation import ANSWER, TALK

TURNS = 300
MEASURED = 40
"""Turns from there on, each with its two requests."""

RESULT = json.dumps({"success": True, "data": [{"day": n, "minutes": 30 + n} for n in range(30)], "error": None})
PROPERTIES = {f"field_{n}": {"type": "string", "description": "What it is for."} for n in range(6)}
TOOLS = tuple(
    ToolSpec(f"tool_{n}", "Does one thing of many.", {"type": "object", "properties": PROPERTIES}) for n in range(12)
)
SYSTEM = SystemPrompt(TALK * 40, TALK * 5)
WIRES: dict[str, Callable[[ModelRequest], dict[str, object]]] = {
    "openai": partial(openai_format.request_body, model="m", tokens_field="max_tokens", usage_in_stream=True),
    "anthropic": partial(anthropic_format.request_body, model="m", config=LinkConfig()),
}


async def run(turns: int = TURNS, measured: int = MEASURED) -> dict[str, object]:
    """Print the row, and give it."""
    results: dict[str, object] = {}
    print(f"\nencoding a request after {turns} turns, CPU us a request, medians of {2 * measured} requests")
    for kind, tool in (("talk", False), ("a tool each turn", True)):
        for wire, to_body in WIRES.items():
            results[f"{wire}, {kind}"] = _measure(f"{wire}, {kind}", to_body, turns, measured, tool=tool)
    return results


def _measure(
    label: str, to_body: Callable[[ModelRequest], dict[str, object]], turns: int, measured: int, *, tool: bool
) -> dict[str, float]:
    pieces, size = EncodedPieces(), 0
    took_us: dict[str, list[float]] = {"plain": [], "pieces": []}
    past = [_turn(number, tool=tool) for number in range(turns)]
    for number in range(turns, turns + measured):
        turn, history = _turn(number, tool=tool), history_for(past, "ana")
        for done in (1, len(turn.events) - 2):
            plain = ModelRequest(SYSTEM, (*history, *fold(turn.events[:done])), TOOLS)
            kept = ModelRequest(SYSTEM, (*history, *fold(turn.events[:done])), TOOLS, pieces=pieces)
            for name, request in (("plain", plain), ("pieces", kept)):
                begun_ns = time.process_time_ns()
                size = len(encode_request(request, to_body))
                took_us[name].append((time.process_time_ns() - begun_ns) / 1000)
        past.append(turn)
    plain_us, kept_us = median(took_us["plain"]), median(took_us["pieces"])
    print(
        f"  {label:28}{size / 1024:7.0f} KiB  plain {plain_us:7.0f}  with pieces {kept_us:7.0f}"
        f"  ratio {plain_us / kept_us:5.1f}"
    )
    return {"bytes": size, "plain_us": plain_us, "pieces_us": kept_us, "ratio": round(plain_us / kept_us, 2)}


def _turn(number: int, *, tool: bool) -> PastTurn:
    call = ToolCall(f"c{number}", "tool_1", json.dumps({"field_1": f"place {number}"}))
    looked: tuple[JournalEvent, ...] = (
        ModelResponded(0, "", (call,), stop=StopReason.TOOLS),
        ToolReturned(0, f"{number}/0/0", call.id, call.name, RESULT),
    )
    answer = f"{ANSWER} That was day {number}."
    events: tuple[JournalEvent, ...] = (
        TurnStarted((UserItem(f"{TALK} Day {number}.", at="2026-11-22T10:00:00Z"),)),
        *(looked if tool else ()),
        ModelResponded(1, answer),
        TurnEnded(EndReason.COMPLETED, answer),
    )
    return PastTurn("ana", events, f"t{number}")
