"""Findings of tools, reported when the model cannot: in the agent's words or as a plain list."""

from datetime import date

import orjson

from agent.end_texts import MAX_CHARS, found_text
from agent.transcript import CallOutcome, ModelResponded, ToolResultRewritten, ToolReturned
from gateway.texts import HARNESS

TODAY = date(2026, 3, 4)


def result(name, data, outcome=CallOutcome.DONE):
    content = orjson.dumps({"success": outcome is CallOutcome.DONE, "data": data, "error": None}).decode()
    return ToolReturned(0, "k", "c", name, content, outcome)


def told(*events, tell=None, locale="en"):
    return found_text(HARNESS, events, tell, locale, TODAY)


def test_a_plain_list_names_the_tool_and_its_values():
    text = told(result("weather", {"city": "Lima", "id": "x7", "high_c": 24, "days": [{"rain_mm": 3}]}))
    assert text.endswith("\n\n• weather: city Lima, high c 24, rain mm 3")


def test_the_agents_own_words_go_before_the_list():
    words = {"a": "It is Lima.", "b": "", "c": None}
    text = told(*(result(name, {"n": 1}) for name in words), tell=lambda tool, *_: words[tool])
    assert text.endswith("\n\nIt is Lima.\n\n• c: n 1")


def test_what_a_hook_took_out_is_not_told():
    hidden = '{"success":true,"data":{"n":0},"error":null}'
    assert told(result("a", {"n": 1}), ToolResultRewritten(0, "k", "c", hidden)).endswith("• a: n 0")
    cut = ToolResultRewritten(0, "k", "c", hidden, is_cut=True)
    assert told(result("a", {"n": 1}), cut).endswith("• a: n 1")


def test_only_what_worked_and_was_not_said_yet_is_told():
    assert "" == told(result("a", {"n": 1}, CallOutcome.FAILED), result("b", {"n": 2}, CallOutcome.SKIPPED))
    assert "" == told(result("a", {"n": 1}), ModelResponded(0, "It is 1."))
    assert "" == told(result("a", None), result("b", {}), result("c", [{}]))


def test_it_is_bounded_and_in_the_persons_language():
    text = told(*(result(f"t{n}", {"text": f"{n} " * 9000}) for n in range(40)), locale="es")
    assert MAX_CHARS + 100 > len(text)
    assert text.startswith("Antes de eso")
