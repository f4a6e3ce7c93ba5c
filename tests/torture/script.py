"""People's messages and the model's responses; both follow from the words of a message.

A message is a token such as `m17pil`: its number and its kinds. `p` logs a minute of practice (a local effect), `i` and
`u` let the ledger do something (idempotent, unsafe), `x` kills the gateway at each attempt, `l` gets a long answer, `s`
a slow one. The answer holds `re:m17`,
a long one its numbered paragraphs `m17.1` to `m17.130`, too.

`d` and `b` give a task to an agent, at once and in the background: it notes `task17` in the ledger, and its result is
`result-17`. The answer to its notification holds `news-17`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.transcript import SKIPPED
from gateway.testing.model import Call, Reply
from tests.fakes.strict_transcripts import flaws_in_request

TOKEN = re.compile(r"\bm(\d+)([pilsuxdb]*)\b")
TASK = re.compile(r"\btask number (\d+)\b")
RESULT = re.compile(r"\bresult-(\d+)\b")
PARAGRAPHS = 130
LONG_CHARS = 5_000
LONGER = 4  # times as slow is what is long and slow: it fills a message, and another, while it is written
FILLING = "slow steady work on one hard passage beats an hour of playing what goes well already, today too."

TOOLS = {"p": "log_practice", "i": "note_down", "u": "pay", "x": "fall", "d": "agent", "b": "agent"}


class Model:
    """The model server's script: the same conversation gets the same response."""

    def __init__(self, pace_s: float = 0.1) -> None:
        self.pace_s = pace_s
        self.unsendable: list[str] = []  # what a strict API would have refused

    def __call__(self, body: dict[str, Any]) -> Reply:
        messages = body["messages"]
        self.unsendable += flaws_in_request(body, openai=True)
        pending = _pending(messages)
        if task := TASK.search(_text(next(each for each in messages if each["role"] == "user"))):
            return _work(task[1], messages)
        if body.get("tools"):
            done = _settled_calls(messages)
            calls = [
                Call(TOOLS[kind], _arguments(kind, number))
                for number, kinds in pending
                for kind in kinds
                if kind in TOOLS and (TOOLS[kind], number) not in done
            ]
            if calls:
                return Reply(calls=tuple(calls), delay_s=0.01, chunk_chars=200)
        said = [answer(number, kinds) for number, kinds in pending]
        text = "\n\n".join([*said, *(f"news-{number}" for number in _news(messages))]) or "yes"
        slow = any("s" in kinds for _, kinds in pending)
        size = max(12, len(text) // 10)
        pace_s = self.pace_s * (LONGER if len(text) > LONG_CHARS else 1)
        return Reply(text, delay_s=0.01, chunk_chars=size, chunk_delay_s=pace_s if slow else 0.0)


def _work(number: str, messages: Sequence[Mapping[str, Any]]) -> Reply:
    """Work on a task: note it down, then give the result."""
    if messages[-1]["role"] == "tool":
        return Reply(f"result-{number} is here.", delay_s=0.05)
    return Reply(calls=(Call("note_down", json.dumps({"ref": f"task{number}"})),), delay_s=0.05)


def _news(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the results that were told since the last answer."""
    found: list[str] = []
    for message in messages:
        if message["role"] == "user":
            found += RESULT.findall(_text(message))
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            found = []
    return found


def answer(number: str, kinds: str) -> str:
    """Return the whole answer to a message."""
    first = f"re:m{number} is done. {FILLING}"
    if "l" not in kinds:
        return first
    return "\n\n".join([first, *(f"m{number}.{at} {FILLING}" for at in range(1, PARAGRAPHS + 1))])


def _arguments(kind: str, number: str) -> str:
    if kind == "p":
        return json.dumps({"skill": "guitar", "minutes": 1, "notes": f"m{number}"})
    if kind in "db":
        given = {"description": f"number {number}", "prompt": f"Work on task number {number}."}
        return json.dumps(given | {"run_in_background": kind == "b"})
    return json.dumps({"ref": f"m{number}"})


def _pending(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for message in messages:
        if message["role"] == "user":
            found += TOKEN.findall(_text(message))
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            found = []
    return found


def _settled_calls(messages: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    asked: dict[str, tuple[str, str]] = {}
    settled = set()
    for message in messages:
        for call in message.get("tool_calls") or ():
            number = re.search(r"(?:m|number )(\d+)", call["function"]["arguments"])
            asked[call["id"]] = (call["function"]["name"], number[1] if number else "")
        if message["role"] == "tool" and SKIPPED not in _text(message):
            settled.add(asked.get(message["tool_call_id"], ("", "")))
    return settled


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
