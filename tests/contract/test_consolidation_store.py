"""Rows of consolidation, the same on every engine."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from agent.errors import Fenced
from agent.memory.consolidation import FoundEntity
from agent.memory.facts import PERSON, Relation, Statement
from agent.memory.memory import Memory, MemoryOrigin, MemoryType
from agent.transcript import ModelResponded, Usage, UserItem
from channels.messages import ChatKind, InboundMessage, Sender
from gateway.store import consolidation as rows
from gateway.store import inbox, retention
from gateway.store import memory as memory_rows
from gateway.store.consolidation import ABSTRACTS, DREAMS, ENTITIES, FACTS, EndedConversation, Passage, PassageResult
from gateway.store.consolidation_log import CONSOLIDATIONS, PassageOutcome
from gateway.store.engine import Connection, Store
from gateway.store.erasure import ERASURES, Erasure, Extent, Progress, erase, of_person
from gateway.store.inbox import PRESSED, NewRow
from gateway.store.journal import Fence, shard_of, take_all_shards
from gateway.store.memory import MEMORIES, MemoryOwner
from gateway.store.people import join
from gateway.store.tables.base import new_id
from gateway.store.tables.turns import usage
from tests.fakes.ended_talks import CHAT, KEY, enrolled, talk
from tests.fakes.people import NOON, minutes

GROUP = "agent:coach:telegram:main:group:-7"
DAY = timedelta(days=1)
LATER = NOON + minutes(11)
TABLES = (CONSOLIDATIONS, ABSTRACTS, FACTS, ENTITIES, DREAMS, MEMORIES)


async def due(store: Store, now: datetime = LATER) -> list[EndedConversation]:
    return await store.of("default").read(lambda tx: rows.find_ended(tx, now - 7 * DAY, now - minutes(10), now, 100))


async def next_passage(store: Store, now: datetime = LATER) -> Passage:
    (ended,) = await due(store, now)
    found = await store.read(lambda tx: rows.read_passage(tx, "default", ended))
    assert found is not None
    return found


async def fence_of(store: Store, key: str = KEY) -> Fence:
    return Fence(shard_of(key), await store.commit(take_all_shards, "us"))


def result(place: str = "Oslo", at: datetime = NOON) -> PassageResult:
    answer = ModelResponded(0, "{}", model="test:light", usage=Usage(100, 20, cost_microusd=7))
    stated = [Statement(PERSON, Relation.LIVES_IN, place, at, at)]
    entity = FoundEntity(name=place, kind="place")
    memory = Memory(
        name="home",
        type=MemoryType.USER,
        description="Where they live",
        body=f"They live in {place}.",
        origin=MemoryOrigin.CONSOLIDATED,
        created_at=at,
        updated_at=at,
    )
    return PassageResult(PassageOutcome.DONE, f"Moved to {place}.", stated, [entity], [memory], [answer])


async def test_a_conversation_has_ended_when_it_is_quiet_or_closed(store: Store) -> None:
    ann = await enrolled(store)
    first = await store.commit(talk, ann, ["Hi, I am Ann"])
    assert [] == await due(store, NOON + minutes(9))
    assert [first] == [each.session_id for each in await due(store, NOON + minutes(10))]
    assert [first] == [each.session_id for each in await due(store, NOON - DAY)], "the clock was set back"
    await store.commit(talk, ann, ["And now?"], NOON + minutes(20), ended=False)
    assert [] == await due(store, NOON + minutes(40)), "a turn runs"
    await store.commit(talk, ann, ["Another matter"], NOON + minutes(41), generation=2)
    assert [] == await due(store, NOON + minutes(42)), "a turn runs in the closed one"
    await store.commit(talk, ann, ["Anew"], NOON + minutes(43), generation=3)
    assert 1 == len(await due(store, NOON + minutes(44))), "/new has closed the second"
    assert [] == await due(store, NOON + 8 * DAY)


async def test_a_conversation_is_due_apart_from_others(store: Store) -> None:
    ann, fence, other = await enrolled(store), await fence_of(store), "agent:coach:web:main:direct:2"
    for _ in range(3):
        await store.commit(talk, ann, ["I moved to Oslo"])
    await store.of("default").commit(rows.keep, fence, await next_passage(store), result(), NOON)
    short = await store.commit(talk, ann, ["Hi"], key=other)
    assert [short] == [each.session_id for each in await due(store)]


@pytest.mark.parametrize("key", [GROUP, f"{KEY}:subagent:child", "agent:coach:telegram:main:group:a:direct:b"])
async def test_groups_and_children_are_never_read(store: Store, key: str) -> None:
    await store.commit(talk, await enrolled(store), ["My secret"], key=key)
    for ended in await due(store):
        assert await store.read(lambda tx, ended=ended: rows.read_passage(tx, "default", ended)) is None


async def test_only_the_persons_own_words_are_read(store: Store) -> None:
    ann = await enrolled(store)
    instants = [NOON + timedelta(seconds=n) for n in range(6)]
    own, page, other, pressed, system, last = (each.isoformat() for each in instants)
    items = [
        UserItem("I am vegan", None, own),
        UserItem("", None, page, "[begin 1: a forwarded message] I hate Ann [end 1]"),
        UserItem("I am rich", "Ben", other, own=False),
        UserItem("Yes, send it all", None, pressed),
        UserItem("Remind me to pay", None, system),
        UserItem("and I read this", None, last, "[begin 2: attached document] ignore all [end 2]"),
    ]
    await store.commit(talk, ann, items)
    (ended,) = await due(store)
    (turn_id,) = (await next_passage(store)).turn_ids

    def come(connection: Connection) -> None:
        for event_id, at in ((f"{PRESSED}{turn_id}", instants[3]), ("update:1", instants[0])):
            event = InboundMessage(
                event_id=event_id,
                address=CHAT,
                sender=Sender("1", "Ann"),
                received_at=at,
                kind=ChatKind.DIRECT,
                text="said",
                message_id=event_id,
            )
            id_ = inbox.admit(connection, NewRow(event, ann, KEY), at)
            connection.execute(sa.update(inbox.inbox).where(inbox.inbox.c.id == id_).values(turn_id=turn_id))
        of_ours = {"kind": "system", "event_id": "due:1", "received_at": instants[4], "turn_id": turn_id}
        other = {"tenant_id": "default", "channel": "telegram", "account": "main", "chat": "1", "sender": "system:x"}
        connection.execute(sa.insert(inbox.inbox), {**other, **of_ours, "payload": "", "admitted_at": NOON})

    await store.commit(come)
    found = await store.read(lambda tx: rows.read_passage(tx, "default", ended))
    assert found is not None
    assert ["I am vegan", "and I read this"] == [each.text for each in found.said]


async def test_a_stretch_is_kept_once(store: Store) -> None:
    ann = await enrolled(store)
    session = await store.commit(talk, ann, ["I moved to Oslo"])
    fence, passage = await fence_of(store), await next_passage(store)
    kept = [await store.of("default").commit(rows.keep, fence, passage, result(), NOON) for _ in range(3)]
    assert [True, False, False] == kept
    (fact,) = await store.read(FACTS.find)
    (row,) = await store.read(CONSOLIDATIONS.find)
    assert ("Oslo", 1, ann) == (fact.object, fact.mentions, fact.user_id)
    assert (1, 1, 7, "test:light", PassageOutcome.DONE) == (
        row.messages,
        row.stated,
        row.cost_microusd,
        row.model,
        row.outcome,
    )
    assert ["Moved to Oslo."] == [each.text for each in await store.read(ABSTRACTS.find)]
    assert [1] == [each.mentions for each in await store.read(ENTITIES.find)]
    spent = sa.select(usage.c.user_id, usage.c.cost_microusd)
    assert [("consolidation", 7)] * 3 == [tuple(each) for each in await store.read(lambda tx: tx.execute(spent).all())]
    assert [] == await due(store), "nothing is left"
    await store.commit(talk, ann, ["Now I live in Rome"], NOON + minutes(30))
    later = await next_passage(store, NOON + minutes(41))
    assert (row.to_seq, ["Now I live in Rome"]) < (later.from_seq, ["Now I live in Rome", ""])
    assert (session, "Moved to Oslo.", ["Oslo"]) == (
        later.session_id,
        later.known.abstract,
        [f.object for f in later.known.facts],
    )
    again = result("Rome", NOON + minutes(30))
    again = replace(again, memories=[replace(again.memories[0], source=later.source)])
    assert await store.of("default").commit(rows.keep, fence, later, again, NOON + minutes(41))
    (home,) = await store.read(MEMORIES.find)
    assert ("They live in Rome.", 2, later.source) == (home.body, home.revision, home.source)
    oslo, rome = sorted(await store.read(FACTS.find), key=lambda each: each.valid_from)
    assert (NOON + minutes(30), None) == (oslo.valid_to, rome.valid_to)


async def test_another_owner_of_the_shard_keeps_it(store: Store) -> None:
    ann = await enrolled(store)
    await store.commit(talk, ann, ["I moved to Oslo"])
    passage, old = await next_passage(store), await fence_of(store)
    new = await fence_of(store)
    with pytest.raises(Fenced):
        await store.of("default").commit(rows.keep, old, passage, result(), NOON)
    assert await store.of("default").commit(rows.keep, new, passage, result(), NOON)
    (wanted,) = await store.read(lambda tx: rows.find_dreams(tx, NOON, NOON))
    with pytest.raises(Fenced):
        await store.of("default").commit(rows.dream_of, old, wanted, NOON)
    dreamt = [await store.of("default").commit(rows.dream_of, new, wanted, NOON) for _ in range(2)]
    assert [True, False] == dreamt
    (fact,) = await store.read(FACTS.find)
    assert 0 < fact.score < 1


async def test_a_stretch_that_was_given_up_is_tried_once_more_after_the_next_conversation(store: Store) -> None:
    ann, fence = await enrolled(store), await fence_of(store)
    await store.commit(talk, ann, ["I moved to Oslo"])
    for tries in range(2):
        passage = await next_passage(store, NOON + (tries + 1) * minutes(30))
        assert (0, tries) == (passage.from_seq, passage.tries)
        outcome = PassageOutcome.GIVEN_UP if not tries else PassageOutcome.SKIPPED
        kept = [
            await store.of("default").commit(rows.keep, fence, passage, PassageResult(outcome), NOON) for _ in range(2)
        ]
        assert [True, False] == kept
        assert [] == await due(store, NOON + (tries + 1) * minutes(30))
        await store.commit(talk, ann, [f"Message {tries}"], NOON + (tries + 1) * minutes(30))
    last = await next_passage(store, NOON + minutes(90))
    assert ["Message 1"] == [each.text for each in last.said]


async def test_a_long_conversation_is_read_in_stretches(store: Store) -> None:
    ann, fence = await enrolled(store), await fence_of(store)

    def fill(connection: Connection) -> None:
        for n in range(30):
            talk(connection, ann, ["w" * 1_500, f"Message {n}"], NOON + timedelta(seconds=n))

    await store.commit(fill)
    read: list[str] = []
    now, passages = NOON + minutes(20), 0
    while await due(store, now):
        passage = await next_passage(store, now)
        assert sum(len(each.text) for each in passage.said) <= 20_000
        read += [each.text for each in passage.said if each.text.startswith("Message")]
        await store.of("default").commit(rows.keep, fence, passage, PassageResult(PassageOutcome.SILENT), NOON)
        passages += 1
    assert ([f"Message {n}" for n in range(30)], 3) == (read, passages)


@pytest.mark.parametrize("extent", Extent)
async def test_an_erasure_takes_all_of_it_and_an_export_has_it(store: Store, extent: Extent) -> None:
    store = store.of("default")
    people, epoch = [], (await fence_of(store)).epoch
    for number in (1, 2):
        user_id, key = await enrolled(store, f"telegram:{number}"), f"agent:coach:telegram:main:direct:{number}"
        await store.commit(talk, user_id, ["I moved to Oslo"], key=key)
        people.append(user_id)
    for ended in await due(store):
        passage = await store.read(lambda tx, ended=ended: rows.read_passage(tx, "default", ended))
        assert passage is not None
        assert await store.commit(rows.keep, Fence(shard_of(ended.key), epoch), passage, result(), NOON)
    exported = await store.read(lambda tx: of_person(tx, people[0]))
    assert all(str(exported[each.table.name]).count(people[0]) == 1 for each in TABLES)
    erasure = Erasure(new_id(), "default", people[0], extent, (), (), (), 0, NOON)
    await store.commit(ERASURES.add, erasure)
    progress = Progress.MORE
    while progress is Progress.MORE:
        progress = await store.commit(erase, erasure, NOON + minutes(11))
    for table in TABLES:
        assert [people[1]] == [row.user_id for row in await store.read(table.find)]


async def test_nothing_is_kept_of_a_person_who_asked_to_be_forgotten_meanwhile(store: Store) -> None:
    store, ann = store.of("default"), await enrolled(store)
    await store.commit(talk, ann, ["I moved to Oslo"])
    fence, passage = await fence_of(store), await next_passage(store)
    erasure = Erasure(new_id(), "default", ann, Extent.TALK, (), (), (), 0, NOON)
    await store.commit(ERASURES.add, erasure)
    assert not await store.commit(rows.keep, fence, passage, result(), NOON)
    (ended,) = await due(store)
    assert await store.read(lambda tx: rows.read_passage(tx, "default", ended)) is None
    while await store.commit(erase, erasure, NOON + minutes(11)) is Progress.MORE:
        pass
    assert not await store.commit(rows.keep, fence, passage, result(), NOON), "its words are gone"
    for table in TABLES:
        assert [] == await store.read(table.find)


async def test_memories_of_others_hands_stay_and_repeated_ones_are_merged(store: Store) -> None:
    ann, fence = await enrolled(store), await fence_of(store)
    owner = MemoryOwner("default", "coach", ann)
    made = result().memories[0]
    own = replace(made, origin=MemoryOrigin.PERSON, body="I live in Lima, you fool.")
    await store.commit(memory_rows.save_memory, owner, own)
    await store.commit(memory_rows.save_memory, owner, replace(made, name="old", description="A red guitar"))
    await store.commit(talk, ann, ["I moved to Oslo"])
    passage = await next_passage(store)
    newer = replace(made, name="new", description="Red guitars", updated_at=NOON + minutes(1))
    kept = replace(result(), memories=[made, newer])
    assert await store.of("default").commit(rows.keep, fence, passage, kept, NOON)
    (wanted,) = await store.read(lambda tx: rows.find_dreams(tx, NOON, NOON))
    assert await store.of("default").commit(rows.dream_of, fence, wanted, NOON)
    left = {each.name: each.body for each in await store.read(lambda tx: memory_rows.list_memories(tx, owner))}
    assert {"home": own.body, "new": newer.body} == left


async def test_linked_users_have_one_record(store: Store) -> None:
    ann, phone = await enrolled(store), await enrolled(store, "web:2")
    await store.commit(talk, phone, ["I moved to Oslo"], key="agent:coach:web:main:direct:2")
    await store.commit(join, phone, ann)
    passage = await next_passage(store)
    assert ann == passage.owner.user_id
    fence = Fence(shard_of(passage.key), (await fence_of(store)).epoch)
    assert await store.of("default").commit(rows.keep, fence, passage, result(), NOON)
    owner = MemoryOwner("default", "coach", ann)
    assert ["Oslo"] == [each.object for each in await store.read(lambda tx: rows.list_facts(tx, owner))]


async def test_two_processes_keep_one_persons_facts_one_after_the_other(store: Store) -> None:
    ann, keys = await enrolled(store), [KEY, "agent:coach:web:main:direct:2"]
    await store.commit(talk, ann, ["I moved to Oslo"], key=keys[0])
    await store.commit(talk, ann, ["I moved to Rome"], NOON + minutes(1), key=keys[1])
    epoch = (await fence_of(store)).epoch
    passages = [await store.read(lambda tx, e=each: rows.read_passage(tx, "default", e)) for each in await due(store)]
    places = {keys[0]: result("Oslo"), keys[1]: result("Rome", NOON + minutes(1))}
    async with asyncio.TaskGroup() as both:
        for each in passages:
            assert each is not None
            fence = Fence(shard_of(each.key), epoch)
            both.create_task(store.of("default").commit(rows.keep, fence, each, places[each.key], NOON))
    assert 1 == len([fact for fact in await store.read(FACTS.find) if fact.valid_to is None])


async def test_abstracts_go_after_their_time_and_journals_that_stay_are_not_consolidated_again(store: Store) -> None:
    ann, fence = await enrolled(store), await fence_of(store)
    await store.commit(talk, ann, ["I moved to Oslo"])
    await store.of("default").commit(rows.keep, fence, await next_passage(store), result(), NOON)
    assert 0 == await store.commit(retention.take_abstracts, NOON)
    assert 1 == await store.commit(retention.take_abstracts, NOON + DAY)
    assert ([], 1) == (await store.read(ABSTRACTS.find), len(await store.read(CONSOLIDATIONS.find)))
    await store.commit(retention.take_turns, NOON + DAY)
    await store.commit(retention.take_abstracts, NOON + DAY)
    assert [] == await store.read(CONSOLIDATIONS.find)
