"""CaseRules of a case: which answers keep them, and what is said if not."""

import pytest

from agent.evals.case import CaseRules
from agent.evals.rules import Observed, ObservedCall, flaws_of, together

SENT = ObservedCall("send", '{"to": "ana", "copy": {"to": "bob", "times": 1}}')
SEEN = Observed("This week:\n**45\u202fmin** of guitar", (SENT,), 2, 1_500, 3.0)


def flaws(rules: dict[str, object], seen: Observed = SEEN) -> list[str]:
    return list(flaws_of(CaseRules.model_validate(rules), seen, lambda text: "en" if "week" in text else None))


@pytest.mark.parametrize(
    "rules",
    [
        {"contains": ["this WEEK", "45 min"], "not_contains": "piano"},
        {"matches": r"(?m)^This \w+:$"},
        {"calls": ["send", {"tool": "send", "arguments": {"copy": {"times": 1}}}]},
        {"does_not_call": ["delete", {"tool": "send", "arguments": {"to": "eve"}}]},
        {"does_not_call": {"tool": "send", "arguments": {"copy": {"times": True}}}},
        {"max_steps": 2, "max_cost": 0.0015, "max_seconds": 3, "language": "en"},
    ],
)
def test_rules_that_hold_say_nothing(rules):
    assert [] == flaws(rules)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"contains": "30 min"}, "contains '30 min': the answer is 'This week: **45 min** of guitar'"),
        ({"not_contains": "GUITAR"}, "not_contains 'GUITAR': the answer is"),
        ({"matches": r"\d+ hours"}, r"matches '\\d+ hours': the answer is"),
        ({"calls": "delete"}, "calls delete: the calls are: send {"),
        ({"calls": {"tool": "send", "arguments": {"to": "eve"}}}, "calls send {'to': 'eve'}: the calls are"),
        ({"does_not_call": "send"}, "does_not_call send: it was called with {"),
        ({"max_steps": 1}, "max_steps 1: there are 2"),
        ({"max_cost": 0.001}, "max_cost 0.001: it cost $0.001500"),
        ({"max_seconds": 2.5}, "max_seconds 2.5: it took 3.0 s"),
        ({"language": "es"}, "language es: the answer is in en"),
    ],
)
def test_a_broken_rule_says_what_was_seen(rules, told):
    (flaw,) = flaws(rules)
    assert flaw.startswith(told)


def test_an_expression_that_takes_too_long_is_a_broken_rule():
    (flaw,) = flaws({"matches": r"^(a|aa)+$"}, Observed("a" * 60 + "b"))
    assert "the expression took more than 0.2 s" in flaw


def test_a_cost_without_a_price_and_an_unknown_language_break_their_rules():
    unpriced, unread = flaws({"max_cost": 1, "language": "en"}, Observed("¿?", cost_microusd=None))
    assert (True, True) == ("the model has no price" in unpriced, "an unknown language" in unread)


def test_turns_together_are_all_answers_calls_and_sums():
    both = together([SEEN, Observed("Bye", cost_microusd=None)])
    assert (f"{SEEN.answer}\n\nBye", (SENT,), 2, None, 3.0) == (
        both.answer, both.calls, both.steps, both.cost_microusd, both.seconds
    )  # fmt: skip
    assert 3_000 == together([SEEN, SEEN]).cost_microusd
