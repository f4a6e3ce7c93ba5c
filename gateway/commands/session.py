"""Commands about the conversation and the person: `/start /new /stop /btw /retry /mode /timezone /language`."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from unicodedata import combining, normalize
from zoneinfo import available_timezones

from agent.calendar import is_zone, zone_of
from agent.catalogue import NAMES, escape
from agent.wellformed import clean, cut_text
from channels.base import CommandOption
from gateway.access.config import Role
from gateway.commands.base import MODES, Changed, Cleared, Command, HelpGroup, Invocation, Reply, Write
from gateway.store import journal, people
from gateway.store.engine import Connection
from gateway.threads import run_in_thread

RETRY = "retry"
"""Kind of turn that repeats a question."""

SHOWN_TEXTS = 5
SHOWN_TEXT_CHARS = 60
MAX_ZONE_CHARS = 64

LANGUAGES = {
    "en": "en english inglés ingles",
    "es": "es spanish español espanol castellano",
}


FOLLOWING = frozenset(("auto", "automático", "automatico"))
"""Arguments of `/language` that let answers follow the language of the messages again."""


async def start(asked: Invocation) -> Reply:
    """Greet, and show the person's time zone."""
    name = escape(clean(asked.principal.display_name)[:64])
    greeted, timezone = f", {name}" if name else "", escape(asked.principal.timezone)
    return Reply(asked.say("commands.start", name=greeted, timezone=timezone))


async def new(asked: Invocation) -> Write:
    """Begin a new conversation; cancel the running turn."""
    asked.session.cancel(stoppable_by(asked))
    return Write(_begin_anew, asked)


def _begin_anew(connection: Connection, asked: Invocation) -> Reply:
    cleared = asked.session.clear(connection, "/new", stoppable_by(asked), asked.clock())
    said = [asked.say("commands.new"), cleared_text(asked, cleared)]
    return Reply("\n\n".join(filter(None, said)), changed=begin_conversation(connection, asked, cleared))


def begin_conversation(connection: Connection, asked: Invocation, cleared: Cleared) -> Changed:
    """Begin the next conversation of the session."""
    before, row = asked.session.state, asked.row
    begun = journal.open_session(
        connection, row.tenant, asked.session.key, before.mode, before.generation + 1, asked.clock()
    )
    return Changed(conversation=begun, ended=True, cleared=cleared.ids, unparked=cleared.unparked)


async def stop(asked: Invocation) -> Write:
    """Cancel the running turn and waiting messages."""
    return Write(_stop, asked, asked.session.cancel(stoppable_by(asked)))


def _stop(connection: Connection, asked: Invocation, was_running: bool) -> Reply:
    cleared = asked.session.clear(connection, "/stop", stoppable_by(asked), asked.clock())
    others = not asked.direct and asked.session.running
    idle = "commands.not_yours_to_stop" if others else "commands.nothing_to_stop"
    stopped = was_running or cleared.running or cleared.ids
    said = [asked.say("commands.stopped" if stopped else idle), cleared_text(asked, cleared)]
    return Reply(" ".join(filter(None, said)), changed=Changed(cleared=cleared.ids, unparked=cleared.unparked))


def stoppable_by(asked: Invocation) -> str | None:
    """Return the user whose messages the person may cancel; None: everyone's."""
    return None if Role(asked.principal.role).allows(Role.OPERATOR) else asked.principal.user_id


async def btw(asked: Invocation) -> Reply:
    """Answer a question beside the turn."""
    if not asked.arguments.strip():
        return Reply(asked.say("commands.btw_what"))
    answer = await asked.session.answer_aside(asked.arguments)
    return Reply(answer or asked.say("answer.guarded"))


async def mode(asked: Invocation) -> Reply | Write:
    """Show the mode of the conversation, or change it."""
    wanted, now = asked.arguments.strip().lower(), asked.session.state.mode
    if not wanted:
        return Reply(asked.say(f"commands.mode_is_{now if now in MODES else MODES[0]}"))
    if wanted not in MODES:
        return Reply(asked.say("commands.mode_unknown", mode=escape(clean(wanted)[:SHOWN_TEXT_CHARS])))
    return Write(_set_mode, asked, wanted)


def _set_mode(connection: Connection, asked: Invocation, wanted: str) -> Reply:
    state = asked.session.state
    journal.set_mode(connection, state.id, wanted)
    return Reply(asked.say(f"commands.mode_is_{wanted}"), changed=Changed(conversation=replace(state, mode=wanted)))


async def language(asked: Invocation) -> Reply | Write:
    """Show the person's language, or change it."""
    wanted = clean(asked.arguments).casefold()
    found = next((code for code, words in LANGUAGES.items() if wanted in words.split()), None)
    if wanted in FOLLOWING:
        return Write(_follow_language, asked)
    if wanted and found is not None:
        return Write(_set_language, asked, found)
    return Reply(asked.say("commands.language_unknown" if wanted else "commands.language_is"))


def _set_language(connection: Connection, asked: Invocation, code: str) -> Reply:
    people.set_locale(connection, asked.principal.user_id, code)
    return Reply(asked.texts.text(code, "commands.language_set"), changed=person_changed(connection, asked))


def _follow_language(connection: Connection, asked: Invocation) -> Reply:
    people.follow_language(connection, asked.principal.user_id)
    return Reply(asked.say("commands.language_follows"), changed=person_changed(connection, asked))


def person_changed(connection: Connection, asked: Invocation) -> Changed:
    """Return the person as the commit leaves them."""
    return Changed(person=people.person_of(connection, asked.principal.user_id))


async def timezone(asked: Invocation) -> Reply | Write:
    """Show the person's time zone, or change it."""
    wanted = clean(asked.arguments)
    if not wanted:
        return Reply(_zone_text(asked, "commands.timezone_is", asked.principal.timezone))
    zone = await run_in_thread(find_zone, wanted)  # the first call reads all zones from disk
    if zone is not None:
        return Write(_set_timezone, asked, zone)
    near = await run_in_thread(near_zones, wanted)
    written = escape(wanted[:SHOWN_TEXT_CHARS])
    if not near:
        return Reply(asked.say("commands.timezone_unknown", zone=written))
    listed = ", ".join(escape(name) for name in near)
    return Reply(asked.say("commands.timezone_nearest", zone=written, nearest=listed, first=near[0]))


def _set_timezone(connection: Connection, asked: Invocation, zone: str) -> Reply:
    people.set_timezone(connection, asked.principal.user_id, zone)
    return Reply(_zone_text(asked, "commands.timezone_set", zone), changed=person_changed(connection, asked))


def _zone_text(asked: Invocation, key: str, zone: str) -> str:
    return asked.say(key, timezone=escape(zone), time=f"{asked.now.astimezone(zone_of(zone)):%H:%M}")


def cleared_text(asked: Invocation, cleared: Cleared) -> str:
    """Return a text about cancelled messages, with quotes; "" if there were none."""
    count = len(cleared.ids)
    if not count:
        return ""
    texts = [_quote(text) for text in cleared.texts if text.strip()]
    if not texts:
        return asked.say("commands.cleared_silently", n=count)
    shown = "; ".join(texts[:SHOWN_TEXTS])
    if count > SHOWN_TEXTS:
        shown += f"; {asked.plural('commands.and_more', count - SHOWN_TEXTS)}"
    return asked.plural("commands.cleared", count, texts=shown)


def _quote(text: str) -> str:
    text = clean(text)
    return f"“{escape(cut_text(text, SHOWN_TEXT_CHARS))}”"


SESSION_COMMANDS: Sequence[Command] = (
    Command("start", "menu.start", start, options=(CommandOption("code", "menu.start.code"),)),
    Command("new", "menu.new", new, shared=True, stops=True, group=HelpGroup.CHAT),
    Command("stop", "menu.stop", stop, urgent=True, shared=True, stops=True, group=HelpGroup.CHAT),
    Command(
        "btw",
        "menu.btw",
        btw,
        urgent=True,
        shared=True,
        options=(CommandOption("question", "menu.btw.question", required=True),),
        group=HelpGroup.CHAT,
    ),
    Command("retry", "menu.retry", start, turn=RETRY, group=HelpGroup.CHAT),
    Command(
        "mode",
        "menu.mode",
        mode,
        shared=True,
        options=(CommandOption("mode", "menu.mode.mode", choices=MODES),),
        group=HelpGroup.CHAT,
    ),
    Command(
        "timezone",
        "menu.timezone",
        timezone,
        options=(CommandOption("zone", "menu.timezone.zone", required=True),),
        group=HelpGroup.ACCOUNT,
    ),
    Command(
        "language",
        "menu.language",
        language,
        options=(CommandOption("language", "menu.language.language", choices=(*NAMES, "auto")),),
        group=HelpGroup.ACCOUNT,
    ),
)
"""Session commands of every agent."""


@cache
def _by_name() -> dict[str, str]:
    """Return zones by folded name, read from disk once."""
    regional = [name for name in available_timezones() if "/" in name or name == "UTC"]
    return {name.casefold(): name for name in sorted(regional) if is_zone(name)}


@cache
def _by_city() -> dict[str, str]:
    cities: dict[str, str] = {}
    for folded, name in _by_name().items():
        if not folded.startswith(("etc/", "posix/", "right/", "us/", "brazil/", "canada/", "mexico/", "chile/")):
            cities.setdefault(folded.rsplit("/", 1)[-1], name)
    return cities


def find_zone(text: str) -> str | None:
    """Return the IANA name of a zone or city, or None."""
    letters = "".join(each for each in normalize("NFKD", text[:MAX_ZONE_CHARS]) if not combining(each))
    folded = "_".join(letters.split()).casefold()
    return _by_name().get(folded) or _by_city().get(folded)


def near_zones(text: str) -> tuple[str, ...]:
    """Return up to three zones with a similar spelling; none for offsets ("UTC+2") or abbreviations ("CEST")."""
    folded = "_".join(text[:MAX_ZONE_CHARS].split()).casefold()
    if len(folded) < 5 or any(each in "+-−0123456789" for each in folded):
        return ()
    cities = [_by_city()[city] for city in get_close_matches(folded.rsplit("/", 1)[-1], _by_city(), n=3, cutoff=0.75)]
    names = [_by_name()[name] for name in get_close_matches(folded, _by_name(), n=3, cutoff=0.8)]
    return tuple(dict.fromkeys((*names, *cities)))[:3]
