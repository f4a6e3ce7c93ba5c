"""Invitations in intake: they let in at once, once, for a while; their codes are not stored."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from channels.messages import ChatKind, CommandInvoked
from gateway.access import codes, tickets
from gateway.access.invites import FOUNDING, Terms
from gateway.operators.models import AuditQuery, BlockWish, CodeEntry
from tests.fakes.door import Door, pairing_door
from tests.fakes.people import KEY, NOON, minutes


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with pairing_door(tmp_path) as door:
        yield door


async def test_an_invitation_holds_once(door: Door) -> None:
    """Cover A38."""
    code = await door.invite()
    await door.say(code, "7")
    await door.say(code, "8")
    assert None is door.snapshot.find("default", "sim:8")
    (told,) = await door.told("8")
    assert told.startswith("That invitation is not valid")
    assert codes.BULLETS in told
    assert ["used"] == [one.state for one in (await door.operators.list_invites("cli")).invites]


async def test_who_waits_already_is_let_in_by_an_invitation_and_answered(door: Door) -> None:
    await door.say("What about scales?")
    await door.say(await door.invite())
    assert ["What about scales?"] == door.taken
    assert () == (await door.operators.list_requests("cli")).requests


async def test_an_invitation_ends_and_can_be_taken_back(door: Door) -> None:
    """Cover A37, A47."""
    first, second = [await door.invite(Terms(valid=minutes(60))) for _ in range(2)]
    earlier = {invite.invite for invite in (await door.operators.list_invites("cli")).invites}
    third = await door.invite(Terms(valid=minutes(60)))
    (newest,) = {invite.invite for invite in (await door.operators.list_invites("cli")).invites} - earlier
    await door.operators.revoke_invite("cli", newest[-8:])
    await door.say(third, "7")
    door.spine.later(minutes=59.9)
    await door.say(first, "8")
    door.spine.later(minutes=0.1)
    await door.say(second, "9")
    await door.spine.store.commit(tickets.expire, now=door.spine.now)
    door.spine.later(minutes=-30)
    await door.say(second, "10")
    assert ["sim:8"] == [sender for n in (7, 8, 9, 10) if door.snapshot.find("default", sender := f"sim:{n}")]
    assert {"revoked", "expired", "used"} == {
        invite.state for invite in (await door.operators.list_invites("cli")).invites
    }


async def test_an_invitations_code_is_kept_nowhere(door: Door) -> None:
    """Cover A45."""
    used, unused, stranger = await door.invite(), await door.invite(), "2345-6789-ABCD-EFGH"
    with capture_logs() as logs:
        await door.say(f"/start {used}")
        await door.say(f"/start {unused}")
        await door.say(stranger, "8")
        said = door.spine.message("", "9", "c9")
        command = CommandInvoked(
            event_id="cmd:1",
            address=said.address,
            sender=said.sender,
            received_at=NOON,
            name="start",
            arguments=unused,
            kind=ChatKind.DIRECT,
        )
        await door.receive(command)
    assert door.snapshot.find("default", "sim:9")
    kept = await door.everything() + str(logs) + "\n".join(door.terminal)
    for code in (used, unused, stranger):
        assert code not in kept
        assert code.replace("-", "") not in kept
    assert [f"/start {codes.BULLETS}"] == door.taken


async def test_guesses_of_a_stranger_are_bounded_and_lock_out_no_other(door: Door) -> None:
    """Cover A42."""
    code = await door.invite()
    for guess in range(6):
        await door.say("2345-6789-ABCD-EFG" + "23456789"[guess])
    await door.say(code)
    assert None is door.snapshot.find("default", "sim:7")
    door.spine.later(minutes=59)
    await door.say(code)
    assert None is door.snapshot.find("default", "sim:7")
    await door.say(code, "8")
    assert door.snapshot.find("default", "sim:8")
    door.spine.later(minutes=2)
    await door.say(await door.invite())
    assert door.snapshot.find("default", "sim:7")


async def test_wrong_invitations_lock_no_operator_out(door: Door) -> None:
    for number in range(30):
        await door.say("2345-6789-ABCD-EFGH", str(number))
    await door.say("hello", "99")
    waiting = [one for one in (await door.operators.list_requests("cli")).requests if one.sender == "sim:99"]
    code = codes.code_of(KEY, waiting[0].request)
    assert "owner" == (await door.operators.approve("cli", CodeEntry(code=code))).role


async def test_the_first_by_an_invitation_is_no_owner_but_by_the_link_to_become_it(door: Door) -> None:
    old, link = await door.invite(FOUNDING), await door.invite(FOUNDING)
    await door.say(await door.invite(), "7")
    await door.say(old, "8")
    await door.say(link, "9")
    third = await door.invite(FOUNDING)
    await door.say(third, "10")
    roles = {n: person and person.role for n in (7, 8, 9, 10) if (person := door.snapshot.find("default", f"sim:{n}"))}
    assert {7: "member", 9: "owner"} == roles


async def test_the_blocked_come_in_by_no_invitation(door: Door) -> None:
    code = await door.invite()
    await door.operators.block("cli", BlockWish(who="sim:7"))
    await door.say(code, "7")
    assert [] == await door.told("7")
    await door.say(code, "8")
    assert door.snapshot.find("default", "sim:8")


async def test_a_stranger_gives_their_name_once(tmp_path: Path) -> None:
    async with pairing_door(tmp_path) as door:
        await door.say("what is practice?")
        for name in ("Ana", "Mallory"):
            await door.say(f"/name {name}")
        assert ["Ana"] == [request.name for request in (await door.operators.list_requests("cli")).requests]
        assert 1 == sum("Thank you, `Ana`" in text or "Thank you, Ana" in text for text in await door.told())
        assert 1 == str(await door.operators.read_audit("cli", AuditQuery())).count("name_given")
        await door.approve()
        assert ["what is practice?"] == door.taken


async def test_a_bot_uses_no_invitation_up(door: Door) -> None:
    code = await door.invite()
    said = door.spine.message(code, "99", "c99")
    await door.receive(replace(said, sender=replace(said.sender, is_bot=True)))
    await door.say(code)
    assert door.snapshot.find("default", "sim:7") is not None
    assert door.snapshot.find("default", "sim:99") is None
