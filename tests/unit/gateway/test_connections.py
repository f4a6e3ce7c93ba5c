"""Status of an account with several connections, and those of this process."""

import asyncio
from datetime import UTC, datetime

import pytest

from channels.base import ChannelState
from gateway.inbound.connections import ChannelAccount, HeldAccount

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def held(**more: bool) -> HeldAccount:
    spec = ChannelAccount("discord", "connections", lambda: pytest.fail("not made here"), **more)
    return HeldAccount(spec, lambda: NOW, asyncio.get_running_loop().create_future())


async def test_an_account_does_as_the_worst_of_its_connections() -> None:
    account = held()
    for number in range(3):
        account.note(ChannelState.READY, "", number)
    assert (ChannelState.READY, "") == (account.state, account.detail)
    account.note(ChannelState.DEGRADED, "shard 1 of 3: lost", 1)
    account.note(ChannelState.STARTING, "", 2)
    assert (ChannelState.DEGRADED, "shard 1 of 3: lost") == (account.state, account.detail)
    account.note(ChannelState.READY, "", 1)
    assert ChannelState.STARTING is account.state
    account.note(ChannelState.READY, "", 2)
    account.note_missing("shard 2 of 3: after a gap", 2)
    assert (ChannelState.DEGRADED, "shard 2 of 3: after a gap") == (account.state, account.detail)
    account.note_missing("", 2)
    assert ChannelState.READY is account.state


async def test_what_another_process_reads_by_says_nothing_here() -> None:
    account = held()
    account.note(ChannelState.DEGRADED, "shard 0 of 2: lost", 0)
    account.note(ChannelState.READY, "", 1)
    account.stand_by([0, 1])
    assert (ChannelState.READY, "another process reads for it") == (account.state, account.detail)
    hooked = held(everywhere=True)
    hooked.note(ChannelState.READY, "", 0)
    hooked.stand_by([1])
    assert (ChannelState.READY, "") == (hooked.state, hooked.detail)
    assert hooked.begun.is_set()
