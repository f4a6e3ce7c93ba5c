"""A session under any order of messages, edits, stops, answers and crashes: nothing lost, nothing twice."""

from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agent.errors import FailureKind
from agent.ports import ModelFailure
from agent.transcript import (
    JOURNAL_EVENT,
    AssistantItem,
    Item,
    ModelResponded,
    Steered,
    ToolCall,
    ToolItem,
    TurnStarted,
    UserItem,
    fold,
)
from channels.messages import InboundMessage
from gateway.commands.base import MODES
from gateway.delivery.retry_policy import BACKOFF
from gateway.sessions.config import SessionsConfig
from gateway.sessions.turn_limit import LAST_AFTER_S
from gateway.store.tables.traffic import outbox
from gateway.store.tables.turns import events, turns
from tests.fakes.agents import a_tool, double
from tests.fakes.amounts import share
from tests.fakes.chat import Hang
from tests.fakes.machines import AsyncMachine
from tests.fakes.spine import Spine
from tests.fakes.virtual_time import passes

USERS = st.sampled_from(["p1", "p2"])
CHAT = "g1"
COMMANDS = ["/stop", "/new", *(f"/mode {mode}" for mode in MODES)]


def assert_sendable(items: Sequence[Item]) -> None:
    wanted: list[str] = []
    assert not items or isinstance(items[0], UserItem)
    for item in items:
        if isinstance(item, ToolItem):
            assert wanted and wanted.pop(0) == item.call_id
            continue
        assert not wanted, "a call without its result"
        if isinstance(item, AssistantItem):
            wanted = [call.id for call in item.tool_calls]
    assert not wanted


class Sessions(AsyncMachine):
    """One group session of two members, a model that answers when a rule says so, and a process that may die."""

    def __init__(self) -> None:
        super().__init__()
        self.spine = Spine(self.store, sessions=SessionsConfig(mailbox_size=3), tools=(a_tool("double", double),))
        self.said: dict[int, tuple[str, str]] = {}  # row: person, token
        self.messages: list[tuple[int, InboundMessage, str]] = []
        self.edits: dict[int, int] = {}  # row of an edit: row of its original
        self.answers: list[str] = []
        self.tokens = 0
        self.run(self.spine.begin())

    def token(self) -> str:
        self.tokens += 1
        return f"w{self.tokens}."

    async def settle(self, settled: bool) -> None:
        """Let things come to rest, or go on in the middle of them."""
        if settled:
            await self.spine.quiet()
        else:
            self.spine.check()

    @rule(user=USERS, mark=st.sampled_from(["", "", "! "]), settled=st.booleans())
    def say(self, user: str, mark: str, settled: bool) -> None:

        async def step() -> None:
            token = self.token()
            message = self.spine.message(mark + token, user, CHAT)
            row = await self.spine.admit(message, user)
            self.said[row] = user, token
            self.messages.append((row, message, user))
            await self.settle(settled)

        self.run(step())

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), settled=st.booleans())
    def edit(self, data: st.DataObject, settled: bool) -> None:
        row, message, user = data.draw(st.sampled_from(self.messages[-4:]))

        async def step() -> None:
            token = self.token()
            edit = await self.spine.say(token, user, CHAT, message_id=message.message_id, edited=True)
            self.said[edit] = user, token
            self.edits[edit] = row
            await self.settle(settled)

        self.run(step())

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), settled=st.booleans())
    def take_back(self, data: st.DataObject, settled: bool) -> None:
        _, message, user = data.draw(st.sampled_from(self.messages[-4:]))

        async def step() -> None:
            await self.spine.take_back(message.message_id, user, CHAT)
            await self.settle(settled)

        self.run(step())

    @rule(user=USERS, words=st.sampled_from(COMMANDS), settled=st.booleans())
    def command(self, user: str, words: str, settled: bool) -> None:

        async def step() -> None:
            await self.spine.say(words, user, CHAT)
            await self.settle(settled)

        self.run(step())

    @rule(kind=st.sampled_from(["answer", "answer", "answer", "tool", "failure"]), settled=st.booleans())
    def respond(self, kind: str, settled: bool) -> None:

        async def step() -> None:
            await self.spine.quiet()
            if self.spine.model.asked is None:
                return
            assert_sendable(self.spine.model.requests[-1].items)
            if kind == "tool":
                self.spine.model.give(ModelResponded(0, "", (ToolCall("c", "double", '{"n": 2}'),)))
            elif kind == "failure":
                self.spine.model.give(ModelFailure(FailureKind.AUTH, "no key"))
            else:
                self.give_answer()
            await self.settle(settled)

        self.run(step())

    def give_answer(self) -> None:
        self.answers.append(f"A{len(self.answers)}.")
        self.spine.model.give(self.answers[-1])

    @rule()
    def crash(self) -> None:

        async def step() -> None:
            await self.spine.kill()
            self.spine.model.asked = None
            await self.spine.begin()

        self.run(step())

    # ------------------------------------------------------------ what must hold in the end

    async def last(self) -> None:
        """Let everything come to its end, then look at what is in the store and in the chat."""
        await passes(LAST_AFTER_S)  # after two crashes a last attempt begins only then
        await self.spine.quiet()
        for _ in range(200):
            if self.spine.model.asked is None:
                break
            self.give_answer()
            await self.spine.quiet()
        await passes(2 * BACKOFF.steps_s[-1])  # an edit cut by a death is made again after a pause
        await self.spine.quiet()
        assert self.spine.model.asked is None
        await self.spine.kill()
        outcomes = await self.spine.outcomes()
        assert None not in outcomes.values(), "a row without an outcome"
        journal = await self.store.read(_journal)
        self.each_word_is_read_once(outcomes, journal)
        self.order_is_kept(journal)
        for turns_of_session in journal.values():
            assert_sendable(fold(event for _, _, _, event in turns_of_session))
        await self.all_turns_ended_and_were_told()

    def each_word_is_read_once(self, outcomes: dict[int, str | None], journal: "Journal") -> None:
        read = [(token, user) for rows in journal.values() for user, _, tokens, _ in rows for token in tokens]
        assert len(read) == len({token for token, _ in read}), "a word was read twice"
        spoken = dict(read)
        for row, (user, token) in self.said.items():
            assert spoken.get(token, user) == user, "a turn of somebody else's"
            same = [other for other in self.said if self.edits.get(other, other) == self.edits.get(row, row)]
            replaced = any(other > row and outcomes[other] == "replaced" for other in same)
            must = outcomes[row] in {"answered", "merged", "failed"} and not replaced
            if outcomes[row] == "replaced":  # it stands where another row stood, which was read unless it was cleared
                must = row == max(same) and not any(outcomes[other] in {"cleared", "context"} for other in same)
            assert not must or token in spoken, f"{token} of row {row} was {outcomes[row]} and never read"
            if outcomes[row] == "context":
                assert token not in spoken

    def order_is_kept(self, journal: "Journal") -> None:
        place = {token: self.edits.get(row, row) for row, (_, token) in self.said.items() if row not in self.edits}
        for user in ("p1", "p2"):
            rows = [row for entries in journal.values() for row in entries if row[0] == user]
            words = [token for _, _, tokens, _ in sorted(rows, key=lambda row: row[1]) for token in tokens]
            read = [place[token] for token in words if token in place]
            assert sorted(read) == read

    async def all_turns_ended_and_were_told(self) -> None:
        ends = await self.store.read(lambda c: list(c.execute(sa.select(turns.c.end_reason)).scalars()))
        assert None not in ends
        ended = sa.select(sa.func.count()).where(events.c.kind == "turn_ended")
        assert len(ends) == await self.store.read(lambda c: c.execute(ended).scalar_one())
        states = await self.store.read(lambda c: list(c.execute(sa.select(outbox.c.state)).scalars()))
        assert set(states) <= {"sent", "unknown"}  # unknown: two processes died in the middle of it
        texts = self.spine.channel.shown(CHAT)
        shown = [word for text in texts for word in text.split() if word in self.answers]
        in_order = list(dict.fromkeys(shown))
        assert sorted(in_order, key=self.answers.index) == in_order
        unmarked = [word for text in texts if "↻" not in text for word in text.split() if word in self.answers]
        assert len(set(unmarked)) == len(unmarked)


Journal = dict[str, list[tuple[str, tuple[str, int], list[str], object]]]
"""By session generation: person, place, words read, event; in the order of the journal."""


def _journal(connection: sa.Connection) -> Journal:
    query = (
        sa.select(events.c.session_id, events.c.seq, events.c.payload, turns.c.user_id, turns.c.id)
        .join(turns, turns.c.id == events.c.turn_id)
        .order_by(events.c.session_id, events.c.seq)
    )
    found: Journal = {}
    for row in connection.execute(query):
        event = JOURNAL_EVENT.validate_json(row.payload)
        items = event.items if isinstance(event, TurnStarted | Steered) else ()
        words = [word for item in items for word in item.text.split() if word.startswith("w")]
        found.setdefault(row.session_id, []).append((row.user_id, (row.id, row.seq), words, event))
    return found


def test_an_edit_that_a_death_cut_is_made_again_before_the_last_look() -> None:
    machine = Sessions()
    machine.spine.channel.fates.extend([None, Hang()])
    machine.command(user="p1", words="/mode followup", settled=True)
    machine.crash()
    machine.teardown()


@pytest.mark.timeout(120)  # not on the class that both are made of: its limit would be that of both
class TestSessions(Sessions.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=share(40), stateful_step_count=14, deadline=None)


@pytest.mark.long
@pytest.mark.timeout(3600)
class TestSessionsAtLength(Sessions.TestCase):  # type: ignore[misc,name-defined]  hypothesis makes the class
    settings = settings(max_examples=2_000, stateful_step_count=50, deadline=None)
