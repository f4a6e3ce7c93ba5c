"""A conversation of one direct chat, continued in another of the same person; over a real store."""

from collections.abc import Sequence
from functools import partial

import pytest
import sqlalchemy as sa

from agent.ports import Summary
from agent.transcript import AssistantItem, ModelResponded, ToolCall, UserItem
from gateway.store import conversations, erasure, journal
from gateway.store.conversations import sender_of
from gateway.store.people import person_of
from gateway.store.tables.people import identities, users
from gateway.store.tables.turns import sessions, summaries
from tests.fakes.agents import a_tool, double
from tests.fakes.spine import KEY, NOON, Spine

ELSEWHERE = "agent:coach:sim:main:direct:q1"
"""The other chat of p1's person: they are two senders."""


async def people_of(spine: Spine, **senders: Sequence[str]) -> None:

    def job(connection: sa.Connection) -> None:
        for user_id, keys in senders.items():
            row = {"id": user_id, "tenant_id": "default", "role": "member", "display_name": "", "timezone": "UTC"}
            connection.execute(sa.insert(users), row | {"week_start": 0, "created_at": NOON})
            for channel, _, sender in (key.partition(":") for key in keys):
                who = {"tenant_id": "default", "channel": channel, "scope": "", "sender": sender, "user_id": user_id}
                connection.execute(sa.insert(identities), who | {"linked_at": NOON})

    await spine.store.commit(job)


async def says(
    spine: Spine, text: str, answer: str | None = None, *, chat: str = "c1", sender: str = "p1", user: str = "p1"
) -> None:
    await spine.admit(spine.message(text, sender, chat), user)
    if answer is not None:
        await spine.asked()
        spine.model.give(answer)
    await spine.quiet()
    spine.later(seconds=1)


elsewhere = partial(says, chat="d9", sender="q1")


def last_there(spine: Spine) -> str:
    return spine.channel.shown("d9")[-1]


def asked_last(spine: Spine) -> list[str]:
    items = spine.model.requests[-1].items
    return [item.text for item in items if isinstance(item, UserItem | AssistantItem)]


async def newest(spine: Spine, key: str) -> str:
    query = sa.select(sessions.c.id).where(sessions.c.key == key).order_by(sessions.c.generation.desc()).limit(1)
    return str(await spine.store.read(lambda connection: connection.execute(query).scalar_one()))


async def test_what_is_at_work_there_goes_on_there_and_what_had_ended_is_known_here(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"])
    await says(spine, "My colour is blue", "Noted.")
    await says(spine, "And red?")
    await spine.asked()
    under_way, spine.model.asked = spine.model.asked, None
    await elsewhere(spine, "/sessions 1")
    assert "We go on here with “My colour is blue” from Sim" in last_there(spine)
    await elsewhere(spine, "Which?", "Blue.")
    assert ["My colour is blue", "Noted.", "Which?"] == asked_last(spine)
    spine.model.asked = under_way
    await says(spine, "No, green", "Red.")
    await spine.asked()
    spine.model.give("Green, then.")
    await spine.quiet()
    assert "Green, then." in spine.channel.shown("c1")[-1]
    await elsewhere(spine, "Sure?", "Yes.")
    assert ["My colour is blue", "Noted.", "Which?", "Blue.", "Sure?"] == asked_last(spine)


async def test_a_process_that_dies_takes_up_once(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"])
    await says(spine, "My colour is blue", "Noted.")
    await spine.admit(spine.message("/sessions 1", "q1", "d9"), "p1")
    await spine.kill()
    await spine.begin()
    await spine.quiet()
    await spine.kill()
    spine.model.asked = None
    await spine.begin()
    await elsewhere(spine, "Which?", "Blue.")
    assert ["My colour is blue", "Noted.", "Which?"] == asked_last(spine)
    rows = await spine.store.read(lambda connection: connection.execute(sa.select(sessions)).all())
    assert [None, await newest(spine, KEY)] == sorted(
        (row.continues_id for row in rows if row.key == KEY or row.continues_id), key=str
    )[::-1]


async def test_nothing_of_a_group_or_of_another_is_taken_up_and_nothing_in_a_group(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"], p2=["sim:p2"])
    await says(spine, "Hello all", "Hello.", chat="g1")
    await says(spine, "My secret", "I keep it.", chat="c2", sender="p2", user="p2")
    group, other = await newest(spine, "agent:coach:sim:main:group:g1"), await newest(spine, KEY.replace("p1", "p2"))
    for id_ in (group, other):
        await elsewhere(spine, f"/sessions {id_}")
        assert "I have no conversation" in last_there(spine)
        revive = partial(
            conversations.revive, tenant="default", key=ELSEWHERE, session_id=id_, user_id="p1", mode="steer", now=NOON
        )
        assert not await spine.store.commit(revive)
    await elsewhere(spine, "/sessions")
    assert "There is no conversation here yet." == last_there(spine)
    await says(spine, "I like cats", "Noted.")
    await says(spine, f"/sessions {await newest(spine, KEY)}", chat="g1")
    assert "I have no conversation" in spine.channel.shown("g1")[-1]
    await says(spine, "/sessions", chat="g1")
    assert "cats" not in spine.channel.shown("g1")[-1]


async def test_what_was_taken_up_is_the_present_one_before_anything_is_said(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"])
    await says(spine, "My colour is blue", "Noted.")
    await elsewhere(spine, "/sessions 1")
    await elsewhere(spine, "/title")
    assert "My colour is blue" in last_there(spine)
    await elsewhere(spine, "/sessions")
    listed = "\n".join(spine.channel.shown("d9"))
    assert "1. My colour is blue (2026-03-04 12:00, the present one)" in listed
    assert "2. My colour is blue (Sim, 2026-03-04 12:00)" in listed


async def test_notes_and_long_results_come_along(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"], p2=["sim:p2"])
    spine.tools = (a_tool("look", double),)
    await spine.kill()
    await spine.begin()
    await says(spine, "Look")
    await spine.asked()
    spine.model.give(ModelResponded(0, "", tool_calls=(ToolCall("c1", "look", '{"n": 2}'),)))
    await spine.asked()
    spine.model.give("Seen.")
    await spine.quiet()
    there = await newest(spine, KEY)
    (turn,) = await spine.store.read(lambda c: c.execute(sa.text("SELECT id FROM turns")).scalars().all())
    spine.later(seconds=1)
    await elsewhere(spine, "/sessions 1")
    here = await newest(spine, ELSEWHERE)
    assert here != there
    look = partial(journal.whole_result, session_id=here, call_key=f"{turn}/0/0")
    assert (await spine.store.read(partial(look, user_id="p1"))) is not None
    assert (await spine.store.read(partial(look, user_id="p2"))) is None

    def keep(connection: sa.Connection) -> None:
        state = journal.load_session(connection, "default", KEY, 100)
        assert state is not None
        row = {"session_id": there, "user_id": "p1", "tenant_id": "default", "notes": "They looked.", "turn_id": turn}
        connection.execute(sa.insert(summaries), row | {"step": 0, "condensed": 3, "left_out": 0, "kept_at": NOON})

    await spine.store.commit(keep)
    await elsewhere(spine, f"/sessions {there}")
    kept = await spine.store.read(partial(conversations.find_summaries, session_id=await newest(spine, ELSEWHERE)))
    assert {"p1": Summary("They looked.", turn, 0, 3, 0, NOON)} == kept


async def test_an_erasure_covers_a_conversation_continued_in_silence(spine: Spine) -> None:
    await people_of(spine, p1=["sim:p1", "sim:q1"])
    await says(spine, "My colour is blue", "Noted.")
    await elsewhere(spine, "/sessions 1")

    def forget(connection: sa.Connection) -> list[str]:
        connection.execute(sa.text("DELETE FROM inbox WHERE session_key = :key"), {"key": ELSEWHERE})
        person = person_of(connection, "p1")
        assert person is not None
        erasure.ask(connection, person, erasure.Extent.EVERYTHING, 99, NOON, spine.now, lambda _tenant, sender: sender)
        (asked,) = erasure.pending(connection)
        while erasure.erase(connection, asked, spine.now + erasure.PATIENCE) is not erasure.Progress.DONE:
            pass
        return [str(row) for row in connection.execute(sa.select(sessions.c.key, sessions.c.title))]

    kept = await spine.store.commit(forget)
    assert all("forgotten:" in row for row in kept)
    assert "blue" not in str(kept)
    assert "p1" not in str(kept)
    assert "q1" not in str(kept)


@pytest.mark.parametrize(
    ("key", "sender"),
    [
        (KEY, "sim:p1"),
        ("agent:coach:slack:main:direct:T1%3AU1:thread:17.5", "slack:T1:U1"),
        ("agent:coach:sim:main:direct:a%2525b", "sim:a%25b"),
        ("agent:coach:sim:main:group:g1", None),
        ("agent:coach:sim:main:group:g1:thread:direct", None),
        ("agent:coach:cron:job:run:direct", None),
        ("forgotten:0190", None),
    ],
)
def test_a_key_tells_whose_direct_chat_it_is(key: str, sender: str | None) -> None:
    assert sender == sender_of(key)
