"""Checks of a case's rules against its turns; pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import regex
from pydantic import JsonValue

from agent.evals.case import CalledTool, CaseRules
from agent.wellformed import read_object

MATCH_S = 0.2
"""Seconds for one regular expression."""

SHOWN_CHARS = 300
"""Characters of an answer in a flaw."""

LanguageOf = Callable[[str], str | None]
"""Returns the language of a text; None: unknown."""


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A call that the agent made."""

    tool: str
    arguments: str  # JSON as the model wrote it
    is_unanswered: bool = False  # it was not run, and the case has no fixture for it


@dataclass(frozen=True, slots=True)
class Observed:
    """The answer, calls and figures of a turn, or of several."""

    answer: str
    calls: tuple[ObservedCall, ...] = ()
    steps: int = 0
    cost_microusd: int | None = 0  # None: the price of a response is unknown
    seconds: float = 0.0


def together(turns: Sequence[Observed]) -> Observed:
    """Return turns as one: their answers one below the other, all calls, and sums."""
    costs = [turn.cost_microusd for turn in turns]
    return Observed(
        "\n\n".join(turn.answer for turn in turns),
        tuple(chain.from_iterable(turn.calls for turn in turns)),
        sum(turn.steps for turn in turns),
        None if None in costs else sum(filter(None, costs)),
        sum(turn.seconds for turn in turns),
    )


def flaws_of(rules: CaseRules, seen: Observed, language_of: LanguageOf) -> Iterator[str]:
    """Yield a sentence for each rule that does not hold."""
    shown = f"the answer is {_shorten(seen.answer)!r}"
    answer = _plain(seen.answer)
    for text in rules.contains:
        if _plain(text) not in answer:
            yield f"contains {text!r}: {shown}"
    for text in rules.not_contains:
        if _plain(text) in answer:
            yield f"not_contains {text!r}: {shown}"
    for pattern in rules.matches:
        try:
            if regex.search(pattern, seen.answer, timeout=MATCH_S) is None:
                yield f"matches {pattern!r}: {shown}"
        except TimeoutError:
            yield f"matches {pattern!r}: the expression took more than {MATCH_S:g} s; write a simpler one"
    yield from _wrong_calls(rules, seen.calls)
    yield from _over_limits(rules, seen)
    if rules.language is not None and (spoken := language_of(seen.answer)) != rules.language:
        yield f"language {rules.language}: the answer is in {spoken or 'an unknown language'}: {shown}"


def _wrong_calls(rules: CaseRules, calls: Sequence[ObservedCall]) -> Iterator[str]:
    made = ", ".join(f"{call.tool} {_shorten(call.arguments)}" for call in calls) or "none"
    for wanted in rules.calls:
        if not any(_fits(call, wanted) for call in calls):
            yield f"calls {_as_words(wanted)}: the calls are: {made}"
    for unwanted in rules.does_not_call:
        found = next((call for call in calls if _fits(call, unwanted)), None)
        if found is not None:
            yield f"does_not_call {_as_words(unwanted)}: it was called with {_shorten(found.arguments)}"


def _over_limits(rules: CaseRules, seen: Observed) -> Iterator[str]:
    if rules.max_steps is not None and seen.steps > rules.max_steps:
        yield f"max_steps {rules.max_steps}: there are {seen.steps}"
    if rules.max_seconds is not None and seen.seconds > rules.max_seconds:
        yield f"max_seconds {rules.max_seconds:g}: it took {seen.seconds:.1f} s"
    if rules.max_cost is not None:
        if seen.cost_microusd is None:
            yield f"max_cost {rules.max_cost:g}: the model has no price; set model.prices"
        elif seen.cost_microusd > rules.max_cost * 1_000_000:
            yield f"max_cost {rules.max_cost:g}: it cost ${seen.cost_microusd / 1_000_000:.6f}"


def _fits(call: ObservedCall, wanted: CalledTool) -> bool:
    return call.tool == wanted.tool and is_part(wanted.arguments, read_object(call.arguments) or {})


def is_part(part: JsonValue | Mapping[str, JsonValue], whole: object) -> bool:
    """Return True if a value is equal to another, or an object whose members are part of the other's."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            name in whole and is_part(value, whole[name]) for name, value in part.items()
        )
    return part == whole and isinstance(part, bool) == isinstance(whole, bool)


def _as_words(called: CalledTool) -> str:
    return f"{called.tool} {dict(called.arguments)}" if called.arguments else called.tool


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_CHARS else f"{flat[:SHOWN_CHARS]}…"
