"""Backfill of the messages that people sent while a connection was down, from a platform's histories.

A platform implements `History`: which places have one, a page of it, and the events of a message. Limits, order,
retries, health texts and delivery are here. `fill` delivers a place as a whole or not at all, sorted by the platform's
ids; `until_read` makes a live event of a place wait until that place is delivered.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, Protocol, TypeVar

import structlog
from pydantic import ValidationError

from channels.chat.refusals import ApiRefusal
from channels.chat.retrying import Backoff
from channels.clocks import Sleep
from channels.errors import ChannelError, Permanent, Retryable
from channels.messages import InboundEvent, Rejected

T = TypeVar("T")
Place = TypeVar("Place", bound=Hashable)
Raw = TypeVar("Raw")

EVERYTHING = "all"  # name of the list of all places
FAILURES = (ApiRefusal, ChannelError, ValidationError)  # of a list or a page, which is read again later

READ_ON = Backoff((30.0, 60.0, 120.0, 300.0, 600.0))  # between attempts to read a failed place
READ_ON_TIMES = 144  # a day of attempts
NAMED = 5  # places named by health; the log names more
BATCH = 200  # events delivered together

_TRIES = 6  # of one call
_BACKOFF = Backoff((0.5, 1.0, 2.0, 5.0, 15.0))

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HistoryBounds:
    """Limits of a platform's backfill."""

    at_once: int  # places read in parallel
    pages: int  # pages read of one place
    together: int  # messages collected before they are delivered in order of their ids; 0: each place by itself


@dataclass(slots=True)
class Listing(Generic[Place]):
    """The places of one list."""

    places: list[Place] = field(default_factory=list)
    unlisted: dict[str, str] = field(default_factory=dict)  # failed lists and the reason
    cut: list[str] = field(default_factory=list)  # lists that are longer than the limit


@dataclass(frozen=True, slots=True)
class Page(Generic[Place, Raw]):
    """One page of a place's history."""

    messages: Sequence[tuple[float, Raw]] = ()  # (id, message); ids rise with time
    next: str = ""  # start of the next page; "": this is the last
    threads: Sequence[Place] = ()  # threads of this place, read after it


class History(Protocol[Place, Raw]):
    """A platform's histories. `since` is the id of the last message before the gap."""

    bounds: HistoryBounds

    async def list_places(self, name: str, since: float) -> Listing[Place]:
        """Return the places of a list: `EVERYTHING`, or one that failed in an earlier listing."""
        ...

    async def read_page(self, place: Place, since: float, start: str) -> Page[Place, Raw]:
        """Return the page that begins at `start`; "" is the first.

        Raises:
            ApiRefusal, ChannelError, ValidationError: it cannot be read now.
        """
        ...

    def to_events(self, place: Place, message: Raw) -> Sequence[InboundEvent | Rejected]:
        """Return the events of a message; called in the order of the ids."""
        ...

    def explain(self, place: Place, failure: Exception) -> str | None:
        """Return why a place cannot be read, for health; None if the bot never had access to it."""
        ...

    def name(self, place: Place) -> str:
        """Return how health names a place."""
        ...


@dataclass(frozen=True, slots=True)
class _Failure:
    since: float
    why: str


class Backfill(Generic[Place, Raw]):
    """The gaps of one connection."""

    def __init__(
        self,
        history: History[Place, Raw],
        offer: Callable[[Sequence[InboundEvent | Rejected]], Awaitable[None]],
        report: Callable[[str], None],
        sleep: Sleep,
        account: str,
    ) -> None:
        """`offer` returns once the events are committed; `report` tells health what is missing, "" for nothing."""
        self._history = history
        self._offer = offer
        self._report = report
        self._sleep = sleep
        self._account = account
        self._unread: dict[Place, _Failure] = {}
        self._unlisted: dict[str, _Failure] = {}
        self._cut: dict[str, None] = {}  # places and lists that are longer than the limit
        self._collected: list[tuple[float, Place, Raw]] = []  # read and not delivered
        self._count = 0  # messages read in this fill
        self._left: OrderedDict[Place, float] = OrderedDict()  # unread places with their `since`
        self._read: dict[Place, asyncio.Event] = {}  # set once a place is delivered, or failed
        self._unlisted_fills = 0  # running fills whose places are not listed yet
        self._listed = asyncio.Event()  # set while there are none
        self._listed.set()
        self._filling, self._retrying, self._handing_in = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()

    @property
    def is_whole(self) -> bool:
        """Return True if nothing is left to be read."""
        return not self._unread and not self._unlisted

    async def until_read(self, place: Place) -> None:
        """Wait until the running fill has delivered this place with its threads, or failed to read it.

        Such a place is read next.
        """
        await self._listed.wait()
        if place in self._left:
            self._left.move_to_end(place, last=False)
        if place in self._read:
            await self._read[place].wait()

    async def fill(self, since: float) -> bool:
        """Read every place once and deliver the messages after `since`; return True if all could be read.

        `until_read` waits for it from the call on.
        """
        self._unlisted_fills += 1
        self._listed.clear()
        async with self._filling:
            self._cut.clear()
            lists = {name: failure.since for name, failure in self._unlisted.items()}
            self._expect(await self._list({**lists, EVERYTHING: since}))
            self._unlisted_fills -= 1
            if not self._unlisted_fills:
                self._listed.set()
            await self._read_all()
        return self.is_whole

    async def read_on(self) -> None:
        """Read the failed places again until nothing is left or a day has passed."""
        async with self._retrying:
            for attempt in range(1, READ_ON_TIMES + 1):
                if self.is_whole:
                    return
                await self._sleep(READ_ON.wait_s(attempt))
                async with self._filling:
                    lists = {name: failure.since for name, failure in self._unlisted.items()}
                    self._expect(await self._list(lists))
                    await self._read_all()
            if not self.is_whole:
                _log.error("gap_given_up", account=self._account, detail=self._words)
                self._unread, self._unlisted = {}, {}  # health shows them until the next gap

    async def _list(self, lists: Mapping[str, float]) -> dict[Place, float]:
        """Return the places of these lists and those that failed before, each with its `since`."""
        wanted = {place: failure.since for place, failure in self._unread.items()}
        self._unread, self._unlisted = {}, {}
        for name, since in lists.items():
            listing = await self._history.list_places(name, since)
            for place in listing.places:
                wanted[place] = min(since, wanted.get(place, since))
            self._unlisted |= {unlisted: _Failure(since, why) for unlisted, why in listing.unlisted.items()}
            self._cut |= dict.fromkeys(listing.cut)
        return wanted

    def _expect(self, places: Mapping[Place, float]) -> None:
        self._left = OrderedDict(places)
        self._read = {place: asyncio.Event() for place in places}

    async def _read_all(self) -> None:
        self._count = 0
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._history.bounds.at_once):
                tasks.create_task(self._read_left())
        await self._hand_in()
        _log.info("gap_backfilled", account=self._account, places=len(self._read), messages=self._count)
        if self._words:
            unread = [self._history.name(place) for place in self._unread][:50]
            _log.warning("gap_not_filled", account=self._account, detail=self._words, unread=unread)
        self._report(self._words)

    async def _read_left(self) -> None:
        """Read the places one by one with their threads, whose first messages are in the place."""
        while self._left:
            place, since = self._left.popitem(last=False)
            waiting = [place]
            while waiting:
                waiting += await self._collect(waiting.pop(0), since)
            if len(self._collected) >= self._history.bounds.together:
                await self._hand_in()
            self._read[place].set()

    async def _collect(self, place: Place, since: float) -> Iterable[Place]:
        """Read all pages of a place; if one fails, drop the place, so that its messages stay in order."""
        found: dict[float, Raw] = {}
        threads: dict[Place, None] = {}
        start = ""
        try:
            for _ in range(self._history.bounds.pages):
                page = await self._history.read_page(place, since, start)
                found |= page.messages
                threads |= dict.fromkeys(page.threads)
                start = page.next
                if not start:
                    break
            else:
                self._cut[self._history.name(place)] = None
        except FAILURES as failure:
            why = self._history.explain(place, failure)
            if why is not None:
                self._unread[place] = _Failure(since, why)
            return ()
        self._count += len(found)
        self._collected += [(number, place, message) for number, message in found.items()]
        return threads

    async def _hand_in(self) -> None:
        async with self._handing_in:
            collected, self._collected = sorted(self._collected, key=itemgetter(0)), []
            events = [event for _, place, message in collected for event in self._history.to_events(place, message)]
            for begin in range(0, len(events), BATCH):
                await self._offer(events[begin : begin + BATCH])

    @property
    def _words(self) -> str:
        """Return health's text about missing messages; "" if nothing is missing."""
        missing = []
        if self._cut:
            missing.append(f"{len(self._cut)} channels had more than is fetched: {_some_of(self._cut)}")
        if self._unread:
            named = [f"{self._history.name(place)} ({failure.why})" for place, failure in self._unread.items()]
            missing.append(f"{len(named)} were not read: {_some_of(named)}")
        if self._unlisted:
            named = [f"{name} ({failure.why})" for name, failure in self._unlisted.items()]
            missing.append(f"{len(named)} lists of channels were not read: {_some_of(named)}")
        return f"after a gap {'; '.join(missing)}" if missing else ""


async def read_patiently(
    read: Callable[[], Awaitable[T]], to_channel_error: Callable[[ApiRefusal], ChannelError], sleep: Sleep
) -> T:
    """Repeat a call of a history until it is answered, at most six times; wait as long as the platform asks.

    Raises:
        ApiRefusal: the platform refuses it for good.
        Retryable: no answer.
    """
    failure: ChannelError
    tries = 0
    while True:
        tries += 1
        try:
            return await read()
        except ApiRefusal as refusal:
            failure = to_channel_error(refusal)
            if isinstance(failure, Permanent):
                raise
        except ChannelError as unanswered:
            failure = unanswered
        if tries == _TRIES:
            raise Retryable(str(failure))
        _log.warning("history_not_read", attempt=tries, detail=str(failure))
        await sleep(_BACKOFF.wait_s(tries, failure.retry_after_s if isinstance(failure, Retryable) else None))


def _some_of(named: Iterable[str]) -> str:
    """Return the first names, and an ellipsis if there are more."""
    names = list(named)
    return ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
