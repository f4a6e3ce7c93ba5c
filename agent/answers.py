"""A person whose turn does not end well reads why, in their language; never a stack trace, never a key."""

import math
from collections.abc import Sequence
from datetime import datetime

from agent.budgets import OverBudget
from agent.calendar import zone_of
from agent.catalogue import Catalogue
from agent.errors import FailureKind
from agent.pictures import Unseen
from agent.ports import ModelFailure, Principal
from agent.transcript import EndReason, Item, UserItem

_FAILURES = {
    FailureKind.AUTH: "answer.failed_auth",
    FailureKind.QUOTA: "answer.failed_quota",
    FailureKind.BAD_REQUEST: "answer.failed_bad_request",
    FailureKind.CONTEXT: "answer.alone_context_exhausted",
    FailureKind.TIMEOUT: "answer.alone_timeout",
}


_BY_RULES = {FailureKind.AUTH: "answer.by_rules_auth", FailureKind.QUOTA: "answer.by_rules_quota"}


def end_note(texts: Catalogue, reason: EndReason, said: str, locale: str | None) -> str:
    """What the harness says of a turn that ends for this reason with this much said; "" only behind an answer."""
    if not said.strip():
        return texts.text(locale, f"answer.alone_{reason.value}")
    return "" if reason is EndReason.COMPLETED else texts.text(locale, f"answer.note_{reason.value}")


def by_rules_text(texts: Catalogue, why: FailureKind, locale: str | None) -> str:
    """What is said first by rules that answer in the place of a model that failed like this."""
    return texts.text(locale, _BY_RULES.get(why, "answer.by_rules_down"))


def failure_text(texts: Catalogue, failure: ModelFailure, locale: str | None) -> str:
    """What the person reads of a model that failed."""
    if (key := _FAILURES.get(failure.kind)) is not None:
        return texts.text(locale, key)
    if (busy_s := busy_for_s(failure)) is not None:
        return texts.text(locale, "answer.busy", minutes=max(1, math.ceil(busy_s / 60)))
    return texts.text(locale, "answer.unreachable")


def over_budget_text(texts: Catalogue, over: OverBudget, now: datetime, principal: Principal) -> str:
    """What the person reads where a cap is reached: whose it is, and when on their clock it starts anew."""
    if over.resets_at is None:
        return texts.text(principal.locale, "answer.over_budget_turn")
    key = "answer.over_budget_user" if over.scope == "user" else "answer.over_budget_shared"
    hours = max(1, math.ceil((over.resets_at - now).total_seconds() / 3600))
    at = over.resets_at.astimezone(zone_of(principal.timezone))
    return texts.plural(principal.locale, key, hours, time=f"{at:%H:%M}")


def busy_for_s(failure: ModelFailure) -> float | None:
    """In how many seconds a busy model may be asked again, 0 where it does not say; None: it is not busy."""
    if failure.kind in _FAILURES:
        return None
    if failure.retry_after_s is not None or failure.kind in {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED}:
        return failure.retry_after_s or 0.0
    return None


def with_note(said: str, note: str) -> str:
    """The whole that the person reads."""
    return "\n\n".join(part for part in (said.rstrip() if note else said, note) if part.strip())


def expired_calls_text(texts: Catalogue, tools: Sequence[str], locale: str | None) -> str:
    """What the person is told of calls that they did not confirm in time."""
    return texts.text(locale, "answer.calls_expired", tools=", ".join(tools))


def pictures_text(texts: Catalogue, said: Sequence[Item], before: Sequence[Item], locale: str | None) -> str:
    """What the person is told of pictures that the model did not see; that it sees none once a conversation.

    Of a picture without a word beside it a model that sees none speaks itself.
    """
    unseen = {picture.unseen for item in _user_items(said) for picture in item.pictures}
    told = {picture.unseen for item in _user_items(before) for picture in item.pictures}
    if Unseen.BLIND in told or not any(item.text.strip() for item in _user_items(said)):
        unseen.discard(Unseen.BLIND)
    why = [each for each in Unseen if each in unseen and each is not Unseen.OLDER]
    return " ".join(texts.text(locale, f"answer.picture_{each.value}") for each in why)


def _user_items(items: Sequence[Item]) -> list[UserItem]:
    return [item for item in items if isinstance(item, UserItem)]


def unknown_calls_text(texts: Catalogue, tools: Sequence[str], locale: str | None) -> str:
    """What the person is told of calls that may have happened."""
    return texts.text(locale, "answer.calls_unknown", tools=", ".join(tools))
