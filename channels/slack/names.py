"""People's names and languages, asked from Slack in the background because events carry only ids.

Names are only displayed, never used for decisions. Events wait at most `WAIT_S` for user names, and keep their order; a
name that arrives later is used the next time. If Slack stalls, limits or refuses the calls, they pause for a while.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import structlog
from pydantic import ValidationError

from channels.bounded_dict import BoundedDict
from channels.chat.refusals import ApiRefusal
from channels.errors import ChannelError
from channels.foreign import LONGEST_WAIT_S, storable
from channels.slack.error_mapping import MISSING_SCOPE, where_to_mend
from channels.slack.identity import BotIdentity
from channels.slack.mrkdwn import MENTION, unescape
from channels.slack.raw import RawUserInfo
from channels.slack.wire import SlackWire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

WAIT_S = 0.3  # Slack wants its acknowledgement within a second
LOOKUP_S = 3.0  # one call
NAME_LIFETIME_S = 6 * 3600.0
MOST_NAMES = 5_000
AT_ONCE = 4  # calls
MOST_LOOKUPS = 500  # queued lookups; further people are shown by their ids
MOST_MENTIONED = 10  # in one text
PAUSE_S = 30.0  # after a call without an answer, or a limit without Retry-After
NO_SCOPE_PAUSE_S = 600.0  # the operator may add it
NAME_CHARS = 64

_UNKNOWN = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Known:
    """Slack's answer about an id."""

    name: str | None  # None: Slack knows no such user
    teams: frozenset[str]  # teams of this id; ids are only unique inside one
    until_s: float
    locale: str | None = None  # BCP 47 tag of their Slack


class NameDirectory:
    """Cached names of one workspace's people."""

    def __init__(self, wire: SlackWire, bot: BotIdentity, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._wire = wire
        self._bot = bot
        self._now_s = now_s
        self._known: BoundedDict[str, _Known] = BoundedDict(MOST_NAMES)
        self._asked: dict[str, asyncio.Event] = {}  # one call in flight, or waiting, a person
        self._waiting: asyncio.Queue[str] = asyncio.Queue(MOST_LOOKUPS)
        self._resumes_s = float("-inf")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._scope_reported = False

    def name_of(self, user: str, team: str | None = None) -> str | None:
        """Return a user's name; None if unknown, or if the id belongs to another team's user."""
        if user == self._bot.user:
            return self._bot.name or None
        known = self._known.get(user)
        if known is None or (team is not None and team not in known.teams):
            return None
        return known.name

    def locale_of(self, user: str) -> str | None:
        """Return the language of a user's Slack, or None if unknown."""
        known = self._known.get(user)
        return None if known is None else known.locale

    @asynccontextmanager
    async def in_order(self, chat: str, users: Collection[str]) -> "AsyncIterator[None]":
        """Wait at most `WAIT_S` for these people's names; deliveries of one chat keep their order."""
        ends_s = asyncio.get_running_loop().time() + WAIT_S
        lock = self._locks.get(chat)
        if lock is None:
            lock = self._locks[chat] = asyncio.Lock()
        async with lock:
            await self._learn(users, ends_s)
            yield

    async def learn(self, users: Collection[str]) -> None:
        """Wait at most `WAIT_S` for these people's names."""
        await self._learn(users, asyncio.get_running_loop().time() + WAIT_S)

    async def _learn(self, users: Collection[str], ends_s: float) -> None:
        asked = [lookup for user in users if (lookup := self._ask(user)) is not None]
        if not asked:
            return
        try:
            async with asyncio.timeout_at(ends_s):
                for lookup in asked:
                    await lookup.wait()
        except TimeoutError:
            return

    def _ask(self, user: str) -> asyncio.Event | None:
        """Return the pending lookup, or None if there is nothing to wait for."""
        known = self._known.get(user)
        if user == self._bot.user or (known is not None and known.until_s > self._now_s()):
            return None
        asked = self._asked.get(user)
        if asked is None and not self._paused and not self._waiting.full():
            asked = self._asked[user] = asyncio.Event()
            self._waiting.put_nowait(user)
        return asked if known is None else None  # an expired name is used until the new one arrives

    @property
    def _paused(self) -> bool:
        return self._now_s() < self._resumes_s

    def update_profile(self, profile: object) -> None:
        """Update a cached name from `user_change`; ignore unknown people."""
        known = profile.get("id") if isinstance(profile, dict) else None
        if isinstance(known, str) and known in self._known:
            self._remember(known, profile)

    async def run(self) -> None:
        """Look up names, for ever."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            user = await self._waiting.get()
            try:
                if not self._paused:
                    await self._look_up(user)
            finally:
                self._asked.pop(user).set()

    async def _look_up(self, user: str) -> None:
        try:
            async with asyncio.timeout(LOOKUP_S):
                answer = await self._wire.get("users.info", user=user, include_locale="true")
        except ApiRefusal as refusal:
            self._note_refusal(user, refusal)
        except TimeoutError:
            self._pause(PAUSE_S, f"users.info was not answered within {LOOKUP_S:.0f} s")
        except ChannelError as failure:
            self._pause(PAUSE_S, str(failure))
        else:
            self._remember(user, answer.get("user"))

    def _note_refusal(self, user: str, refusal: ApiRefusal) -> None:
        if refusal.code in _UNKNOWN:
            self._known[user] = _Known(None, frozenset(), self._now_s() + NAME_LIFETIME_S)
        elif refusal.code != MISSING_SCOPE:
            self._pause(min(refusal.retry_after_s or PAUSE_S, LONGEST_WAIT_S), str(refusal))
        else:
            self._resumes_s = self._now_s() + NO_SCOPE_PAUSE_S
            if not self._scope_reported:
                self._scope_reported = True
                _log.warning(
                    "names_missing",
                    account=self._bot.account,
                    detail="people are shown by their ids",
                    mend=where_to_mend(refusal),
                )

    def _pause(self, pause_s: float, why: str) -> None:
        if not self._paused:  # else another call has logged it
            _log.info("names_paused", account=self._bot.account, pause_s=pause_s, detail=why)
        self._resumes_s = max(self._resumes_s, self._now_s() + pause_s)

    def _remember(self, user: str, raw: object) -> None:
        try:
            info = RawUserInfo.model_validate(raw)
        except ValidationError:
            _log.info("name_unreadable", account=self._bot.account)
            self._known[user] = _Known(None, frozenset(), self._now_s() + NAME_LIFETIME_S)
            return
        locale = info.locale or self.locale_of(user)  # a changed profile has none
        self._known[user] = _Known(_display_name(info), frozenset(info.teams), self._now_s() + NAME_LIFETIME_S, locale)


def _display_name(info: RawUserInfo) -> str | None:
    """Return the name that Slack shows: the display name, else the full name, else the handle."""
    profile = info.profile
    for name in (profile.display_name, profile.real_name, info.real_name, info.name):
        if shown := " ".join(storable(unescape(name or "")).split())[:NAME_CHARS]:
            return shown
    return None


def people_named(user: str | None, text: str) -> Iterator[str]:
    """Return the author and the mentioned people."""
    if user is not None:
        yield user
    if "<@" in text:
        for at, found in enumerate(MENTION.finditer(text)):
            if at < MOST_MENTIONED:
                yield found[1]


def people_in(body: object) -> list[str]:
    """Return the people whose names one unvalidated delivery needs."""
    if not isinstance(body, dict):
        return []
    if "command" in body:
        return _mentioned_people(body.get("user_id"), body.get("text"))
    event = body.get("event")
    if not isinstance(event, dict):
        presser = body.get("user")
        return _mentioned_people(presser.get("id"), "") if isinstance(presser, dict) else []
    if event.get("type") not in ("message", "app_mention"):
        return []
    messages = [event, event.get("message"), event.get("previous_message")]
    found: list[str] = []
    for message in messages:
        if isinstance(message, dict) and message.get("bot_id") is None:  # apps carry their own name
            found += _mentioned_people(message.get("user"), message.get("text"))
    return list(dict.fromkeys(found))


def _mentioned_people(user: object, text: object) -> list[str]:
    who = user if isinstance(user, str) and MENTION.fullmatch(f"<@{user}>") else None
    return list(people_named(who, text if isinstance(text, str) else ""))


def profile_in(body: object) -> object:
    """Return the changed user profile in a delivery, or None."""
    event = body.get("event") if isinstance(body, dict) else None
    if isinstance(event, dict) and event.get("type") in ("user_change", "user_profile_changed"):
        return event.get("user")
    return None
