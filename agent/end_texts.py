"""Texts that a person reads if a turn fails, in their language, without stack traces and keys.

If the model cannot report what its tools found or did, the person reads the results themselves. An agent may format its
own results; the rest becomes a plain list.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from agent.budgets import OverBudget
from agent.calendar import zone_of
from agent.catalogue import Catalogue
from agent.errors import FailureKind
from agent.pictures import Unseen
from agent.ports import ModelFailure, Principal, RequestContext
from agent.transcript import (
    WITHHELD,
    CallOutcome,
    EndReason,
    Item,
    JournalEvent,
    ModelResponded,
    ToolResultRewritten,
    ToolReturned,
    UserItem,
)
from agent.wellformed import read_object

_FAILURES = {
    FailureKind.AUTH: "answer.failed_auth",
    FailureKind.QUOTA: "answer.failed_quota",
    FailureKind.BAD_REQUEST: "answer.failed_bad_request",
    FailureKind.CONTEXT: "answer.alone_context_exhausted",
    FailureKind.TIMEOUT: "answer.alone_timeout",
}


_BY_RULES = {FailureKind.AUTH: "answer.by_rules_auth", FailureKind.QUOTA: "answer.by_rules_quota"}


def end_note(texts: Catalogue, reason: EndReason, said: str, locale: str | None, *, refused: bool = False) -> str:
    """Return the harness's note for a turn that ended for this reason; "" if the answer needs none."""
    if not said.strip():
        return texts.text(locale, f"answer.alone_{reason.value}")
    if refused and reason is EndReason.COMPLETED:
        return texts.text(locale, "answer.note_refused")
    return "" if reason is EndReason.COMPLETED else texts.text(locale, f"answer.note_{reason.value}")


def by_rules_text(texts: Catalogue, why: FailureKind | OverBudget, context: RequestContext | None) -> str:
    """Return the note above an answer of the offline rules: why they answer in place of the model."""
    locale = None if context is None else context.locale
    if isinstance(why, FailureKind):
        return texts.text(locale, _BY_RULES.get(why, "answer.by_rules_down"))
    key = "answer.by_rules_budget_user" if why.scope == "user" else "answer.by_rules_budget_shared"
    at = why.resets_at if why.resets_at is None or context is None else why.resets_at.astimezone(context.now.tzinfo)
    return texts.text(locale, key, time="" if at is None else f"{at:%H:%M}")


def agent_failure_text(texts: Catalogue, failure: ModelFailure, locale: str | None) -> str:
    """Return the sentence that tells the person why an agent of another framework failed."""
    if failure.kind in {FailureKind.AUTH, FailureKind.BAD_REQUEST}:
        return texts.text(locale, "answer.agent_refused")
    if failure.kind in _FAILURES or busy_for_s(failure) is not None:
        return failure_text(texts, failure, locale)  # it names its model's trouble
    return texts.text(locale, "answer.agent_failed")


def failure_text(texts: Catalogue, failure: ModelFailure, locale: str | None) -> str:
    """Return the sentence that tells the person why the model failed."""
    if (key := _FAILURES.get(failure.kind)) is not None:
        return texts.text(locale, key)
    if (busy_s := busy_for_s(failure)) is not None:
        return texts.text(locale, "answer.busy", minutes=max(1, math.ceil(busy_s / 60)))
    return texts.text(locale, "answer.unreachable")


def over_budget_text(texts: Catalogue, over: OverBudget, now: datetime, principal: Principal) -> str:
    """Return the sentence for a reached cap: whose it is, and when it resets on the person's clock."""
    if over.resets_at is None:
        return texts.text(principal.locale, "answer.over_budget_turn")
    key = "answer.over_budget_user" if over.scope == "user" else "answer.over_budget_shared"
    hours = max(1, math.ceil((over.resets_at - now).total_seconds() / 3600))
    at = over.resets_at.astimezone(zone_of(principal.timezone))
    return texts.plural(principal.locale, key, hours, time=f"{at:%H:%M}")


def busy_for_s(failure: ModelFailure) -> float | None:
    """Return the seconds until a busy model may be asked again, 0 if it does not say, None if it is not busy."""
    if failure.kind in _FAILURES:
        return None
    if failure.retry_after_s is not None or failure.kind in {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED}:
        return failure.retry_after_s or 0.0
    return None


def with_note(said: str, note: str) -> str:
    """Join the text of an answer and the note below it."""
    return "\n\n".join(part for part in (said.rstrip() if note else said, note) if part.strip())


def expired_calls_text(texts: Catalogue, tools: Sequence[str], locale: str | None) -> str:
    """Return the sentence for calls that the person did not approve in time."""
    return texts.text(locale, "answer.calls_expired", tools=", ".join(tools))


def pictures_text(texts: Catalogue, said: Sequence[Item], before: Sequence[Item], locale: str | None) -> str:
    """Return the sentence for pictures that the model did not see.

    A model that sees no pictures is mentioned once a conversation; it answers a picture without text itself.
    """
    unseen = {picture.unseen for item in _user_items(said) for picture in item.pictures}
    if not unseen:
        return ""
    told = {picture.unseen for item in _user_items(before) for picture in item.pictures}
    if Unseen.BLIND in told or not any(item.text.strip() for item in _user_items(said)):
        unseen.discard(Unseen.BLIND)
    why = [each for each in Unseen if each in unseen and each is not Unseen.OLDER]
    return " ".join(texts.text(locale, f"answer.picture_{each.value}") for each in why)


def _user_items(items: Sequence[Item]) -> list[UserItem]:
    return [item for item in items if isinstance(item, UserItem)]


def unknown_calls_text(texts: Catalogue, tools: Sequence[str], locale: str | None) -> str:
    """Return the sentence for calls whose outcome is unknown."""
    return texts.text(locale, "answer.calls_unknown", tools=", ".join(tools))


TellResult = Callable[[str, object, str | None, date], str | None]
"""(tool, its data, locale, the person's date) to the text for people; "" hides the result, None lists it plainly."""

MAX_RESULTS = 10
MAX_LINE_CHARS = 300
MAX_CHARS = 3000


def found_text(
    texts: Catalogue, events: Iterable[JournalEvent], tell: TellResult | None, locale: str | None, today: date
) -> str:
    """Return the results of the calls since the turn's last answer, oldest first, or "" if there are none."""
    told: dict[str, None] = {}  # in order, without duplicates
    for returned in _unsaid(events)[-MAX_RESULTS:]:
        data = (read_object(returned.content) or {}).get("data")
        words = None if tell is None else tell(returned.name, data, locale, today)
        if words is None and returned.outcome is CallOutcome.DONE:
            words = _line(returned.name, data)
        told[words or ""] = None
    body = "\n\n".join(words for words in told if words.strip())
    if not body:
        return ""
    if len(body) > MAX_CHARS:
        body = f"{body[:MAX_CHARS].rstrip()} …"
    return f"{texts.text(locale, 'answer.found')}\n\n{body}"


def _unsaid(events: Iterable[JournalEvent]) -> Sequence[ToolReturned]:
    """Return the results since the turn's last answer, the failed ones too: the agent may explain them."""
    found: list[ToolReturned] = []
    for event in events:
        match event:
            case ToolReturned(outcome=CallOutcome.DONE | CallOutcome.FAILED):
                found.append(event if event.ran_with is None else replace(event, content=WITHHELD))
            case ToolResultRewritten(is_cut=False):  # a result that a hook removed is not shown
                key, content = event.call_key, event.content
                found = [replace(each, content=content) if each.call_key == key else each for each in found]
            case ModelResponded(tool_calls=()) if event.text.strip():
                found.clear()
            case _:
                pass
    return found


def _line(tool: str, data: object) -> str:
    """Format a result as one line: the tool's name, then its plain values by name."""
    said = ", ".join(_values(data))
    if not said:
        return ""
    return f"• {tool}: {said}" if len(said) <= MAX_LINE_CHARS else f"• {tool}: {said[:MAX_LINE_CHARS].rstrip()} …"


def _values(data: object, name: str = "", depth: int = 0) -> Iterator[str]:
    match data:
        case None | "":
            return
        case dict() if depth < 3:
            yield from _inner(data, depth)
        case list() if depth < 3:
            for inner in data[:MAX_RESULTS]:
                yield from _values(inner, name, depth + 1)
        case dict() | list():
            return
        case _:
            spelled = " ".join(str(data).split())[: MAX_LINE_CHARS + 1]
            yield f"{name.replace('_', ' ')} {spelled}" if name else spelled


def _inner(data: Mapping[str, object], depth: int) -> Iterator[str]:
    for name, inner in data.items():
        if not name.endswith("id"):  # of no use to a person
            yield from _values(inner, name, depth + 1)
