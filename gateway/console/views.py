"""The console's pages: their data from the operators' service, and their templates in the visitor's language."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gateway.console.logins import ConsoleVisitor
from gateway.operators.models import (
    MAX_WHO_CHARS,
    AuditQuery,
    ConversationsQuery,
    HopLine,
    InboxQuery,
    OutboxQuery,
    TimelineQuery,
    TurnLine,
    UsageQuery,
)
from gateway.operators.service import Operators
from gateway.safety.names import second, short, short_of
from gateway.store.reports import NEED_SOMEBODY
from gateway.texts import HARNESS, TranslatedError

MOST_DAYS = 366

CODE = re.compile(r"`([^`]+)`")


class ConsoleTemplates:
    """The templates, loaded when the first page is rendered."""

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(loader=PackageLoader("gateway.console"), autoescape=True, undefined=StrictUndefined)
        made.trim_blocks = made.lstrip_blocks = True
        made.filters |= {
            "when": _when,
            "short": short,
            "short_of": short_of,
            "usd": _usd,
            "ago": _ago,
            "json_text": json.dumps,
            "span": _span,
            "code": _code,
        }
        return made

    def draw(self, template: str, locale: str | None, data: Mapping[str, object]) -> str:
        """Render a page or a part; `t` and `plural` give it its texts."""
        words = {"t": partial(HARNESS.text, locale), "plural": partial(HARNESS.plural, locale)}
        return self._templates.get_template(template).render({**data, **words})


def _code(words: str) -> Markup:
    """Escape a text and turn `backticks` into code elements."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  escaped first


def _usd(microusd: object) -> str:
    """Format a cost; "" if it is unknown."""
    return f"${microusd / 1_000_000:,.4f}" if isinstance(microusd, int) else ""


def _ago(seconds: object) -> str:
    passed = int(seconds) if isinstance(seconds, int | float) else 0
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if passed >= size:
            return f"{passed // size} {unit}"
    return f"{passed} s"


def _when(at: datetime | str) -> str:
    return second(at if isinstance(at, str) else at.isoformat())


def _span(later: datetime, earlier: datetime) -> str:
    """Format the time between two instants."""
    took_s = (later - earlier).total_seconds()
    return f"+{took_s:.2f} s" if took_s < 100 else f"+{_ago(took_s)}"


MOST_ROWS = 50
MOST_LINES = 200
MOST_CHARS = 500  # of one fact in a log line

Data = dict[str, object]
Log = Callable[[], Sequence[Mapping[str, object]]]
"""The newest events, oldest first."""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page that a visitor requests."""

    visitor: ConsoleVisitor
    query: Mapping[str, str]
    operators: Operators

    @property
    def by(self) -> str:
        return self.visitor.by


@dataclass(frozen=True, slots=True)
class View:
    """One page of the console."""

    data: Callable[[WantedPage], Awaitable[Data]]
    every_s: int | None = None  # seconds between refreshes; None: no refresh
    nav: str = ""  # the page to highlight in the navigation; "": its own


def views(config: Callable[[], Sequence[str]], log: Log) -> dict[str, View]:
    """Return all pages by name; `config` returns the lines of `tenk config show`."""

    async def show_config(wanted: WantedPage) -> Data:
        return {"lines": config() if wanted.visitor.sees_all else ()}

    async def show_log(wanted: WantedPage) -> Data:
        level = wanted.query.get("level", "")
        events = [
            event for event in (log() if wanted.visitor.sees_all else ()) if not level or event.get("level") == level
        ]
        return {"events": [_log_line(event) for event in events[::-1][:MOST_LINES]], "level": level}

    return {
        "overview": View(_overview, 4),
        "people": View(_people),
        "sessions": View(_sessions, 10),
        "session": View(_session, 3, "sessions"),
        "inbox": View(_inbox, 5),
        "outbox": View(_outbox),
        "usage": View(_usage),
        "audit": View(_audit),
        "config": View(show_config),
        "logs": View(show_log, 3),
    }


def _log_line(event: Mapping[str, object]) -> Data:
    facts = {name: str(value)[:MOST_CHARS] for name, value in event.items()}
    shown: Data = {"at": facts.pop("timestamp", ""), "level": facts.pop("level", "")}
    return shown | {"event": facts.pop("event", ""), "facts": facts}


async def _overview(wanted: WantedPage) -> Data:
    failed = await wanted.operators.list_outbox(wanted.by, OutboxQuery(limit=MOST_ROWS))
    return {"status": await wanted.operators.status(wanted.by), "failed": failed.parts}


async def _people(wanted: WantedPage) -> Data:
    words = wanted.query.get("q", "").strip()
    found = await wanted.operators.find_users(wanted.by, words)
    asking = await wanted.operators.list_requests(wanted.by)
    return {"users": found.users, "count": found.count, "q": words, "requests": asking.requests}


async def _sessions(wanted: WantedPage) -> Data:
    person = wanted.query.get("person", "").strip()[:MAX_WHO_CHARS]
    asked = ConversationsQuery(limit=MOST_ROWS, person=person or None)
    found = (await wanted.operators.list_conversations(wanted.by, asked)).sessions
    return {"sessions": found, "person": found[0].person if found and person else person}


async def _session(wanted: WantedPage) -> Data:
    id_ = wanted.query.get("id", "")
    found = await wanted.operators.show_conversation(wanted.by, id_, TimelineQuery(turns=30))
    hops: dict[str | None, list[HopLine]] = {}
    for hop in found.hops:
        hops.setdefault(hop.turn, []).append(hop)
    families: list[list[TurnLine]] = []
    for turn in found.turns:
        if turn.parent is None:
            families.append([])
        families[-1].append(turn)
    return {"session": found.session, "turns": [turn for family in reversed(families) for turn in family], "hops": hops}


async def _inbox(wanted: WantedPage) -> Data:
    outcome = wanted.query.get("outcome", "")
    found = await wanted.operators.list_inbox(wanted.by, InboxQuery(outcome=outcome or None, limit=MOST_ROWS))
    return {"rows": found.rows, "outcome": outcome}


async def _outbox(wanted: WantedPage) -> Data:
    state = wanted.query.get("state", "")
    asked = OutboxQuery(state=state or ",".join(NEED_SOMEBODY), limit=MOST_ROWS)
    return {"rows": (await wanted.operators.list_outbox(wanted.by, asked)).parts, "state": state}


async def _usage(wanted: WantedPage) -> Data:
    days = wanted.query.get("days", "14")
    number = int(days) if days.isascii() and days.isdigit() and len(days) <= 3 else 0
    if not 0 < number <= MOST_DAYS:
        raise TranslatedError("ops.no_number", name="days", least=1, most=MOST_DAYS)
    found = await wanted.operators.usage_summary(wanted.by, UsageQuery(days=number))
    at = [int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) for day in found.days]
    sums = found.days.values()
    charts = {
        "at": at,
        "tokens": [day.tokens for day in sums],
        "microusd": [day.microusd for day in sums],
        "calls": [day.calls for day in sums],
    }
    return {"rows": found.rows[::-1], "days": days, "by_day": found.days, "charts": charts}


async def _audit(wanted: WantedPage) -> Data:
    about = wanted.query.get("about", "").strip()
    found = await wanted.operators.read_audit(wanted.by, AuditQuery(about=about))
    return {"rows": found.changes, "about": about}
