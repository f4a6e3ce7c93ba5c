"""Puts the answers of the control socket's calls as the template of each page of the console wants them, and draws it.

Pure but for those calls. A page is in its visitor's language. Who may look is `gateway.console.doors`' matter.
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import JsonValue

from gateway.console.doors import ConsoleVisitor
from gateway.safety.names import second, short, short_of
from gateway.texts import HARNESS

CODE = re.compile(r"`([^`]+)`")


class ConsoleTemplates:
    """The templates, read when the first page is drawn."""

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(loader=PackageLoader("gateway.console"), autoescape=True, undefined=StrictUndefined)
        made.trim_blocks = made.lstrip_blocks = True
        made.filters |= {
            "when": second, "short": short, "short_of": short_of, "usd": _usd, "ago": _ago, "json_text": json.dumps,
            "span": _span, "code": _code,
        }  # fmt: skip
        return made

    def draw(self, template: str, locale: str | None, data: Mapping[str, object]) -> str:
        """A page or part with `t` and `plural` for its words."""
        words = {"t": partial(HARNESS.text, locale), "plural": partial(HARNESS.plural, locale)}
        return self._templates.get_template(template).render({**data, **words})


def _code(words: str) -> Markup:
    """Words in which what stands between backticks is code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(words))))  # noqa: S704  escaped first


def _usd(microusd: object) -> str:
    """A cost; "" where it is unknown."""
    return f"${microusd / 1_000_000:,.4f}" if isinstance(microusd, int) else ""


def _ago(seconds: object) -> str:
    passed = int(seconds) if isinstance(seconds, int | float) else 0
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if passed >= size:
            return f"{passed // size} {unit}"
    return f"{passed} s"


def _span(later: object, earlier: object) -> str:
    """How long from one instant to the other."""
    took_s = (datetime.fromisoformat(str(later)) - datetime.fromisoformat(str(earlier))).total_seconds()
    return f"+{took_s:.2f} s" if took_s < 100 else f"+{_ago(took_s)}"


MOST_ROWS = 50
MOST_LINES = 200
MOST_CHARS = 500  # of one fact in a line of the log

Data = dict[str, object]
Handler = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]
Handlers = Mapping[str, Handler]
Log = Callable[[], Sequence[Mapping[str, object]]]
"""The newest events, oldest first."""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page that somebody wants."""

    visitor: ConsoleVisitor
    query: Mapping[str, str]
    calls: Handlers

    async def rows(self, name: str, arguments: dict[str, JsonValue] | None = None) -> list[dict[str, JsonValue]]:
        """The objects that a call lists."""
        return _list_of(await self.calls[name](arguments or {}))

    async def item(self, name: str, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The one object that a call answers."""
        [item] = _list_of([await self.calls[name](arguments)])
        return item


@dataclass(frozen=True, slots=True)
class View:
    """One kind of page."""

    data: Callable[[WantedPage], Awaitable[Data]]
    every_s: int | None = None  # how often it renews itself; None: when it is asked
    nav: str = ""  # under which of the pages it stands; "": its own


def views(config: Callable[[], Sequence[str]], log: Log) -> dict[str, View]:
    """Every page by its name; `config` is each key as `tenk config show` prints it."""

    async def show_config(wanted: WantedPage) -> Data:
        return {"lines": config() if wanted.visitor.sees_all else ()}

    async def show_log(wanted: WantedPage) -> Data:
        level = wanted.query.get("level", "")
        events = [
            event for event in (log() if wanted.visitor.sees_all else ()) if not level or event.get("level") == level
        ]
        return {"events": [_log_line(event) for event in events[::-1][:MOST_LINES]], "level": level}

    return {
        "overview": View(_overview, 4), "people": View(_people), "sessions": View(_sessions, 10),
        "session": View(_session, 3, "sessions"), "inbox": View(_inbox, 5), "outbox": View(_outbox),
        "usage": View(_usage), "audit": View(_audit), "config": View(show_config), "logs": View(show_log, 3),
    }  # fmt: skip


def _log_line(event: Mapping[str, object]) -> Data:
    facts = {name: str(value)[:MOST_CHARS] for name, value in event.items()}
    shown: Data = {"at": facts.pop("timestamp", ""), "level": facts.pop("level", "")}
    return shown | {"event": facts.pop("event", ""), "facts": facts}


async def _overview(wanted: WantedPage) -> Data:
    failed = await wanted.rows("outbox.list", _in_states("dead", "unknown"))
    return {"status": await wanted.calls["status"]({}), "failed": failed}


async def _people(wanted: WantedPage) -> Data:
    words = wanted.query.get("q", "").strip()
    found = await wanted.item("users.find", {"words": words})
    return {**found, "q": words, "requests": await wanted.rows("pairing.list")}


async def _sessions(wanted: WantedPage) -> Data:
    arguments: dict[str, JsonValue] = {"most": MOST_ROWS}
    person = wanted.query.get("person", "").strip()
    if person:
        arguments["person"] = person
    found = await wanted.rows("sessions.list", arguments)
    return {"sessions": found, "person": found[0]["person"] if found and person else person}


async def _session(wanted: WantedPage) -> Data:
    found = await wanted.item("sessions.show", {"id": wanted.query.get("id", ""), "turns": 30})
    hops: dict[object, list[object]] = {}
    for hop in _list_of(found["hops"]):
        hops.setdefault(hop["turn"], []).append(hop)
    return {"session": found["session"], "turns": _list_of(found["turns"])[::-1], "hops": hops}


def _list_of(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


async def _inbox(wanted: WantedPage) -> Data:
    arguments: dict[str, JsonValue] = {"limit": MOST_ROWS}
    outcome = wanted.query.get("outcome", "")
    if outcome:
        arguments["outcome"] = outcome
    return {"rows": await wanted.rows("inbox.list", arguments), "outcome": outcome}


def _in_states(*states: str) -> dict[str, JsonValue]:
    return {"limit": MOST_ROWS, **({"states": list(states)} if states else {})}


async def _outbox(wanted: WantedPage) -> Data:
    state = wanted.query.get("state", "")
    return {"rows": await wanted.rows("outbox.list", _in_states(*([state] if state else ()))), "state": state}


async def _usage(wanted: WantedPage) -> Data:
    days = wanted.query.get("days", "14")
    found = await wanted.item("usage.summary", {"days": days})
    by_day = found["days"] if isinstance(found["days"], dict) else {}
    sums = [day for day in by_day.values() if isinstance(day, dict)]
    at = [int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) for day in by_day]
    series = {name: [day[name] for day in sums] for name in ("tokens", "microusd", "calls")}
    rows = _list_of(found["rows"])
    return {"rows": rows[::-1], "days": days, "by_day": by_day, "charts": {"at": at, **series}}


async def _audit(wanted: WantedPage) -> Data:
    about = wanted.query.get("about", "").strip()
    return {"rows": await wanted.rows("users.audit", {"about": about} if about else {}), "about": about}
