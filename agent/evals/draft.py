"""The first draft of a case, from turns as they were recorded; pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from agent.replay.record import RecordedCall
from agent.tools.toolbox import READ_RESULT, TOOL_SEARCH
from agent.wellformed import read_object

MOST_FACTS = 3
"""Texts of an answer that a first rule wants."""

LEAST_FACT_CHARS = 3
"""Fewest characters of a number, with the word behind it: shorter ones are in any answer."""

MAX_FACT_CHARS = 60

_NUMBER = re.compile(r"(?<![\w.,:/-])\d(?:[\d.,:/-]*\d)?(?:\s?%|\s[^\W\d_]{1,12}\b)?")
_MARKS = re.compile(r"[*_`~#>|]+")
_SENTENCE = re.compile(r"[^.!?\n]+")


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn as it was recorded."""

    text: str  # of the person's messages
    answer: str  # Markdown
    started_at: datetime
    calls: Sequence[RecordedCall]


def draft_case(name: str, agent: str | None, language: str | None, turns: Sequence[SaidTurn]) -> dict[str, JsonValue]:
    """Return a case: the person says the same, tools give the same results, answers have to name the same facts."""
    head = {"name": name, "agent": agent, "date": turns[0].started_at.isoformat(" ", "seconds"), "language": language}
    messages: list[JsonValue] = []
    for number, turn in enumerate(turns):
        at = {"at": turn.started_at.isoformat(" ", "seconds")} if number else {}
        messages.append({"text": turn.text, **at, "rules": _first_rules(turn)})
    fixtures = _fixtures_of(turns)
    return {
        **{key: value for key, value in head.items() if value is not None},
        "messages": messages,
        **({"fixtures": fixtures} if fixtures else {}),
    }


def _first_rules(turn: SaidTurn) -> JsonValue:
    called = list(dict.fromkeys(call.name for call in turn.calls if _is_of_a_tool(call)))
    answer = _MARKS.sub("", turn.answer)
    numbers = dict.fromkeys(found[0] for found in _NUMBER.finditer(answer) if len(found[0]) >= LEAST_FACT_CHARS)
    facts = [*numbers][:MOST_FACTS]
    if not facts and (first := _SENTENCE.search(answer)) is not None:
        facts = [first[0].strip()[:MAX_FACT_CHARS].strip()]
    rules: dict[str, JsonValue] = {}
    if called:
        rules["calls"] = [*called]
    if found := [fact for fact in facts if fact]:
        rules["contains"] = [*found]
    return rules


def _fixtures_of(turns: Sequence[SaidTurn]) -> list[JsonValue]:
    """Return each recorded call as a fixture; one that only repeats the last of its kind is left out."""
    fixtures: list[JsonValue] = []
    last: dict[str, JsonValue] = {}
    for call in (call for turn in turns for call in turn.calls if _is_of_a_tool(call)):
        fixture = _to_fixture(call)
        same_call = f"{call.name} {fixture.get('arguments')}"
        if last.get(same_call) != fixture:
            fixtures.append(fixture)
        last[same_call] = fixture
    return fixtures


def _to_fixture(call: RecordedCall) -> dict[str, JsonValue]:
    result, arguments = _read(call.content), _read(call.arguments)
    fixture: dict[str, JsonValue] = {"tool": call.name, **({"arguments": arguments} if arguments else {})}
    if result.get("success"):
        return {**fixture, "result": result.get("data")}
    return {**fixture, "error": str(result.get("error"))}


def _read(text: str) -> dict[str, JsonValue]:
    """Return a JSON object; an empty one for a text that is none."""
    return {} if read_object(text) is None else json.loads(text)


def _is_of_a_tool(call: RecordedCall) -> bool:
    """Return True for a tool of the agent; what the loop itself offers is not recorded."""
    return call.name not in {READ_RESULT, TOOL_SEARCH}
