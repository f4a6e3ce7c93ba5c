"""One death at each named point, and the actions that make the gateway pass it."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from channels.simulators.shared.faults import Fault
from gateway.operators.client import call
from tests.torture.world import NotSettled, World

Provoke = Callable[[World, int], Awaitable[None]]
"""A function that makes the gateway pass the point, by a person in a chat of their own."""

KILLED = 137


async def plain(world: World, chat: int) -> None:
    world.say(chat)


async def tools(world: World, chat: int) -> None:
    """Ask a question that has all three kinds of effect."""
    world.say(chat, "piu")


async def practice(world: World, chat: int) -> None:
    """Ask a question that has only a local effect."""
    world.say(chat, "p")


async def noting(world: World, chat: int) -> None:
    """Ask a question that has only an idempotent effect."""
    world.say(chat, "i")


async def paying(world: World, chat: int) -> None:
    """Ask a question that has only an unsafe effect."""
    world.say(chat, "u")


async def showing(world: World, chat: int) -> None:
    """Ask a short question under a picture."""
    world.say(chat, picture=True)


async def long(world: World, chat: int) -> None:
    """Ask a question that is answered in several parts."""
    world.say(chat, "l")


async def slow(world: World, chat: int) -> None:
    """Ask a question whose answer takes long enough for a placeholder and an edit."""
    world.say(chat, "s")


async def long_and_slow(world: World, chat: int) -> None:
    """Ask a question whose answer fills more than one message while it is being written."""
    world.say(chat, "ls")


async def refused(world: World, chat: int) -> None:
    """Ask a short question whose answer Telegram refuses once."""
    world.platform.sim.faults.script(Fault(kind="status", status=429, method="sendMessage", chat=chat))
    world.say(chat)


async def burst(world: World, chat: int) -> None:
    """Ask six questions at once: more than the mailbox holds."""
    for _ in range(6):
        world.say(chat)


async def growing(world: World, chat: int) -> None:
    """Ask one question after the other until the older ones become notes."""
    for _ in range(9):  # 18 items: two more than the gateway here leaves as they are
        said = world.say(chat)
        await world.until(lambda said=said: world.shows(said) or not world.gateway.running, 10, "an answer")


async def steering(world: World, chat: int) -> None:
    """Ask for a slow answer and add a word while it is written."""
    world.say(chat, "s")
    await world.until(lambda: world.platform.calls(chat) > 0 or not world.gateway.running, 10, "a busy sign")
    world.say(chat)


async def command(world: World, chat: int) -> None:
    """Log practice by command."""
    world.log()


async def using(world: World, chat: int) -> None:
    """Log practice by a native command of the platform."""
    world.use()


async def talk(world: World, chat: int) -> None:
    """Ask for all three kinds of effect, then for a slow answer; then log practice by command."""
    for kinds in ("piu", "s"):
        said = world.say(chat, kinds)
        await world.until(lambda said=said: world.shows(said) or not world.gateway.running, 15, "an answer")
    world.log()


async def terminate(world: World, chat: int) -> None:
    """Send SIGTERM while an answer is being written (F61)."""
    world.say(chat, "s")
    await world.until(lambda: world.platform.calls(chat) > 0, 10, "a busy sign")
    world.gateway.signal(signal.SIGTERM)


async def in_a_room(world: World, chat: int) -> None:
    """Ask a short question in a channel."""
    world.say(4 * chat + 3)


async def slow_in_a_room(world: World, chat: int) -> None:
    """Ask a question in a channel whose answer grows visibly in its thread."""
    world.say(4 * chat + 3, "s")


async def forgotten(world: World, chat: int) -> None:
    """Let the platform forget everything but the history."""
    world.platform.forget()


@dataclass(frozen=True, slots=True)
class Case:
    """A case in which the gateway dies (or is stopped, or meets an error) at `point`, and again at `again` if set."""

    point: str
    provoke: Provoke = plain
    again: str | None = None  # a second death, at this point, while it recovers
    meanwhile: Provoke | None = None  # what a person does while it is down
    hit: int = 1
    action: str = "exit"

    @property
    def point_name(self) -> str:
        return self.point.partition("/")[0]

    @property
    def name(self) -> str:
        how = "" if self.provoke is plain else f"({self.provoke.__name__})"
        then = f"+{self.again}" if self.again else ""
        down = f"~{self.meanwhile.__name__}" if self.meanwhile else ""
        return f"{self.point}:{self.hit}:{self.action}{how}{then}{down}"


SINGLE = (
    Case("received"),
    Case("inbox_pre"),
    Case("acked"),
    Case("routed"),
    Case("claim_pre"),
    Case("model_asked"),
    Case("model_first_text"),
    Case("final_pre"),
    Case("send_done"),
    Case("sent_pre"),
    Case("response_pre", tools),
    Case("intent_pre", tools),
    Case("tool_done", tools),
    Case("effect_pre", practice),
    Case("result_pre", noting),
    Case("steer_pre", steering),
    Case("summary_pre", growing),
    Case("placeholder_pre", slow),
    Case("placeholder_sent", slow),
    Case("live_edit", slow),
    Case("edit_done", slow),
    Case("send_pre", long),
    Case("send_done", long),
    Case("send_done", long, hit=2),
    Case("command_pre", command),
    Case("result_pre", paying),
    Case("shutdown_begun", terminate),
    Case("commit_unknown", long),
)
"""Every named point but those of a recovery and the one behind a commit."""

COMMITTED = (
    Case("commit_done/_admit_all"),
    Case("commit_done/put_file", showing),
    Case("commit_done/claim"),
    Case("commit_done/claim", burst),
    Case("commit_done/record", tools),
    Case("commit_done/record", tools, hit=2),
    Case("commit_done/record", tools, hit=3),
    Case("commit_done/apply", practice),
    Case("commit_done/steer", steering),
    Case("commit_done/keep_summary", growing),
    Case("commit_done/put_placeholder", slow),
    Case("commit_done/put_placeholder", long_and_slow, hit=2),
    Case("commit_done/commit_end"),
    Case("commit_done/commit_command", command),
    Case("commit_done/record_sent"),
    Case("commit_done/record_sent", slow),
    Case("commit_done/run_held", refused),
    Case("commit_done/run_held", refused, hit=2),
)
"""Behind each kind of commit on the way of a message."""

TALK_COMMITS = 20
"""So many commits at least does `talk` take on each platform."""

EVERY_COMMIT = tuple(Case("commit_done", talk, hit=hit) for hit in range(1, TALK_COMMITS + 1))
"""Behind one commit after the other, whatever it is."""

DOUBLE = (
    Case("model_first_text", again="recovery_begun"),
    Case("commit_done/record", tools, again="recovery_turn"),
    Case("commit_done/record", paying, hit=2, again="recovery_turn"),
    Case("tool_done", noting, again="final_pre"),
    Case("commit_done/commit_end", again="send_done"),
    Case("placeholder_sent", slow, again="send_done"),
    Case("edit_done", slow, again="edit_done"),
    Case("send_done", long, again="send_pre"),
    Case("commit_done/steer", steering, again="recovery_turn"),
    Case("acked", burst, again="commit_done/claim"),
    Case("model_first_text", slow, meanwhile=burst),
    Case("send_done", again="send_done"),
)
"""A second death in the recovery from the first, or much to read after it."""

ELSEWHERE = (
    Case("acked"),
    Case("final_pre"),
    Case("send_pre", long),
    Case("send_done", again="send_done"),
    Case("sent_pre"),
    Case("send_done", long, hit=2),
    Case("edit_done", slow),
    Case("inbox_pre", in_a_room, meanwhile=forgotten),
    Case("placeholder_sent", slow, again="edit_done"),
    Case("acked", using),
    Case("command_pre", using),
    Case("send_done", using),
    Case("commit_done/commit_command", using),
)
"""For the other platforms: where a message comes in and where an answer goes out; what lies between knows none."""

BY_HTTP = (Case("acked"), Case("inbox_pre", in_a_room, meanwhile=forgotten))
"""For Slack by HTTP: behind and before the commit on which its 200 waits."""

THREADS = (
    Case("placeholder_pre", slow_in_a_room),
    Case("placeholder_sent", slow_in_a_room),
    Case("sent_pre", slow_in_a_room),
    Case("commit_done/record_sent", slow_in_a_room),
    Case("live_edit", slow_in_a_room),
    Case("live_edit", slow_in_a_room, again="edit_done"),
    Case("edit_done", slow_in_a_room),
    Case("placeholder_sent", slow_in_a_room, again="live_edit"),
    Case("edit_done", slow_in_a_room, again="edit_done"),
    Case("placeholder_sent", slow_in_a_room, again="commit_done/record_sent", meanwhile=forgotten),
)
"""For Slack, where an answer in a thread grows as a stream, which has no key before its end."""


async def run_case(world: World, case: Case, chat: int, *, settle_s: float = 30.0) -> None:
    """Run one case in a world whose gateway is idle before and after.

    Raises:
        NotSettled: what was begun did not finish within `settle_s`.
        AssertionError: the point was not passed.
    """
    await world.gateway.arm(f"{case.point}:{case.hit}:{case.action}")
    await case.provoke(world, chat)
    if case.action == "exit":
        await _expect_death(world, case)
    elif case.action == "stop":
        await _thaw(world, case)
    else:
        await world.until(lambda: f": {case.point}" in world.gateway.tail(200_000), 15, case.name)
        await world.gateway.ended(1.0)
    if case.meanwhile is not None:
        await case.meanwhile(world, chat)
    if case.again is not None:
        await world.start(f"{case.again}:1:exit", arrives=False)
        await _expect_death(world, case)
    if not world.gateway.running:
        await world.start()
    try:
        await world.settle(settle_s)
    except NotSettled:
        if world.gateway.running:
            raise
        await world.start()  # an error that ended it a little later
        await world.settle(settle_s)


async def _expect_death(world: World, case: Case) -> None:
    status = await world.gateway.ended(15.0)
    if status != KILLED:
        raise AssertionError(f"{case.name}: the point was never passed (status {status}): {world.gateway.tail()}")
    world.note_death()


async def _thaw(world: World, case: Case) -> None:
    """Wait until the process has frozen at the point, keep it so for a while, let it go on."""
    ends_s = time.monotonic() + 30
    stat = Path(f"/proc/{world.gateway.pid}/stat")
    while stat.read_text().rpartition(")")[2].split()[0] != "T":
        if time.monotonic() > ends_s:
            raise AssertionError(f"{case.name}: the point was never passed: {world.gateway.tail()}")
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    world.gateway.signal(signal.SIGCONT)


async def approve_newest(world: World) -> None:
    """Approve the newest request; a gateway that dies over it gives no answer.

    Raises:
        GatewayError: it was refused, or the gateway has gone.
    """
    path = world.gateway.home / "control.sock"
    waiting = (await call(path, "GET /v1/pairing", timeout_s=5.0))["requests"]
    if not isinstance(waiting, list) or not waiting or not isinstance(waiting[-1], dict):
        raise AssertionError(f"no request waits: {waiting}")
    await call(path, f"POST /v1/pairing/{waiting[-1]['request']}/approve", timeout_s=5.0)
