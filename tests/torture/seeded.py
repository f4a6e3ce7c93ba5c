"""Bugs planted in a copy of our own code, one at a time, which the torture must find."""

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.torture.cases import (
    Case,
    burst,
    command,
    long,
    noting,
    paying,
    practice,
    run_case,
    slow,
    slow_in_a_room,
    steering,
)
from tests.torture.gateway_process import ROOT
from tests.torture.scenarios import deliver_twice, die_in_a_gap, take_over
from tests.torture.world import World

PACKAGES = ("gateway", "channels", "agent")
SETTLE_S = 5.0

Scenario = Callable[[World], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Bug:
    """One change of one file, and the test that must find it."""

    number: int
    claim: str
    file: str
    old: str
    new: str
    case: Case | Scenario
    platform: str = "telegram"

    @property
    def name(self) -> str:
        return f"{self.number:02}-{self.claim.replace(' ', '-')}"


BUGS = (
    Bug(
        1, "acknowledged before it is committed", "channels/telegram/polling.py",
        "offer = partial(sink.receive, events, rejected=rejected, cursor=str(offset))",
        "await sink.receive((), cursor=str(offset))\n"
        "                offer = partial(sink.receive, events, rejected=rejected)",
        Case("acked"),
    ),
    Bug(
        2, "no dedupe", "gateway/store/inbox.py",
        '"event_id": event.event_id,', '"event_id": event.event_id + __import__("secrets").token_hex(4),',
        deliver_twice,
    ),
    Bug(
        3, "final outside the transaction", "gateway/sessions/turn.py",
        "            commits.end(connection, place, events, reason, first_id, parts, clock, first_by=first_by)\n"
        '            failpoint("final_pre")\n'
        "\n"
        "        try:\n"
        "            await self._deps.store.commit(commit_end)\n",
        "            commits.end(connection, place, events, reason, first_id, (), clock, first_by=None)\n"
        "\n"
        "        try:\n"
        "            await self._deps.store.commit(commit_end)\n"
        '            failpoint("final_pre")\n'
        "            put = lambda c: commits.outbox.put(c, self._turn.tenant, parts, self._deps.process.clocks.now())\n"
        "            await self._deps.store.commit(put)\n",
        Case("final_pre"),
    ),
    Bug(
        4, "resent without a mark", "gateway/delivery/retry_policy.py",
        "\n    return AttemptOutcome(replace(row, state=PartState.READY, maybe_duplicate=True, not_before=None)",
        "\n    return AttemptOutcome(replace(row, state=PartState.READY, not_before=None)",
        Case("send_done"),
    ),
    Bug(
        5, "new key for every try", "agent/journal.py",
        'return f"{self._turn_id}/{step}/{index}"', 'return f"{self._turn_id}/{step}.{id(self) % 9973}/{index}"',
        Case("result_pre", noting),
    ),
    Bug(
        6, "effect outside the journaling commit", "gateway/sessions/turn.py",
        '        failpoint("effect_pre")\n'
        "        event = await self._deps.store.commit("
        "commits.apply, place=place, returned=returned, run=run, clock=clock)\n",
        "        first, returned = returned, commits.replace(returned, call_key=str(place.seq + id(returned)))\n"
        "        done = await self._deps.store.commit(run)\n"
        '        failpoint("effect_pre")\n'
        "        event = commits.replace(first, content=done)\n"
        "        await self.record(event)\n",
        Case("effect_pre", practice),
    ),
    Bug(
        7, "unsafe tool rerun", "agent/tools/pipeline.py",
        "if pending.intended and (tool is None or tool.effect is Effect.UNSAFE):",
        "if pending.intended and tool is None:",
        Case("result_pre", paying),
    ),
    Bug(
        8, "intent not journaled", "agent/tools/pipeline.py",
        "        if use.tool.effect.is_outside:\n            with self._own_check",
        "        if False:\n            with self._own_check",
        Case("result_pre", paying),
    ),
    Bug(
        9, "steering not claimed", "gateway/sessions/commits.py",
        "[(row, item) for row, item in read if inbox.claim(connection, [row.id], place.turn.id)]", "list(read)",
        Case("commit_done/steer", steering),
    ),
    Bug(
        10, "no fence", "gateway/store/journal.py",
        '    if connection.execute(_EPOCH, {"b_shard": fence.shard}).scalar() != fence.epoch:', "    if False:",
        take_over,
    ),
    Bug(
        11, "lanes and mailboxes out of order", "gateway/durable_queue.py",
        "return self._rows.popleft()", "return self._rows.pop()",
        Case("commit_done/claim", burst),
    ),
    Bug(
        12, "open turns not taken up", "gateway/cluster/process.py",
        "        await shared.sessions.recover()\n", "",
        Case("model_asked"),
    ),
    Bug(
        13, "outbox not taken up", "gateway/delivery/delivery.py",
        "in open_lanes.items():\n            worker =", "in ():\n            worker =",
        Case("commit_done/commit_end"),
    ),
    Bug(
        14, "attempt not persisted", "gateway/store/outbox.py",
        'connection.execute(_MARK, {"b_id": id_, "b_action": action}).rowcount > 0', "True",
        Case("send_done", long, hit=2),
    ),
    Bug(
        15, "a send that counts as an edit", "gateway/delivery/lane_worker.py",
        "outbox.mark_sending, row.id, part.action", "outbox.mark_sending, row.id, row.part.action",
        Case("placeholder_sent", slow, again="send_done"),
    ),
    Bug(
        16, "an edit cut by a death is given up", "gateway/delivery/lane_worker.py",
        "            config.give_up_after_s,\n", "            0.0,\n",
        Case("edit_done", slow),
    ),
    Bug(
        17, "steering overtakes what waits for a resumed turn", "gateway/sessions/mailbox.py",
        "            self,\n            joins=lambda row: joins(row, turn)",
        "            reversed(list(self)),\n            joins=lambda row: joins(row, turn)",
        Case("model_first_text", slow, meanwhile=burst),
    ),
    Bug(
        18, "command without its outcome", "gateway/sessions/command_runner.py",
        "            if not inbox.settle(connection, row.id, outcome, now, detail):\n"
        "                return None  # a commit whose answer was lost has stored it all\n",
        "",
        Case("commit_done/commit_command", command),
    ),
    Bug(
        19, "messages without their key", "channels/slack/payloads.py",
        '"event_payload": {"key": part.idem_key}', '"event_payload": {"key": ""}',
        Case("send_done"), platform="slack",
    ),
    Bug(
        20, "a new nonce for every try", "channels/discord/payloads.py",
        "part.idem_key[:25], True", '__import__("secrets").token_hex(8), True',
        Case("send_done"), platform="discord",
    ),
    Bug(
        21, "a session replayed before an older gap is filled", "channels/discord/ingest.py",
        "self._unread_from = cursor.unread_from", "self._unread_from = None",
        die_in_a_gap, platform="discord",
    ),
    Bug(
        22, "a stream that was begun is not looked for", "channels/slack/sent_lookup.py",
        "if part.unfinished and thread is not None:", "if False:",
        Case("placeholder_sent", slow_in_a_room), platform="slack",
    ),
)  # fmt: skip


def plant(bug: Bug, directory: Path) -> Path:
    """Copy the three packages, put the bug into the copy, and return its place.

    Raises:
        AssertionError: the line it changes has gone: write the bug anew.
    """
    code = directory / "code"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, code / package)
    file = code / bug.file
    text = file.read_text()
    if text.count(bug.old) != 1:
        raise AssertionError(f"bug {bug.number} changes a line that is not there: {bug.file}: {bug.old!r}")
    file.write_text(text.replace(bug.old, bug.new))
    return code


async def provoke(world: World, bug: Bug) -> None:
    """Do what must find the bug.

    Raises:
        NotSettled: it was found so.
    """
    if isinstance(bug.case, Case):
        await run_case(world, bug.case, 100, settle_s=SETTLE_S)
    else:
        await bug.case(world)
