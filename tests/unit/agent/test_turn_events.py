"""The stream of a turn's events: bounded, in order, no text lost, with back-pressure."""

from hypothesis import given
from hypothesis import strategies as st

from agent.ports import TextDelta, TextDiscarded, ThinkingDelta
from agent.transcript import CallOutcome
from agent.turn_events import LONGEST_WAIT_S, EventReader, TurnEvents
from agent.turn_progress import ToolEnded, ToolProgress, ToolStarted
from tests.fakes.virtual_time import run_virtually

EVENTS = st.one_of(
    st.text(max_size=5).map(TextDelta),
    st.text(max_size=5).map(ThinkingDelta),
    st.just(TextDiscarded()),
    st.sampled_from("abc").map(lambda key: ToolStarted("t", key)),
    st.builds(ToolProgress, st.just("t"), st.sampled_from("abc"), st.sampled_from(["one", "two"])),
    st.sampled_from("abc").map(lambda key: ToolEnded("t", CallOutcome.DONE, key)),
)


def joined(events, kind):
    return "".join(event.text for event in events if isinstance(event, kind))


@given(st.lists(st.tuples(EVENTS, st.booleans())))
def test_a_reader_gets_all_in_order_but_what_newer_progress_replaced(published):
    reader, read = EventReader(), []
    for event, reads in published:
        reader.put(event)
        if reads:
            read += reader.drain()
    read += reader.drain()
    events = [event for event, _ in published]
    assert joined(events, TextDelta) == joined(read, TextDelta)
    assert joined(events, ThinkingDelta) == joined(read, ThinkingDelta)
    steps = (ToolStarted, ToolEnded, TextDiscarded)
    assert [event for event in events if isinstance(event, steps)] == [one for one in read if isinstance(one, steps)]
    assert [] == reader.drain()


def test_a_fast_publisher_waits_for_the_slowest_reader():

    async def scene(loop):
        events = TurnEvents()
        slow, quick = events.reader(most=3), events.reader()
        await events.drain()
        for n in range(3):
            events.publish(ToolStarted("t", str(n)))
        loop.call_later(2.0, slow.drain)
        await events.drain()
        assert 2.0 == round(loop.time(), 3)
        assert 3 == len(quick.drain())

    run_virtually(scene)


def test_a_reader_that_never_reads_holds_a_turn_up_once_for_some_seconds():

    async def scene(loop):
        events = TurnEvents()
        dead = events.reader(most=3)
        for event in (TextDelta("a"), ToolStarted("t", "1"), TextDelta("b"), ToolStarted("t", "2")):
            events.publish(event)
        await events.drain()
        await events.drain()
        assert LONGEST_WAIT_S == round(loop.time(), 3)
        assert [TextDelta("ab")] == dead.drain()

    run_virtually(scene)


def test_a_closed_reader_holds_up_no_writer():

    async def scene(loop):
        events = TurnEvents()
        gone = events.reader(most=1)
        events.publish(ToolStarted("t", "1"))
        loop.call_later(1.0, gone.close)
        await events.drain()
        events.publish(ToolStarted("t", "2"))
        await events.drain()
        assert (1.0, []) == (round(loop.time(), 3), gone.drain())

    run_virtually(scene)
