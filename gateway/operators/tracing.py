"""Traces of a person's messages: each message with its fate in sentences and its hops."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo

from agent.calendar import zone_of
from gateway.operators.actions import OperationRefused
from gateway.operators.finding import find_one, of_sender
from gateway.operators.models import HopLine, Trace, TracedMessage, TracedPerson, TraceQuery
from gateway.store import reports
from gateway.store.heads import Connection
from gateway.store.outbox import Action
from gateway.store.reports import KnownSender, OutboxLine
from gateway.store.tenancy import whose_rows
from gateway.store.timeline import Hop, hops

NEAR = timedelta(minutes=15)
"""Largest distance of a message from the time of day that an operator names."""

MOST_MESSAGES = 20
DAY = timedelta(days=1)
FIRST_YEAR, LAST_YEAR = 1900, 9000  # well inside the range of datetime


def trace_person(connection: Connection, wanted: TraceQuery, now: datetime) -> Trace:
    """Return the messages of a person in a span of time, or their last ones.

    Raises:
        OperationRefused: no such person, more than one, or a time that cannot be read.
    """
    person = find_one(wanted.who, map(of_sender, reports.known_senders(connection, whose_rows())), by_part=True)
    zone = zone_of(person.timezone)
    if wanted.at is None:
        span, rows = None, reports.messages_of(connection, whose_rows(), person, wanted.count)
    else:
        span = since, until = span_of(wanted.at, now, zone)
        rows = reports.messages_of(connection, whose_rows(), person, MOST_MESSAGES + 1, since=since, until=until)
    is_near = span is None or bool(rows)
    if span is not None and not rows:
        rows = _nearest(connection, person, *span)
    return Trace(
        person=TracedPerson(
            user=person.user_id, name=person.name, role=person.role, senders=person.senders, timezone=person.timezone
        ),
        since=span and span[0].astimezone(zone),
        until=span and span[1].astimezone(zone),
        near=is_near,
        more=len(rows) > MOST_MESSAGES,
        messages=tuple(_trace_row(connection, row, now, zone) for row in rows[:MOST_MESSAGES][::-1]),
    )


_AGO = re.compile(r"(\d{1,4}) ?(m|min|minutes?|h|hours?|d|days?) ago")
_DAY_AND_TIME = re.compile(
    r"(?:(today|yesterday|\d{4}-\d\d-\d\d)[ t]*(?:at )?)?(?:(\d{1,2})(?::(\d\d))?(?::\d\d)? ?(am|pm)?)?"
)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def span_of(text: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """Parse a time in this zone: "yesterday 10:00", "10am", "2026-11-22 10:00", "3 h ago"; or a day: "yesterday".

    Return the whole day; or the time with a margin of `NEAR` on both sides.

    Raises:
        OperationRefused: the text is no time.
    """
    wanted = " ".join(text.casefold().split())
    today = now.astimezone(zone).date()
    if ago := _AGO.fullmatch(wanted):
        unit = _UNITS[ago[2][0]]
        if unit != "days":
            return _around(now - timedelta(**{unit: int(ago[1])}))
        wanted = (today - int(ago[1]) * DAY).isoformat()
    found = _DAY_AND_TIME.fullmatch(wanted.removesuffix("z").strip() if wanted[:4].isdigit() else wanted)
    try:
        if found is None or not any(found.groups()):
            raise ValueError(text)
        day, hour, minute, half = found.groups()
        date = {None: today, "today": today, "yesterday": today - DAY}.get(day)
        date = datetime.fromisoformat(day).date() if date is None else date
        if not FIRST_YEAR <= date.year <= LAST_YEAR:
            raise ValueError(text)
        if hour is None:
            return datetime.combine(date, time(), zone), datetime.combine(date + DAY, time(), zone)
        hours = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
        return _around(datetime.combine(date, time(hours, int(minute or 0)), zone))
    except ValueError:
        raise OperationRefused(
            f'{text!r} is not a time; write "yesterday", "yesterday 10:00", "10:00", "2026-11-22 10:00" or "3 h ago"'
        ) from None


def _around(instant: datetime) -> tuple[datetime, datetime]:
    return instant.astimezone(UTC) - NEAR, instant.astimezone(UTC) + NEAR


def _nearest(connection: Connection, person: KnownSender, since: datetime, until: datetime) -> list[reports.InboxLine]:
    """Return the person's nearest message on either side of a span, newest first."""
    earlier = reports.messages_of(connection, whose_rows(), person, 1, until=since)
    later = reports.messages_of(connection, whose_rows(), person, 1, since=until, oldest=True)
    return [*later, *earlier]


def _trace_row(connection: Connection, row: reports.InboxLine, now: datetime, zone: tzinfo) -> TracedMessage:
    found = hops(connection, whose_rows(), inbox_ids=[row.id])
    own = [hop for hop in found if hop.turn_id in (None, row.turn)]  # without its tasks
    asked = reports.pairing_state(connection, whose_rows(), row) if row.user is None else None
    ids = {id_ for hop in found if isinstance(id_ := hop.facts.get("outbox_id"), int)}
    parts = reports.outbox_by_id(connection, whose_rows(), ids)
    return TracedMessage(
        row=row.id,
        at=row.admitted_at.astimezone(zone),
        account=row.account,
        chat=row.chat,
        kind=row.kind,
        outcome=row.outcome,
        turn=row.turn,
        verdict=(decision_text(row, own, asked, now), *delivery_texts(parts)),
        hops=tuple(to_hop(hop, zone) for hop in found),
    )


SENTENCES: Mapping[str, str] = {
    "merged": "Joined the turn of an earlier message{took}: one answer for both.",
    "refused": "Refused, not answered: {why}.",
    "cleared": "Cleared{took}, not answered: {why}.",
    "context": "Kept as context, not meant to be answered: {why}.",
    "replaced": "Replaced{took} by an edit with a new text.",
    "quarantined": "Set aside, because it could not be read: {why}.",
}
"""Outcome -> sentence, if the inbox row alone tells it."""


def decision_text(row: reports.InboxLine, way: Iterable[Hop], asked: str | None, now: datetime) -> str:
    """Describe the outcome of a message and its reason. `asked` is the state of a stranger's pairing request."""
    took = "" if row.done_at is None else f" after {_seconds(row.done_at - row.admitted_at)}"
    why = row.detail or "no reason was recorded"
    ended = next((hop for hop in reversed([*way]) if hop.name == "turn_ended"), None)
    if row.outcome == reports.OPEN:
        return _waits(row, way, now)
    if row.outcome == "answered":
        return f"Answered{took}{_cut_short(ended)}{_fallback_note(way)}."
    if row.outcome == "failed":
        return f"Failed{took}, and the person got an apology: {_failure(way, ended) or why}."
    if row.detail == "pairing":
        return f"Not answered: the sender had no access ({asked or 'they were asked to pair'})."
    return SENTENCES.get(row.outcome, "{outcome}{took}: {why}.").format(outcome=row.outcome, took=took, why=why)


def _waits(row: reports.InboxLine, way: Iterable[Hop], now: datetime) -> str:
    waited = _seconds(now - row.admitted_at)
    last = [hop for hop in way if hop.turn_id is not None and hop.inbox_id is None and hop.name != "handed_over"]
    if row.turn is None:
        wait = f"it has waited for {waited} and no turn has started"
        return f"Not answered yet: {wait}. Is a gateway running (`tenk status`)?"
    if last and last[-1].name == "parked" and not last[-1].facts.get("approval"):
        return "Not answered yet: its turn waits for the result of a task."
    if last and last[-1].name == "parked":
        return f"Not answered yet: its turn waits for the person's approval of {last[-1].facts.get('tool', 'a tool')}."
    step = f"; its last step is {last[-1].name.replace('_', ' ')}" if last else ""
    again = f", attempt {row.attempts} since its last step" if row.attempts > 1 else ""
    end = "If no gateway runs (`tenk status`), the next start resumes it."
    return f"Not answered yet: its turn began {waited} ago{again}{step}. {end}"


def _cut_short(ended: Hop | None) -> str:
    """Return why an answered turn was cut short; "" if it was not."""
    if ended is None or ended.facts.get("reason") == "completed":
        return ""
    why = f": {ended.facts['why']}" if ended.facts.get("why") else ""
    return f", but the turn was cut short ({ended.facts.get('reason')}{why})"


def _fallback_note(way: Iterable[Hop]) -> str:
    """Return the fallback model that answered, and why the first one did not; "" if the first answered."""
    changes = [hop.facts for hop in way if hop.name == "recovered" and hop.facts.get("fallback") == "next_model"]
    if not changes:
        return ""
    failed = "; ".join(str(facts.get("why") or "a model failed") for facts in changes)
    return f" by {changes[-1].get('detail')}, because the first model failed ({failed})"


def _failure(way: Iterable[Hop], ended: Hop | None) -> str:
    """Return why the turn failed, and after how many attempts."""
    tries = sum(hop.name == "recovered" and hop.facts.get("fallback") in ("retried", "unstreamed") for hop in way)
    if ended is None:
        return ""
    why = str(ended.facts.get("why") or ended.facts.get("reason") or "")
    return f"{why}, tried {tries + 1} times" if tries else why


def delivery_texts(parts: Sequence[OutboxLine]) -> list[str]:
    """Describe the delivery of an answer: one sentence for the parts in each state; placeholders are none."""
    said = [part for part in parts if part.action != Action.PLACEHOLDER]
    of: dict[str, list[OutboxLine]] = {}
    for part in said:
        of.setdefault("parked" if part.parked else part.state, []).append(part)
    return [_delivery_text(state, found, len(said)) for state, found in of.items()]


def _delivery_text(state: str, parts: Sequence[OutboxLine], all_: int) -> str:
    part, ids = parts[0], ", ".join(str(part.id) for part in parts)
    which = f"{len(parts)} of {all_} part{'s' if all_ > 1 else ''} (outbox {ids})"
    error = f": {part.error}" if part.error else ""
    match state:
        case "sent":
            doubled = "; an earlier attempt may have arrived, too" if part.maybe_doubled else ""
            return f"Delivered: {which}, the platform's id {part.platform_id}{doubled}."
        case "dead":
            return f"NOT delivered, given up: {which}{error}. `tenk outbox retry {part.id}` sends it again."
        case "unknown":
            look = f"Check the chat, then `tenk outbox retry {part.id}`, or `discard`."
            return f"It may have arrived: {which}{error}. {look}"
        case "discarded":
            return f"Discarded by an operator, or not needed: {which}{error}."
        case "parked":
            return f"NOT delivered: {which}; the chat is paused until the person writes again: {part.parked}."
        case _:
            return f"On its way: {which}{error}; `tenk outbox show {part.id}` shows more."


def _seconds(took: timedelta) -> str:
    seconds = took.total_seconds()
    return (
        f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def to_hop(hop: Hop, zone: tzinfo = UTC) -> HopLine:
    """Return a hop as operators see it, its instant in a zone."""
    return HopLine(
        at=hop.at.astimezone(zone), hop=hop.name, turn=hop.turn_id, inbox=hop.inbox_id, facts=dict(hop.facts)
    )
