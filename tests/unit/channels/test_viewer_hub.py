"""A message counts as sent when a view confirmed it; who looks, who is away and who is gone are told apart."""

import asyncio

import pytest

from channels.errors import Permanent, PermanentKind, Retryable, Unknown
from channels.viewers.viewer_hub import KEPT_FRAMES, Patience, ViewerHub

QUICK = Patience(arrive_s=0.02, confirm_s=0.05, gone_after_s=60.0, most=3, most_of_chat=2)


class Clock:
    """Monotonic seconds, moved by hand."""

    def __init__(self) -> None:
        self.now_s = 500.0

    def __call__(self) -> float:
        return self.now_s


def screens(clock: Clock | None = None) -> ViewerHub:
    """Impatient ones."""
    return ViewerHub(QUICK, clock or Clock())


async def test_confirmed_message_is_sent():
    """`show` returns when the view says that it has shown the frame with that number."""
    hub = screens()
    screen = hub.open("c")
    async with asyncio.TaskGroup() as tasks:
        showing = tasks.create_task(hub.show("c", {"type": "message"}))
        frame = await screen.next()
        assert not showing.done()
        hub.confirm("c", frame["n"])
    assert {"type": "message", "n": frame["n"]} == frame


async def test_one_confirmation_of_two_views_is_enough():
    """Both are told, the first that confirms decides; a second confirmation does no harm."""
    hub = screens()
    one, other = hub.open("c"), hub.open("c")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hub.show("c", {"type": "message"}))
        frame, same = await one.next(), await other.next()
        hub.confirm("c", same["n"])
        hub.confirm("c", frame["n"])
    assert frame == same


async def test_confirmation_from_another_chat_counts_for_nothing():
    """Numbers are guessable, so only a view of the chat itself confirms."""
    hub = screens()
    hub.open("mine"), hub.open("theirs")

    async def guess() -> None:
        for number in range(50):
            hub.confirm("theirs", number)

    async with asyncio.TaskGroup() as tasks:
        asyncio.get_running_loop().call_soon(tasks.create_task, guess())
        with pytest.raises(Unknown, match=r"within 0\.05 s"):
            await hub.show("mine", {"type": "message"})


async def test_view_that_leaves_before_it_confirms_leaves_doubt():
    """At once, not after the time to confirm."""
    hub = ViewerHub(Patience(confirm_s=1000.0))
    screen = hub.open("c")

    async def leave() -> None:
        await screen.next()
        hub.leave(screen)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(leave())
        with pytest.raises(Unknown, match="went away"):
            await hub.show("c", {"type": "message"})


async def test_view_that_arrives_in_time_is_waited_for():
    """A page that is being loaded again misses nothing."""
    hub = ViewerHub(Patience(arrive_s=1000.0))

    async def arrive() -> None:
        screen = hub.open("c")
        hub.confirm("c", (await screen.next())["n"])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hub.show("c", {"type": "message"}))
        await asyncio.sleep(0)
        tasks.create_task(arrive())


async def test_away_is_retryable_and_gone_is_blocked():
    """For a minute after the last view the same call may be made again; then the lane is parked."""
    clock = Clock()
    hub = screens(clock)
    hub.leave(hub.open("c"))
    hub.mark_unparked("c")
    clock.now_s += 59
    with pytest.raises(Retryable):
        await hub.show("c", {})
    assert not hub.may_have_parked("c")
    clock.now_s += 1
    with pytest.raises(Permanent) as gone:
        await hub.show("c", {})
    assert PermanentKind.BLOCKED is gone.value.kind
    assert hub.may_have_parked("c")


async def test_nobody_knows_what_waits_from_an_earlier_life():
    """A chat that this process has not caught up with may have a parked lane."""
    hub = screens()
    assert hub.may_have_parked("c")
    hub.mark_unparked("c")
    assert not hub.may_have_parked("c")


async def test_slow_view_is_closed_and_nothing_piles_up():
    """A view that takes nothing is let go at its bound; what it missed is the channel's to tell again."""
    hub = screens()
    screen = hub.open("c")
    for number in range(KEPT_FRAMES):
        hub.tell("c", {"number": number})
    assert not screen.closed
    hub.tell("c", {"number": KEPT_FRAMES})
    assert screen.closed
    assert await screen.next() is None
    with pytest.raises(Retryable, match="keeps up"):
        await hub.show("c", {})


async def test_views_are_bounded_per_chat_and_over_all():
    """Too many are told so; one that leaves makes room."""
    hub = screens()
    first = hub.open("a")
    assert hub.open("a") is not None
    assert hub.open("a") is None
    assert hub.open("b") is not None
    assert hub.open("c") is None
    hub.leave(first)
    assert hub.open("c") is not None


async def test_chats_that_nobody_looks_at_are_forgotten():
    """Memory is that of who is here, not of who ever was."""
    clock = Clock()
    hub = screens(clock)
    for number in range(100):
        hub.leave(hub.open(f"chat {number}"))
        clock.now_s += 10
    assert len(hub) <= 8


async def test_one_open_view_keeps_nobody_else_in_memory():
    """Whoever came after it is forgotten like anybody, and so is who was only ever sent something."""
    clock = Clock()
    hub = screens(clock)
    staying = hub.open("stays")
    for number in range(100):
        hub.leave(hub.open(f"chat {number}"))
        if number % 20 == 0:
            with pytest.raises(Permanent):
                await hub.show(f"never here {number}", {})
        clock.now_s += 10
    assert len(hub) <= 9
    assert not staying.closed


async def test_sending_to_who_comes_back_in_time_is_not_cut_off_by_another_who_leaves():
    """A chat is not forgotten while something is being said in it."""
    clock = Clock()
    hub = ViewerHub(Patience(arrive_s=1000.0), clock)
    hub.leave(hub.open("c"))
    clock.now_s += 100
    async with asyncio.TaskGroup() as tasks:
        showing = tasks.create_task(hub.show("c", {"type": "message"}))
        await asyncio.sleep(0)
        hub.leave(hub.open("another"))
        back = hub.open("c")
        hub.confirm("c", (await back.next())["n"])
        await showing


async def test_leaving_twice_is_leaving_once():
    """A view that had to make room is left by whoever made it, and again by its own connection."""
    hub = screens()
    first = hub.open("a")
    hub.leave(first)
    hub.leave(first)
    assert [True, True, False] == [hub.open(chat) is not None for chat in ("a", "a", "a")]
    assert hub.open("b") is not None
    assert hub.open("c") is None


async def test_close_all_ends_every_view():
    """What still waits to be drawn is dropped: outbox and history have it."""
    hub = screens()
    screen = hub.open("c")
    hub.tell("c", {"type": "typing"})
    hub.close_all()
    assert await screen.next() is None
