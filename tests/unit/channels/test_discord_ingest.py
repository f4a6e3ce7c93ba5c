"""Events of Discord's gateway: their order, the committed position, and gaps to fetch first."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from channels.discord.channel_cache import Place
from channels.discord.config import DiscordAccount
from channels.discord.cursor import Cursor, GatewaySession, read_cursor
from channels.discord.identity import BotIdentity
from channels.discord.ingest import Commit, Dispatch, FetchChannel, FillGap, Ingest
from channels.discord.translate import TranslationContext, snowflake_at
from channels.messages import InboundMessage, Rejected
from tests.fakes.amounts import share

NOW = datetime(2026, 11, 20, tzinfo=UTC)
PERSON = {"id": "7", "username": "ana"}
ROOM, THREAD = "50", "51"  # a channel of a server that is known, and an unknown one


def snowflake(after_s: float) -> int:
    return snowflake_at(1000 * (NOW + timedelta(seconds=after_s)).timestamp())


def context() -> TranslationContext:
    config = DiscordAccount.model_validate({"token": "made.up.token", "wake": "always"})
    known = TranslationContext(BotIdentity("main", "99", "98"), config)
    known.channels.put(Place(ROOM, "5"))
    return known


def ingest(cursor: Cursor | None = None) -> Ingest:
    return Ingest(context(), cursor or Cursor(GatewaySession("s", "wss://g", 1), snowflake(-60)))


def ready(session: str = "new", seq: int = 1) -> Dispatch:
    data = {"session_id": session, "resume_gateway_url": "wss://g", "user": {"id": "99", "username": "TenK"}}
    return Dispatch("READY", seq, data)


def said(seq: int | None, message_id: int, channel: str = ROOM) -> Dispatch:
    data = {"id": str(message_id), "channel_id": channel, "guild_id": "5", "author": PERSON, "type": 0}
    return Dispatch("MESSAGE_CREATE", seq, data | {"content": str(message_id)})


def used(seq: int, interaction_id: int) -> Dispatch:
    data = {"id": str(interaction_id), "type": 2, "token": "secret", "channel_id": "1", "user": PERSON}
    return Dispatch("INTERACTION_CREATE", seq, data | {"data": {"name": "stats", "type": 1}})


def ids(commit: Commit) -> list[int]:
    return [
        int(event.message_id if isinstance(event, InboundMessage) else event.event_id.removeprefix("int:"))
        for event in commit.events
    ]


HIDDEN = "59"  # a channel that cannot be read back for a while
CHANNELS = (ROOM, THREAD, HIDDEN)


@dataclass
class Session:
    id: str
    dispatches: list[Dispatch] = field(default_factory=list)
    sent: int = 0


class IngestMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock_s = 0.0
        self.history: list[tuple[int, str]] = []  # every message said, and where
        self.sessions = 0
        self.session: Session | None = None
        self.stored: dict[int, None] = {}
        self.cursor: str | None = None
        self.box = Ingest(context(), Cursor())
        self.asked: FetchChannel | FillGap | None = None
        self.connect()
        self.listen(1)
        self.work(1)  # the first session is committed: what was said before is not owed

    # ------------------------------------------------------------ Discord

    @property
    def now(self) -> float:
        self.clock_s += 1
        return self.clock_s

    def dispatch(self, dispatch: Dispatch) -> None:
        if self.session is not None:
            number = len(self.session.dispatches) + 1
            self.session.dispatches.append(Dispatch(dispatch.event, number, dispatch.data))

    def connect(self) -> None:
        """Resume, or open another session: what was said in between is history then."""
        before = self.box.resume_from
        if before is None or self.session is None or before.id != self.session.id:
            self.box.session_lost()
            self.sessions += 1
            self.session = Session(f"session-{self.sessions}")
            self.dispatch(ready(self.session.id))
        else:
            self.session.sent = before.seq
            self.dispatch(Dispatch("RESUMED", None, None))

    def say(self, channel: str) -> None:
        message_id = snowflake(self.now)
        self.history.append((message_id, channel))
        self.dispatch(said(0, message_id, channel))

    @rule(events=st.lists(st.sampled_from((*CHANNELS, None)), min_size=1, max_size=4), heard=st.booleans())
    def talk(self, events: list[str | None], *, heard: bool) -> None:
        for channel in events:
            if channel is None:
                self.dispatch(used(0, snowflake(self.now)))
            else:
                self.say(channel)
        self.listen(9 * heard)

    @rule(many=st.integers(1, 9))
    def listen(self, many: int) -> None:
        assert self.session is not None
        for dispatch in self.session.dispatches[self.session.sent : self.session.sent + many]:
            self.session.sent += 1
            self.box.receive(dispatch)

    @rule()
    def reconnect(self) -> None:
        self.connect()

    @rule(channels=st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=3), heard=st.booleans())
    def lose_session(self, channels: list[str], *, heard: bool) -> None:
        self.session = None
        for channel in channels:
            self.say(channel)
        self.connect()
        self.listen(2 * heard)

    # ------------------------------------------------------------ the process

    @rule()
    def crash(self) -> None:
        self.box, self.asked = Ingest(context(), read_cursor(self.cursor)), None
        self.connect()

    @rule(steps=st.integers(1, 4))
    def work(self, steps: int) -> None:
        for _ in range(steps):
            step = self.box.next(NOW + timedelta(seconds=self.clock_s))
            if isinstance(step, Commit):
                self.stored |= dict.fromkeys(ids(step))
                self.cursor = step.cursor or self.cursor
                self.box.mark_committed(step)
            elif step is not None:
                assert self.asked is None
                self.asked = step

    @rule()
    def be_refused(self) -> None:
        step = self.box.next(NOW + timedelta(seconds=self.clock_s))
        if isinstance(step, Commit):
            assert step is self.box.next(NOW)
        elif step is not None:
            self.asked = step

    @precondition(lambda self: self.asked is not None)
    @rule(whole=st.booleans())
    def finish(self, whole: bool) -> None:
        asked, self.asked = self.asked, None
        if isinstance(asked, FetchChannel):
            self.box.channel_known(Place(asked.id, "5"))
        elif asked is not None:
            self.read(asked.since, CHANNELS if whole else (ROOM, THREAD))
            self.box.gap_filled(whole=whole)

    @precondition(lambda self: read_cursor(self.cursor).behind > 0 and not self.box.has_gap)
    @rule()
    def catch_up(self) -> None:
        self.read(read_cursor(self.cursor).behind, (HIDDEN,))
        self.box.caught_up()

    def read(self, since: int, channels: tuple[str, ...]) -> None:
        self.stored |= {message: None for message, channel in self.history if message > since and channel in channels}

    # ------------------------------------------------------------ what holds

    @invariant()
    def what_the_store_says_is_behind_us_is_stored(self) -> None:
        cursor = read_cursor(self.cursor)
        session = self.session
        resumed = session is not None and cursor.session is not None and cursor.session.id == session.id
        told = [dispatch.data for dispatch in session.dispatches[cursor.session.seq :]] if resumed else []
        replayed = {int(data["id"]) for data in told if isinstance(data, dict) and "author" in data}
        for message, _ in self.history:
            fetched = message > (cursor.last if cursor.unread_from is None else cursor.unread_from)
            if resumed and cursor.unread_from is None:
                fetched = False
            assert message in self.stored or message in replayed or fetched

    def teardown(self) -> None:
        assert self.session is not None
        for _ in range(4 * (len(self.session.dispatches) + 10)):
            self.listen(6)
            self.work(4)
            if self.asked is not None:
                self.finish(whole=True)
        self.read(read_cursor(self.cursor).behind or 2**64, (HIDDEN,))
        assert {message for message, _ in self.history} <= self.stored.keys()
        readable = [message for message, channel in self.history if channel != HIDDEN]
        assert readable == [message for message in self.stored if message in set(readable)]


def test_nothing_said_is_lost_and_order_is_kept():
    run_state_machine_as_test(
        IngestMachine, settings=settings(max_examples=share(200), stateful_step_count=20, deadline=None)
    )


FIRST = snowflake(1)


def commit(box: Ingest) -> Commit:
    step = box.next(NOW)
    assert isinstance(step, Commit)
    box.mark_committed(step)
    return step


def cursor_of(step: Commit) -> Cursor:
    assert step.cursor is not None
    return read_cursor(step.cursor)


def test_interactions_overtake_a_gap_and_move_nothing():
    box = ingest(Cursor(GatewaySession("s", "wss://g", 5), snowflake(-60), gap=True))
    box.next(NOW)
    box.receive(said(6, FIRST))
    box.receive(used(7, FIRST + 1))
    step = commit(box)
    assert ([FIRST + 1], None) == (ids(step), step.cursor)
    assert ["secret"] == [reply_route.token for reply_route in step.reply_routes]
    assert box.next(NOW) is None
    box.gap_filled(whole=True)
    assert 5 == getattr(cursor_of(commit(box)).session, "seq", None)
    assert [FIRST] == ids(commit(box))


def test_an_id_beyond_tomorrow_hides_nothing():
    box = ingest()
    box.receive(said(2, FIRST))
    box.receive(said(3, snowflake(timedelta(days=2).total_seconds())))
    assert FIRST == cursor_of(commit(box)).last


@pytest.mark.parametrize("data", [None, [], {"session_id": 7}, {"session_id": "s", "resume_gateway_url": "http://["}])
def test_a_ready_that_opens_no_session_is_refused_and_changes_nothing(data: object):
    box = ingest()
    with pytest.raises(ValueError, match=r"."):
        box.receive(Dispatch("READY", 1, data))  # type: ignore[arg-type]  # no JSON of a session
    assert ("s", False, None) == (getattr(box.resume_from, "id", None), box.is_connected, box.next(NOW))


def test_what_is_no_event_is_kept_in_its_place():
    box = ingest()
    box.receive(Rejected("frame:1", "?", "no JSON"))
    box.receive(said(2, FIRST))
    box.receive(Dispatch("MESSAGE_CREATE", 3, {"id": 7}))
    step = commit(box)
    assert ([FIRST], 2, 3) == (ids(step), len(step.rejected), getattr(cursor_of(step).session, "seq", None))
