"""Whatever happens to sessions, the store and the process: everything said is stored, in its order."""

from dataclasses import dataclass, field
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from channels.discord.channel_cache import Place
from channels.discord.cursor import Cursor, read_cursor
from channels.discord.ingest import Commit, Dispatch, FetchChannel, FillGap, Ingest
from tests.fakes.amounts import share
from tests.fakes.discord_ingest import NOW, ROOM, THREAD, context, ids, ready, said, snowflake, used

HIDDEN = "59"  # a channel that cannot be read back for a while
CHANNELS = (ROOM, THREAD, HIDDEN)


@dataclass
class Session:
    """What Discord keeps of a session: a dispatch's number is its place, counted from 1."""

    id: str
    dispatches: list[Dispatch] = field(default_factory=list)
    sent: int = 0


class IngestMachine(RuleBasedStateMachine):
    """Discord, a bot's process and its store, without a wire."""

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
        """A second passes whenever something happens."""
        self.clock_s += 1
        return self.clock_s

    def dispatch(self, dispatch: Dispatch) -> None:
        """The session, if there is one, gets it; the process as soon as it listens."""
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
        """Somebody says something."""
        message_id = snowflake(self.now)
        self.history.append((message_id, channel))
        self.dispatch(said(0, message_id, channel))

    @rule(events=st.lists(st.sampled_from((*CHANNELS, None)), min_size=1, max_size=4), heard=st.booleans())
    def talk(self, events: list[str | None], *, heard: bool) -> None:
        """People say something, or use a command, which goes to a session alone; the process may hear of it at once."""
        for channel in events:
            if channel is None:
                self.dispatch(used(0, snowflake(self.now)))
            else:
                self.say(channel)
        self.listen(9 * heard)

    @rule(many=st.integers(1, 9))
    def listen(self, many: int) -> None:
        """The process gets the next dispatches."""
        assert self.session is not None
        for dispatch in self.session.dispatches[self.session.sent : self.session.sent + many]:
            self.session.sent += 1
            self.box.receive(dispatch)

    @rule()
    def reconnect(self) -> None:
        """The connection ends; the session is kept."""
        self.connect()

    @rule(channels=st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=3), heard=st.booleans())
    def lose_session(self, channels: list[str], *, heard: bool) -> None:
        """Discord forgets the session, and people go on while none stands."""
        self.session = None
        for channel in channels:
            self.say(channel)
        self.connect()
        self.listen(2 * heard)

    # ------------------------------------------------------------ the process

    @rule()
    def crash(self) -> None:
        """Only what the store holds is left."""
        self.box, self.asked = Ingest(context(), read_cursor(self.cursor)), None
        self.connect()

    @rule(steps=st.integers(1, 4))
    def work(self, steps: int) -> None:
        """Commits are made, and what is asked for begins."""
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
        """A commit that the store refuses is given out again."""
        step = self.box.next(NOW + timedelta(seconds=self.clock_s))
        if isinstance(step, Commit):
            assert step is self.box.next(NOW)
        elif step is not None:
            self.asked = step

    @precondition(lambda self: self.asked is not None)
    @rule(whole=st.booleans())
    def finish(self, whole: bool) -> None:
        """What was asked for is done, the hidden channel read or not."""
        asked, self.asked = self.asked, None
        if isinstance(asked, FetchChannel):
            self.box.channel_known(Place(asked.id, "5"))
        elif asked is not None:
            self.read(asked.since, CHANNELS if whole else (ROOM, THREAD))
            self.box.gap_filled(whole=whole)

    @precondition(lambda self: read_cursor(self.cursor).behind > 0 and not self.box.has_gap)
    @rule()
    def catch_up(self) -> None:
        """What could not be read of a gap is read at last."""
        self.read(read_cursor(self.cursor).behind, (HIDDEN,))
        self.box.caught_up()

    def read(self, since: int, channels: tuple[str, ...]) -> None:
        """Store what the history has behind a message."""
        self.stored |= {message: None for message, channel in self.history if message > since and channel in channels}

    # ------------------------------------------------------------ what holds

    @invariant()
    def what_the_store_says_is_behind_us_is_stored(self) -> None:
        """A restart now would be told of, or fetch, everything that is not stored."""
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
        """In the end everything is stored; what was said where it can be read, in the order it was said."""
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
    """Sessions lost and resumed, refused commits, gaps read in part, kills anywhere."""
    run_state_machine_as_test(
        IngestMachine, settings=settings(max_examples=share(200), stateful_step_count=20, deadline=None)
    )
