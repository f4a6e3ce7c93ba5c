"""Decisions about what to commit, fetch and fill next, and how far a gateway session has been read. Pure.

A dispatch's order is fixed when it is received. Only interactions, which expire in three seconds, overtake others
while a gap is being filled or a channel is being fetched. The session and its sequence numbers live here alone: a
connection asks which session to resume. `consumer` executes the decisions.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeGuard

from pydantic import JsonValue

from channels.chat.reading import read_or_reject
from channels.discord.channel_cache import Place
from channels.discord.cursor import Cursor, GatewaySession, write_cursor
from channels.discord.raw import RawReady
from channels.discord.reply_route import ReplyRoute
from channels.discord.translate import TranslationContext, channel_of, snowflake_at, to_rejected, translate
from channels.discord.translate_interaction import Interaction, translate_interaction
from channels.messages import InboundEvent, InboundMessage, Rejected

MOST_WAITING = 2_000  # dispatches; then the socket is not read until there is room
BATCH = 200
DAY_S = 86_400.0
INTERACTION = "INTERACTION_CREATE"
STATE_EVENTS = ("READY", "RESUMED")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One raw event of the gateway."""

    event: str
    seq: int | None
    data: JsonValue


@dataclass(frozen=True, slots=True)
class Commit:
    """Events to be stored together with the resume point after them."""

    events: tuple[InboundEvent, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    cursor: str | None = None  # None: the resume point stays, since these events overtook others

    @property
    def reply_routes(self) -> list[ReplyRoute]:
        """Return the reply routes of the interactions among the events."""
        interactions = [event for event in self.events if isinstance(event, Interaction)]
        return [ReplyRoute.of(event.route) for event in interactions if event.route is not None]


@dataclass(frozen=True, slots=True)
class FetchChannel:
    """Step: fetch a channel's place, then call `channel_known`."""

    id: str


@dataclass(frozen=True, slots=True)
class FillGap:
    """Step: fetch the messages after this one, then call `gap_filled`."""

    since: int


class Ingest:
    """The received and not yet committed dispatches of one shard."""

    def __init__(self, context: TranslationContext, cursor: Cursor) -> None:
        """`cursor` is the last committed one."""
        self._context = context
        self._queue: deque[Dispatch | Rejected] = deque()
        cursor = replace(cursor, shards=context.shard.count)
        self._cursor = cursor  # as of the latest commit returned
        self._cursor_moved = False  # commit it alone
        self._committing: Commit | None = None
        self._doing: FetchChannel | FillGap | None = None  # meanwhile only interactions are committed
        self._unread_from = cursor.unread_from  # a gap to be filled first: it is older than the session's replay
        self._opened_at = 0  # the least message id since the session was opened
        self.resume_from = cursor.session
        """The session to resume, as far as it was received; None: open a new one."""
        self.is_connected = False
        """True if a session has been open since the start."""

    @property
    def is_full(self) -> bool:
        """Return True if the socket must wait for a commit before it reads on."""
        return len(self._queue) >= MOST_WAITING

    @property
    def has_gap(self) -> bool:
        """Return True if messages from before the session are still to be fetched."""
        return self._cursor.gap

    # ------------------------------------------------------------ input

    def receive(self, dispatch: Dispatch | Rejected) -> None:
        """Queue a dispatch; this fixes its order.

        Raises:
            ValueError: a READY that opens no session.
        """
        if isinstance(dispatch, Dispatch):
            if dispatch.event == "READY":
                self.resume_from = _to_session(dispatch)
            elif dispatch.seq is not None and self.resume_from is not None:
                self.resume_from = replace(self.resume_from, seq=dispatch.seq)
            self.is_connected = self.is_connected or dispatch.event in STATE_EVENTS
            self._context.channels.learn(dispatch.event, dispatch.data)
        self._queue.append(dispatch)

    def session_lost(self) -> None:
        """Forget a session that Discord does not resume; its received dispatches are still committed."""
        self.resume_from = None

    def mark_committed(self, commit: Commit) -> None:
        """Note that the store has committed it."""
        assert commit is self._committing, "commits are made one by one"
        self._committing = None

    def channel_known(self, place: Place) -> None:
        """Store a fetched channel and go on."""
        self._context.channels.put(place)
        self._doing = None

    def gap_filled(self, *, whole: bool) -> None:
        """End a gap; unless `whole`, some channels are retried later (see `caught_up`)."""
        assert isinstance(self._doing, FillGap), "a gap was to be filled"
        behind = 0 if whole else self._doing.since
        last = max(self._cursor.last, self._opened_at)
        self._cursor, self._cursor_moved = replace(self._cursor, gap=False, last=last, behind=behind), True
        self._doing = None

    def caught_up(self) -> None:
        """Note that the rest of a gap was read, or is too old to read."""
        self._cursor, self._cursor_moved = replace(self._cursor, behind=0), True

    # ------------------------------------------------------------ next step

    def next(self, now: datetime) -> Commit | FetchChannel | FillGap | None:
        """Return the next step; a commit until it is marked committed; None: wait for an event."""
        if self._committing is not None:
            return self._committing
        if self._cursor_moved:
            self._committing = self._commit_cursor()
        elif self._doing is not None:
            self._committing = self._commit_interactions(now)
        elif self._unread_from is not None:
            self._doing, self._unread_from = FillGap(self._unread_from), None
            return self._doing
        elif self._queue:
            return self._take_up(self._queue[0], now)
        return self._committing

    def _take_up(self, head: Dispatch | Rejected, now: datetime) -> Commit | FetchChannel:
        """Return the step for the first waiting dispatch."""
        if _is_state(head):
            self._queue.popleft()
            self._enter_session(head, now)
            self._committing = self._commit_cursor()
        elif (channel := self._unknown_channel(head)) is not None:
            self._doing = FetchChannel(channel)
            return self._doing
        else:
            self._committing = self._commit_batch(now)
        return self._committing

    def _enter_session(self, dispatch: Dispatch, now: datetime) -> None:
        """Note that a session was opened or resumed."""
        if dispatch.event != "READY":
            self._cursor = self._cursor if dispatch.seq is None else self._cursor.at(dispatch.seq)
            return
        is_first = self._cursor.last == 0
        self._opened_at = snowflake_at(1000 * now.timestamp())
        last = self._opened_at if is_first else self._cursor.last
        self._cursor = replace(self._cursor, session=_to_session(dispatch), last=last, gap=not is_first)
        self._unread_from = self._cursor.unread_from if self._cursor.gap else None

    def _unknown_channel(self, head: Dispatch | Rejected) -> str | None:
        """Return the channel to fetch before this dispatch can be read, or None."""
        channel = channel_of(head.event, head.data) if isinstance(head, Dispatch) else None
        return channel if channel is not None and self._context.channels.get(channel) is None else None

    # ------------------------------------------------------------ commits

    def _commit_cursor(self) -> Commit:
        self._cursor_moved = False
        return Commit(cursor=write_cursor(self._cursor))

    def _commit_interactions(self, now: datetime) -> Commit | None:
        """Return a commit of the waiting interactions alone; None without any."""
        urgent = [waiting for waiting in self._queue if isinstance(waiting, Dispatch) and waiting.event == INTERACTION]
        if not urgent:
            return None
        taken = {id(dispatch) for dispatch in urgent}
        self._queue = deque(waiting for waiting in self._queue if id(waiting) not in taken)
        return Commit(*_read(urgent, self._context, now))

    def _commit_batch(self, now: datetime) -> Commit:
        """Return a commit of the dispatches before the next session start or unknown channel."""
        batch = [self._queue.popleft()]
        while self._queue and len(batch) < BATCH:
            head = self._queue[0]
            if _is_state(head) or self._unknown_channel(head) is not None:
                break
            batch.append(self._queue.popleft())
        events, rejected = _read(batch, self._context, now)
        self._move_cursor(batch, events, now)
        return Commit(events, rejected, write_cursor(self._cursor))

    def _move_cursor(self, batch: Sequence[Dispatch | Rejected], events: Iterable[InboundEvent], now: datetime) -> None:
        """Move the cursor to the newest message; ignore an id from after tomorrow, which would hide messages until
        then.
        """
        beyond = snowflake_at((now.timestamp() + DAY_S) * 1000)
        sequence = [dispatch.seq for dispatch in batch if isinstance(dispatch, Dispatch) and dispatch.seq is not None]
        ids = [int(event.message_id) for event in events if isinstance(event, InboundMessage)]
        cursor = self._cursor.at(sequence[-1]) if sequence else self._cursor
        last = max((message_id for message_id in ids if message_id < beyond), default=0)
        self._cursor = replace(cursor, last=max(cursor.last, last))


def _to_session(dispatch: Dispatch) -> GatewaySession:
    """Return the session that a READY opens; raise a ValueError (pydantic's ValidationError) if it opens none."""
    ready = RawReady.model_validate(dispatch.data)
    return GatewaySession(ready.session_id, ready.resume_gateway_url, dispatch.seq or 1)


def _is_state(dispatch: Dispatch | Rejected) -> TypeGuard[Dispatch]:
    return isinstance(dispatch, Dispatch) and dispatch.event in STATE_EVENTS


def _read(
    batch: Iterable[Dispatch | Rejected], context: TranslationContext, now: datetime
) -> tuple[tuple[InboundEvent, ...], tuple[Rejected, ...]]:
    """Return the events and the rejected dispatches in a batch."""
    results = [result for dispatch in batch for result in _read_dispatch(dispatch, context, now)]
    events = tuple(result for result in results if not isinstance(result, Rejected))
    return events, tuple(result for result in results if isinstance(result, Rejected))


def _read_dispatch(
    dispatch: Dispatch | Rejected, context: TranslationContext, now: datetime
) -> Sequence[InboundEvent | Rejected]:
    if isinstance(dispatch, Rejected):
        return (dispatch,)
    found = read_or_reject(
        context.bot.account,
        partial(_translate, dispatch, context, now),
        partial(to_rejected, dispatch.event, dispatch.seq, None),
    )
    return (found,) if isinstance(found, Rejected) else found


def _translate(dispatch: Dispatch, context: TranslationContext, now: datetime) -> Sequence[InboundEvent | Rejected]:
    if dispatch.event != INTERACTION:
        return translate(dispatch.event, dispatch.seq, dispatch.data, context, now)
    invoked = translate_interaction(dispatch.seq, dispatch.data, context)
    return () if invoked is None else (invoked,)
