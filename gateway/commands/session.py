"""Commands about the conversation and the person: `/start /new /stop /mode /timezone /language`."""

import asyncio
from difflib import get_close_matches
from functools import cache, partial
from unicodedata import combining, normalize
from zoneinfo import available_timezones

from agent.calendar import is_zone, zone_of
from agent.catalogue import Catalogue
from agent.language import NAMES, escape
from agent.wellformed import clean, cut_text
from channels.base import CommandOption
from gateway.commands.base import (
    MODES,
    Command,
    Invocation,
    Reply,
    Results,
    SessionAction,
    SessionCleared,
    SetLanguage,
    SetMode,
    SetTimezone,
)
from gateway.texts import HARNESS

RETRY = "retry"
"""The kind of turn that asks again."""

SHOWN_TEXTS = 5
SHOWN_TEXT_CHARS = 60
MAX_ZONE_CHARS = 64


def session_commands(texts: Catalogue = HARNESS) -> tuple[Command, ...]:
    """The commands that every agent has; they say what `texts` has for them."""
    replies = _SessionReplies(texts)
    return (
        Command(
            "start",
            "menu.start",
            replies.start,
            options=(CommandOption("code", "menu.start.code"),),
        ),
        Command(
            "new",
            "menu.new",
            replies.new,
            shared=True,
        ),
        Command(
            "stop",
            "menu.stop",
            replies.stop,
            urgent=True,
            shared=True,
        ),
        Command(
            "btw",
            "menu.btw",
            replies.btw,
            urgent=True,
            options=(CommandOption("question", "menu.btw.question", required=True),),
            shared=True,
        ),
        Command("retry", "menu.retry", replies.start, turn=RETRY),
        Command(
            "mode",
            "menu.mode",
            replies.mode,
            options=(CommandOption("mode", "menu.mode.mode", choices=MODES),),
            shared=True,
        ),
        Command(
            "timezone",
            "menu.timezone",
            replies.timezone,
            options=(CommandOption("zone", "menu.timezone.zone", required=True),),
        ),
        Command(
            "language",
            "menu.language",
            replies.language,
            options=(CommandOption("language", "menu.language.language", choices=tuple(NAMES)),),
        ),
    )


LANGUAGES = {
    "en": "en english inglés ingles", "es": "es spanish español espanol castellano",
}  # fmt: skip


class _SessionReplies:
    """What each of them answers."""

    def __init__(self, texts: Catalogue) -> None:
        self._texts = texts

    async def start(self, asked: Invocation) -> Reply:
        """Who this is, and the person's zone."""
        name = escape(clean(asked.principal.display_name)[:64])
        greeted, timezone = f", {name}" if name else "", escape(asked.principal.timezone)
        return Reply(self._texts.text(asked.principal.locale, "commands.start", name=greeted, timezone=timezone))

    async def new(self, asked: Invocation) -> Reply:
        """A new generation of the conversation."""
        return Reply(partial(self._new_text, asked), session=SessionAction.NEW)

    async def stop(self, asked: Invocation) -> Reply:
        """End what runs and clear what waits."""
        return Reply(partial(self._stop_text, asked), session=SessionAction.STOP)

    async def btw(self, asked: Invocation) -> Reply:
        """Answer a question beside the turn."""
        locale = asked.principal.locale
        if not asked.arguments.strip():
            return Reply(self._texts.text(locale, "commands.btw_what"))
        answer = await asked.answer_aside(asked.arguments)
        return Reply(answer or self._texts.text(locale, "answer.guarded"))

    async def mode(self, asked: Invocation) -> Reply:
        """Show the mode, or change it."""
        wanted = asked.arguments.strip().lower()
        if not wanted:
            shown = asked.session.mode if asked.session.mode in MODES else MODES[0]
            return Reply(self._texts.text(asked.principal.locale, f"commands.mode_is_{shown}"))
        if wanted not in MODES:
            return Reply(
                self._texts.text(
                    asked.principal.locale, "commands.mode_unknown", mode=escape(clean(wanted)[:SHOWN_TEXT_CHARS])
                )
            )
        return Reply(self._texts.text(asked.principal.locale, f"commands.mode_is_{wanted}"), session=SetMode(wanted))

    async def language(self, asked: Invocation) -> Reply:
        """Show the language the person is spoken to in, or change it for good."""
        wanted = clean(asked.arguments).casefold()
        found = next((code for code, words in LANGUAGES.items() if wanted in words.split()), None)
        if wanted and found is not None:
            return Reply(self._texts.text(found, "commands.language_set"), session=SetLanguage(found))
        key = "commands.language_unknown" if wanted else "commands.language_is"
        return Reply(self._texts.text(asked.principal.locale, key))

    async def timezone(self, asked: Invocation) -> Reply:
        """Show the person's zone, or change it."""
        wanted = clean(asked.arguments)
        if not wanted:
            return Reply(self._zone_text(asked, "commands.timezone_is", asked.principal.timezone))
        zone = await asyncio.to_thread(find_zone, wanted)  # the first time it reads all there are from disk
        if zone is not None:
            return Reply(self._zone_text(asked, "commands.timezone_set", zone), session=SetTimezone(zone))
        near = await asyncio.to_thread(near_zones, wanted)
        written = escape(wanted[:SHOWN_TEXT_CHARS])
        if not near:
            return Reply(self._texts.text(asked.principal.locale, "commands.timezone_unknown", zone=written))
        listed = ", ".join(escape(name) for name in near)
        return Reply(
            self._texts.text(
                asked.principal.locale, "commands.timezone_nearest", zone=written, nearest=listed, first=near[0]
            )
        )

    def _new_text(self, asked: Invocation, results: Results) -> str:
        cleared = cleared_text(self._texts, asked.principal.locale, results)
        return "\n\n".join(part for part in (self._texts.text(asked.principal.locale, "commands.new"), cleared) if part)

    def _stop_text(self, asked: Invocation, results: Results) -> str:
        cleared = cleared_text(self._texts, asked.principal.locale, results)
        ran = any(result.was_running for result in results if isinstance(result, SessionCleared))
        others = not asked.direct and asked.session.running
        idle = "commands.not_yours_to_stop" if others else "commands.nothing_to_stop"
        first = self._texts.text(asked.principal.locale, "commands.stopped" if ran or cleared else idle)
        return " ".join(part for part in (first, cleared) if part)

    def _zone_text(self, asked: Invocation, key: str, zone: str) -> str:
        time = f"{asked.now.astimezone(zone_of(zone)):%H:%M}"
        return self._texts.text(asked.principal.locale, key, timezone=escape(zone), time=time)


def cleared_text(catalogue: Catalogue, locale: str | None, results: Results) -> str:
    """What no longer waits, in the person's own words; "" where nothing did."""
    found = next((result for result in results if isinstance(result, SessionCleared)), None)
    if found is None or not found.count:
        return ""
    cleared = found.count
    texts = [_quote(text) for text in found.texts if text.strip()]
    if not texts:
        return catalogue.text(locale, "commands.cleared_silently", n=cleared)
    shown = "; ".join(texts[:SHOWN_TEXTS])
    if cleared > SHOWN_TEXTS:
        shown += f"; {catalogue.plural(locale, 'commands.and_more', cleared - SHOWN_TEXTS)}"
    return catalogue.plural(locale, "commands.cleared", cleared, texts=shown)


def _quote(text: str) -> str:
    text = clean(text)
    return f"“{escape(cut_text(text, SHOWN_TEXT_CHARS))}”"


@cache
def _by_name() -> dict[str, str]:
    """Zones by folded name; reading them from disk once is enough."""
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
    """The IANA name for what was written; None where it names no zone."""
    letters = "".join(each for each in normalize("NFKD", text[:MAX_ZONE_CHARS]) if not combining(each))
    folded = "_".join(letters.split()).casefold()
    return _by_name().get(folded) or _by_city().get(folded)


def near_zones(text: str) -> tuple[str, ...]:
    """Up to three zones spelled much like it; none of an offset ("UTC+2"), and none of an abbreviation ("CEST")."""
    folded = "_".join(text[:MAX_ZONE_CHARS].split()).casefold()
    if len(folded) < 5 or any(each in "+-−0123456789" for each in folded):
        return ()
    cities = [_by_city()[city] for city in get_close_matches(folded.rsplit("/", 1)[-1], _by_city(), n=3, cutoff=0.75)]
    names = [_by_name()[name] for name in get_close_matches(folded, _by_name(), n=3, cutoff=0.8)]
    return tuple(dict.fromkeys((*names, *cities)))[:3]
