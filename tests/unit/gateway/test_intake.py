"""Intake: persist, then acknowledge; once each; bounded; nothing that is bad holds up what is good."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from channels.base import KnownChat, NotPersisted
from channels.errors import Permanent, PermanentKind
from channels.messages import Address, InboundEvent, InboundMessage, Membership, MembershipChanged, Rejected
from gateway.access.agents import AgentChoice
from gateway.access.config import AccessConfig
from gateway.access.policy import AccessSnapshot
from gateway.delivery.message_parts import OutboundMessage, to_parts
from gateway.inbound.intake import ChannelSink, Intake
from gateway.inbound.reception import ReceptionDeps
from gateway.store import outbox, people
from gateway.store.causes import AnswerOf
from gateway.store.chats import cursor_of, of_account
from gateway.store.inbox import InboxRow
from gateway.store.outbox import put
from gateway.store.tables.traffic import inbox
from tests.fakes.door import UnheardHealth
from tests.fakes.outages import FickleEngine
from tests.fakes.spine import QuickStore, Spine

OPEN = AccessConfig.model_validate({"direct": "open"})


class Announcements:
    def __init__(self) -> None:
        self.rows: list[InboxRow] = []
        self.rereads = 0

    def publish(self, row: InboxRow) -> None:
        self.rows.append(row)

    def reread(self) -> None:
        self.rereads += 1

    @property
    def texts(self) -> list[str]:
        return [row.event.text for row in self.rows if isinstance(row.event, InboundMessage)]


class Door:
    def __init__(self, spine: Spine, engine: FickleEngine) -> None:
        self.spine = spine
        self.engine = engine
        self.bus = Announcements()
        self.snapshot = AccessSnapshot()
        self.waiting = 0
        self.under(OPEN)

    def under(self, access: AccessConfig, timezone: str | None = None) -> None:
        """Begin anew with these rules, and this zone of the settings."""
        self.snapshot.configure("default", access, timezone=timezone)
        self.intake = Intake(
            self.spine.store,
            access,
            self.snapshot,
            self.spine.delivery,
            self.bus,
            lambda _key: self.waiting,
            lambda: self.spine.now,
            ReceptionDeps(AgentChoice("coach", AccessSnapshot()), vault=self.spine.vault, timezone=timezone),
        )

    async def receive(
        self, *events: InboundEvent, rejected: tuple[Rejected, ...] = (), cursor: str | None = None
    ) -> None:
        sink = ChannelSink(self.spine.store, {"default": self}, self.spine.channel, UnheardHealth(), "default")
        await sink.receive(events, rejected=rejected, cursor=cursor)

    async def rows(self) -> list[tuple[str, str | None]]:
        query = sa.select(inbox.c.event_id, inbox.c.outcome).order_by(inbox.c.id)
        return await self.spine.store.read(lambda c: [(row.event_id, row.outcome) for row in c.execute(query)])

    async def chats(self) -> list[KnownChat]:
        return await self.spine.store.read(lambda c: of_account(c, "sim", "main"))


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    engine = FickleEngine(tmp_path / "tenk.db")
    store = await QuickStore(engine).start()
    spine = Spine(store)
    spine.channel.limited(max_text=2000)
    await spine.begin()
    yield Door(spine, engine)
    await spine.kill()
    await store.aclose()


async def test_what_is_received_is_committed_with_its_cursor_and_announced_in_order(door: Door) -> None:
    events = [door.spine.message(text) for text in ("one", "two", "three")]
    await door.receive(*events, cursor="17")
    assert ["one", "two", "three"] == door.bus.texts
    assert "17" == await door.spine.store.read(lambda c: cursor_of(c, "sim", "main"))
    assert 1 == len(door.snapshot)


async def test_a_devices_zone_is_taken_if_the_person_set_none(door: Door) -> None:
    spoken = door.spine.message("hello")
    await door.receive(replace(spoken, event_id="no", timezone="Europe/Atlantis"))
    await door.receive(replace(spoken, event_id="a", timezone="Europe/Madrid"))
    (person,) = await door.spine.store.read(people.everybody)
    assert ("Europe/Madrid", False) == (person.timezone, person.lacks_zone)
    assert person == door.snapshot.person(person.user_id)
    await door.receive(replace(spoken, event_id="b", timezone="Asia/Tokyo"))
    told = await door.spine.store.read(lambda c: list(c.execute(sa.text("SELECT plain FROM outbox")).scalars()))
    assert ["Your days are counted in Europe/Madrid, the zone of your device; /timezone changes it."] == told


async def test_the_zone_of_the_settings_is_taken_in_silence_if_no_device_tells_one(door: Door) -> None:
    door.under(OPEN, "Asia/Tokyo")
    await door.receive(door.spine.message("hello"))
    (person,) = await door.spine.store.read(people.everybody)
    assert ("Asia/Tokyo", False) == (person.timezone, person.lacks_zone)
    door.snapshot.put(replace(person, timezone="UTC", lacks_zone=True))  # as one who was let in, and said nothing yet
    assert "Asia/Tokyo" == door.snapshot.principal(person.user_id).timezone
    assert 0 == await door.spine.store.read(lambda c: c.execute(sa.text("SELECT count(*) FROM outbox")).scalar())


async def test_what_is_offered_again_and_again_in_an_outage_is_counted_once(door: Door) -> None:
    door.under(AccessConfig.model_validate({"direct": "open", "limits": {"burst_messages": 2}}))
    await door.receive(door.spine.message("known"))
    event = door.spine.message("one")
    door.engine.down = True
    for _ in range(5):
        with pytest.raises(NotPersisted):
            await door.receive(event)
    door.engine.down = False
    await door.receive(event)
    assert ["known", "one"] == door.bus.texts


async def test_an_unheard_commit_is_looked_for(door: Door) -> None:
    door.under(AccessConfig())
    event = door.spine.message("let me in")
    door.engine.unheard = 1
    with pytest.raises(NotPersisted):
        await door.receive(event)
    assert 1 == door.bus.rereads
    await door.receive(event)
    await door.spine.quiet()
    assert 1 == len(door.spine.channel.shown())


async def test_over_the_bound_is_told_once_a_minute(door: Door) -> None:
    door.under(AccessConfig.model_validate({"direct": "open", "limits": {"burst_messages": 1, "messages_per_min": 1}}))
    for text in ("known", "taken", "too much", "much too much"):
        await door.receive(door.spine.message(text))
    await door.spine.quiet()
    assert ["known", "taken"] == door.bus.texts
    assert ["refused", "refused"] == [outcome for _, outcome in await door.rows()][2:]
    assert 1 == len(door.spine.channel.shown())


async def test_a_full_queue_of_ones_own_is_told_too(door: Door) -> None:
    await door.receive(door.spine.message("known"))
    door.waiting = 200
    await door.receive(door.spine.message("one more"))
    await door.spine.quiet()
    assert "200" in door.spine.channel.shown()[0]


async def test_poison_beside_good_ones_is_put_aside(door: Door) -> None:
    good = [door.spine.message(text) for text in ("one", "two")]
    poison = replace(door.spine.message("bad"), text="\ud800")
    await door.receive(good[0], poison, good[1], cursor="9")
    assert ["one", "two"] == door.bus.texts
    assert {"quarantined", None} == {outcome for _, outcome in await door.rows()}
    assert 3 == len(await door.rows())
    assert "9" == await door.spine.store.read(lambda c: cursor_of(c, "sim", "main"))


async def test_what_could_not_be_read_is_kept_whatever_it_holds(door: Door) -> None:
    """Cover F40."""
    await door.receive(
        door.spine.message("good"),
        rejected=(Rejected("e" * 900, "raw \x00 \ud800", "why \x00"), Rejected("f", "{}", "not a message")),
    )
    assert ["good"] == door.bus.texts
    assert ["quarantined"] * 2 == [outcome for _, outcome in (await door.rows())[1:]]


async def test_nul_in_a_text_comes_through(door: Door) -> None:
    """Cover F40."""
    await door.receive(door.spine.message("a\x00b"))
    assert 1 == len(door.bus.rows)


def membership(door: Door, change: Membership) -> MembershipChanged:
    event = door.spine.message("")
    return MembershipChanged(
        event_id=event.event_id,
        address=event.address,
        sender=event.sender,
        received_at=event.received_at,
        change=change,
    )


async def test_a_person_who_blocks_the_bot_hears_nothing_until_they_are_back(door: Door) -> None:
    await door.receive(door.spine.message("hello"))
    await door.receive(membership(door, Membership.BLOCKED))
    parts = to_parts(door.spine.channel, OutboundMessage(door.spine.message("").address, AnswerOf("t1"), "an answer"))
    await door.spine.store.commit(put, "default", parts, door.spine.now)
    await door.spine.quiet()
    assert [] == door.spine.channel.calls
    await door.receive(membership(door, Membership.UNBLOCKED))
    await door.spine.quiet()
    assert ["an answer"] == door.spine.channel.shown()


async def test_the_operator_reads_what_to_allow_once_a_group(door: Door) -> None:
    with capture_logs() as logs:
        for chat, mentions in (("g1", False), ("g1", True), ("g1", True), ("g2", True)):
            await door.receive(door.spine.message("hello", chat=chat, mentions_bot=mentions))
    assert ["sim:g1", "sim:g2"] == [line["group"] for line in logs if line["event"] == "group_not_allowed"]
    assert [] == door.bus.rows


async def test_strangers_leave_a_few_rows_without_a_word_in_them(door: Door) -> None:
    door.under(AccessConfig())
    for number in range(2_000):
        await door.receive(door.spine.message(f"canary {number}"), cursor=str(number) if number == 1_999 else None)
    assert 5 == len(await door.rows())
    query = sa.select(inbox.c.payload).distinct()
    assert [""] == await door.spine.store.read(lambda c: list(c.execute(query).scalars()))
    assert "1999" == await door.spine.store.read(lambda c: cursor_of(c, "sim", "main"))


async def test_a_stranger_let_in_is_known_by_what_was_said_before(door: Door) -> None:
    door.under(AccessConfig())
    early = [door.spine.message(f"early {number}") for number in range(7)]
    await door.receive(*early)
    await door.receive(*early)
    assert 5 == len(await door.rows())
    door.under(OPEN)
    await door.receive(*early)
    assert ["early 5", "early 6"] == door.bus.texts


async def test_an_outage_uses_up_no_strangers_bound(door: Door) -> None:
    door.under(AccessConfig.model_validate({"strangers": {"burst_messages": 1}}))
    event = door.spine.message("one")
    door.engine.down = True
    for _ in range(2):
        with pytest.raises(NotPersisted):
            await door.receive(event)
    door.engine.down = False
    await door.receive(event)
    assert 1 == len(await door.rows())


async def test_an_event_that_breaks_the_admission_holds_up_nothing(door: Door) -> None:
    broken = replace(door.spine.message("broken"), address=None)  # type: ignore[arg-type]  what no adapter gives
    late = replace(door.spine.message("late"), received_at="yesterday")  # type: ignore[arg-type]  as above
    with capture_logs() as logged:
        await door.receive(door.spine.message("one"), broken, late, door.spine.message("two"), cursor="9")
    assert 2 == len([line for line in logged if line["event"] == "event_refused"])
    assert ["one", "two"] == door.bus.texts
    outcomes = dict(await door.rows())
    assert ["quarantined"] * 2 == [outcomes[event.event_id] for event in (broken, late)]
    assert "9" == await door.spine.store.read(lambda c: cursor_of(c, "sim", "main"))


async def park(door: Door, chat: str) -> str:
    address = door.spine.message("", chat=chat).address
    parts = to_parts(door.spine.channel, OutboundMessage(address, AnswerOf("t1"), "an answer"))

    def job(connection: sa.Connection) -> None:
        put(connection, "default", parts, door.spine.now)
        outbox.park(connection, "default", address.lane, "no rights to send", door.spine.now)

    await door.spine.store.commit(job)
    door.spine.delivery.park(address.lane)
    return address.lane


async def test_talk_in_a_group_does_not_wake_its_parked_lane(door: Door) -> None:
    lane = await park(door, "g1")
    for number in range(40):
        await door.receive(door.spine.message(f"{number}", chat="g1", mentions_bot=False))
    await door.spine.quiet()
    assert (True, []) == (lane in door.spine.delivery.parked, door.spine.channel.calls)


@pytest.mark.parametrize("chat", ["g1", "c1"])
async def test_what_is_meant_for_the_bot_wakes_a_parked_lane_once_a_minute(door: Door, chat: str) -> None:
    account = {"direct": "open", "groups": "open", "allow_groups": ["sim:g1"]}
    door.under(AccessConfig.model_validate({"direct": "open", "accounts": {"sim:main": account}}))
    await park(door, chat)
    refused = Permanent("no rights", PermanentKind.BLOCKED)
    door.spine.channel.fates.extend([refused] * 9)
    for _ in range(3):
        for number in range(10):
            await door.receive(door.spine.message(f"{number}", chat=chat))
            await door.spine.quiet()
        door.spine.later(seconds=60)
    assert 3 == len(door.spine.channel.calls)
    door.spine.channel.fates.clear()
    await door.receive(door.spine.message("please", chat=chat))
    await door.spine.quiet()
    assert ["an answer"] == door.spine.channel.shown(chat)


async def test_a_bot_that_is_let_back_in_says_at_once_what_waits(door: Door) -> None:
    door.spine.channel.fates.append(Permanent("no rights", PermanentKind.BLOCKED))
    await park(door, "g1")
    await door.receive(door.spine.message("hello", chat="g1"))
    await door.spine.quiet()
    said = door.spine.message("", chat="g1")
    back = MembershipChanged(
        event_id="back", address=said.address, sender=said.sender, received_at=said.received_at, change=Membership.ADDED
    )
    await door.receive(back)
    await door.spine.quiet()
    assert ["an answer"] == door.spine.channel.shown("g1")
    await park(door, "g1")
    door.spine.later(days=-1)
    await door.receive(door.spine.message("and now?", chat="g1"))
    assert 0 == len(door.spine.delivery.parked)


async def test_chats_of_people_who_are_let_in_are_written_down_and_no_strangers(door: Door) -> None:
    spine, here = door.spine, {"accounts": {"sim:main": {"allow_groups": ["sim:g1"], "groups": "open"}}}

    async def in_thread(**more: object) -> None:
        said = spine.message("hey", "p1", "g1", **more)
        await door.receive(replace(said, address=Address("sim", "main", "g1", "t1")))

    door.under(AccessConfig.model_validate(here | {"direct": "open"}))
    await door.receive(spine.message("hi", "p1", "c1"))
    begun = spine.now
    spine.later(minutes=50)
    await door.receive(spine.message("hi again", "p1", "c1"))
    await in_thread(mentions_bot=False)
    direct = KnownChat("c1", None, direct=True, heard_at=begun)
    assert [direct] == await door.chats()
    await in_thread()
    door.under(AccessConfig.model_validate(here | {"direct": "pairing"}))
    await door.receive(spine.message("a stranger", "p9", "c9"))
    assert [KnownChat("g1", "t1", direct=False, heard_at=spine.now), direct] == await door.chats()


async def test_who_chose_a_language_is_told_to_wait_in_it(door: Door) -> None:
    await door.receive(first := replace(door.spine.message("uno"), locale="en"))
    (person,) = await door.spine.store.read(people.everybody)
    door.snapshot.put(replace(person, locale="es"))
    door.waiting = 10_000
    await door.receive(replace(first, event_id="two"))
    told = await door.spine.store.read(lambda c: c.execute(sa.text("SELECT plain FROM outbox")).scalar_one())
    assert "mensajes" in told
