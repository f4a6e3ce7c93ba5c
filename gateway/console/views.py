"""The console's pages: their data from the operators' service, and their templates in the visitor's language."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from agent.replay.steps import StepPair
from gateway.console.logins import ConsoleVisitor
from gateway.console.settings_page import ConsoleSettings
from gateway.operators.actions import OperationRefused
from gateway.operators.models import (
    MAX_WHO_CHARS,
    AuditQuery,
    ConversationLine,
    ConversationsQuery,
    HopLine,
    InboxQuery,
    MemoriesQuery,
    OutboxQuery,
    SchedulesQuery,
    SummaryQuery,
    TasksQuery,
    TimelineQuery,
    TurnLine,
    UsageByQuery,
)
from gateway.operators.replay_models import Replay, TurnQuery
from gateway.operators.service import Operators
from gateway.safety.names import place_of_session, second, short, short_of
from gateway.store.reports import NEED_SOMEBODY
from gateway.texts import HARNESS
from gateway.threads import run_in_thread

MOST_DAYS = 366

CODE = re.compile(r"`([^`]+)`")
LONG_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-([0-9a-f]{12})|([0-9a-f]{20,})")
BRIEF_CHARS = 6  # of a long id


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
            "brief": _brief,
            "place": _place,
            "isolated": lambda name: f"\u2068{name}\u2069",  # right-to-left names keep to themselves
            "spaced": lambda name: name.replace("_", " "),
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


@pass_context
def _when(context: Context, at: datetime | str) -> Markup:
    """Format an instant in the visitor's zone; the element says it in UTC, too."""
    instant = datetime.fromisoformat(at) if isinstance(at, str) else at
    iso, shown = instant.astimezone(UTC).isoformat(), instant.astimezone(context["zone"]).isoformat()
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(iso, second(iso), second(shown))


def _brief(text: str) -> Markup:
    """Return a text with the long ids in it cut; the element says it whole, too."""
    brief = LONG_ID.sub(lambda found: short(found[1]) if found[1] else f"{found[2][:BRIEF_CHARS]}…", text)
    return escape(text) if brief == text else Markup('<span title="{}">{}</span>').format(text, brief)


def _place(key: str) -> Markup:
    """Return the place of a session; the element says its key, too."""
    return Markup('<span title="{}">{}</span>').format(key, place_of_session(key))


def _span(later: datetime, earlier: datetime) -> str:
    """Format the time between two instants."""
    took_s = (later - earlier).total_seconds()
    return f"+{took_s:.2f} s" if took_s < 100 else f"+{_ago(took_s)}"


WEB_CHAT = "web:main"
"""The web chat among the parts of the status."""

GROUPINGS = ("person", "model", "channel")
"""The things by which the page of usage sums; its charts show the days."""

MOST_DIGITS = 6  # of a page's number
MOST_GROUPS = 100
MOST_ROWS = 50
MOST_BESIDE = 5  # turns beside the chat
MOST_SHOWN = 10  # conversations, schedules or memories on a person's page
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
    timezone: str  # IANA name of the browser's
    chat: str  # of this browser in the web chat; "": none yet
    given: Mapping[str, str]  # the form that was refused; empty: none
    problem: str  # why
    replay: Replay | None = None  # of the turn that the page shows, just made

    @property
    def by(self) -> str:
        return self.visitor.by


@dataclass(frozen=True, slots=True)
class View:
    """One page of the console."""

    data: Callable[[WantedPage], Awaitable[Data]]
    every_s: int | None = None  # seconds between refreshes; None: no refresh
    nav: str = ""  # the page to highlight in the navigation; "": its own


def views(config: ConsoleSettings, log: Log) -> dict[str, View]:
    """Return all pages by name."""

    async def show_config(wanted: WantedPage) -> Data:
        if not wanted.visitor.sees_all:
            return {"lines": (), "tables": {}, "problem": wanted.problem}
        tables = await run_in_thread(config.tables) if wanted.visitor.kind == "cli" else {}
        return {"lines": config.lines(), "tables": tables, "given": wanted.given, "problem": wanted.problem}

    async def show_log(wanted: WantedPage) -> Data:
        level = wanted.query.get("level", "")
        events = [
            event for event in (log() if wanted.visitor.sees_all else ()) if not level or event.get("level") == level
        ]
        return {"events": [_log_line(event) for event in events[::-1][:MOST_LINES]], "level": level}

    return {
        "overview": View(_overview, 4),
        "people": View(_people),
        "person": View(_person, nav="people"),
        "sessions": View(_sessions, 10),
        "session": View(_session, 3, "sessions"),
        "turn": View(_turn, nav="sessions"),
        "chat": View(_chat, 1),
        "schedules": View(_schedules, 10),
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
    status = await wanted.operators.status(wanted.by)
    is_machine = wanted.visitor.kind == "cli"
    trusted = (await wanted.operators.list_trusted(wanted.by)).trusted if is_machine else ()
    return {"status": status, "failed": failed.parts, "trusted": trusted}


async def _people(wanted: WantedPage) -> Data:
    words = wanted.query.get("q", "").strip()
    number = wanted.query.get("page", "1")
    page = int(number) if number.isascii() and number.isdigit() and 0 < len(number) <= MOST_DIGITS else 0
    if not page:
        raise OperationRefused("ops.no_number", name="page", least=1, most=10**MOST_DIGITS - 1)
    found = await wanted.operators.find_users(wanted.by, words, page)
    asking = await wanted.operators.list_requests(wanted.by)
    return {"found": found, "page": page, "q": words, "requests": asking.requests}


async def _person(wanted: WantedPage) -> Data:
    id_ = wanted.query.get("id", "")[:MAX_WHO_CHARS]
    do, by = wanted.operators, wanted.by
    user = next((user for user in (await do.find_users(by, id_)).users if user.user == id_), None)
    if user is None:
        raise OperationRefused("ops.nobody")
    sessions = (await do.list_conversations(by, ConversationsQuery(limit=MOST_SHOWN, person=id_))).sessions
    schedules = (await do.list_schedules(by, SchedulesQuery(limit=MOST_SHOWN, user=id_))).schedules
    memories = []
    if wanted.visitor.kind == "cli":  # only this machine reads memories
        for agent in sorted({session.agent for session in sessions}):
            page = await do.read_memories(by, id_, MemoriesQuery(agent=agent))
            memories += [(agent, memory) for memory in page.memories[:MOST_SHOWN]]
    return {"user": user, "sessions": sessions, "schedules": schedules, "memories": memories}


async def _schedules(wanted: WantedPage) -> Data:
    schedules = await wanted.operators.list_schedules(wanted.by, SchedulesQuery(limit=MOST_ROWS))
    tasks = await wanted.operators.list_tasks(wanted.by, TasksQuery(limit=MOST_ROWS))
    return {"schedules": schedules.schedules, "tasks": tasks.tasks}


async def _sessions(wanted: WantedPage) -> Data:
    person = wanted.query.get("person", "").strip()[:MAX_WHO_CHARS]
    asked = ConversationsQuery(limit=MOST_ROWS, person=person or None)
    found = (await wanted.operators.list_conversations(wanted.by, asked)).sessions
    return {"sessions": found, "person": found[0].person if found and person else person}


async def _session(wanted: WantedPage) -> Data:
    return await _timeline(wanted, wanted.query.get("id", ""), 30)


async def _turn(wanted: WantedPage) -> Data:
    shown = await wanted.operators.show_turn(wanted.by, wanted.query.get("id", ""), TurnQuery())
    status = await wanted.operators.status(wanted.by)
    replay = wanted.replay
    steps = [StepPair(step, None, ()) for step in shown.run.steps] if replay is None else replay.steps
    runs = {"recorded": shown.run.figures} | ({} if replay is None else {"replayed": replay.replayed})
    return {"shown": shown, "models": [*(status.models or {})], "replay": replay, "steps": steps, "runs": runs}


async def _timeline(wanted: WantedPage, id_: str, most_turns: int) -> Data:
    found = await wanted.operators.show_conversation(wanted.by, id_, TimelineQuery(turns=most_turns))
    hops: dict[str | None, list[HopLine]] = {}
    for hop in found.hops:
        hops.setdefault(hop.turn, []).append(hop)
    families: list[list[TurnLine]] = []
    for turn in found.turns:
        if turn.parent is None:
            families.append([])
        families[-1].append(turn)
    return {"session": found.session, "turns": [turn for family in reversed(families) for turn in family], "hops": hops}


async def _chat(wanted: WantedPage) -> Data:
    status = await wanted.operators.status(wanted.by)
    has_page = WEB_CHAT in (status.parts or {})
    sessions: Sequence[ConversationLine] = ()
    if has_page and wanted.chat:
        mine = ConversationsQuery(limit=MOST_SHOWN, person=f"web:{wanted.chat}")
        with suppress(OperationRefused):  # this browser has said nothing yet
            sessions = (await wanted.operators.list_conversations(wanted.by, mine)).sessions
    last = next((session for session in sessions if session.key.endswith(wanted.chat)), None)
    shown: Data = {"turns": [], "hops": {}} if last is None else await _timeline(wanted, last.id, MOST_BESIDE)
    return shown | {"has_page": has_page}


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
        raise OperationRefused("ops.no_number", name="days", least=1, most=MOST_DAYS)
    found = await wanted.operators.usage_summary(wanted.by, SummaryQuery(days=number, timezone=wanted.timezone))
    sums = found.days.values()
    charts = {
        "days": [day.isoformat() for day in found.days],
        "tokens": [total.tokens for total in sums],
        "calls": [total.calls for total in sums],
    }
    if any(total.microusd is not None for total in sums):
        charts["microusd"] = [total.microusd or 0 for total in sums]
    used = [(day, total) for day, total in [*found.days.items()][::-1] if total.calls]
    by = wanted.query.get("by", "person")
    if by not in GROUPINGS:
        raise OperationRefused("ops.no_grouping", given=by, known=", ".join(GROUPINGS))
    groups = await wanted.operators.usage_by(wanted.by, UsageByQuery.model_validate({"days": number, "by": by}))
    shown = {"rows": groups.rows[:MOST_GROUPS], "count": len(groups.rows), "by": by, "groupings": GROUPINGS}
    return shown | {"days": days, "used": used, "charts": charts}


async def _audit(wanted: WantedPage) -> Data:
    about = wanted.query.get("about", "").strip()
    found = await wanted.operators.read_audit(wanted.by, AuditQuery(about=about))
    return {"rows": found.changes, "about": about}
