"""What comes in from Discord's gateway: its order, how far it is committed, and what has to be fetched first."""

from datetime import timedelta

import pytest

from channels.discord.channel_cache import Place
from channels.discord.cursor import Cursor, GatewaySession, read_cursor
from channels.discord.ingest import BATCH, MOST_WAITING, Commit, Dispatch, FetchChannel, FillGap, Ingest
from channels.messages import Rejected
from tests.fakes.discord_ingest import NOW, THREAD, ids, ingest, ready, said, snowflake, used

FIRST = snowflake(1)


def commit(box: Ingest) -> Commit:
    """What is to be committed now; it is."""
    step = box.next(NOW)
    assert isinstance(step, Commit)
    box.mark_committed(step)
    return step


def cursor_of(step: Commit) -> Cursor:
    """The resume point that is committed with it."""
    assert step.cursor is not None
    return read_cursor(step.cursor)


def test_what_waits_is_committed_in_its_order_with_how_far_it_goes():
    """One batch: the events, the last sequence number and the newest message."""
    box = ingest()
    for number in range(3):
        box.receive(said(2 + number, FIRST + number))
    step = commit(box)
    assert [FIRST, FIRST + 1, FIRST + 2] == ids(step)
    assert Cursor(GatewaySession("s", "wss://g", 4), FIRST + 2) == cursor_of(step)
    assert box.next(NOW) is None


def test_a_commit_is_given_out_until_it_is_made():
    """The store may refuse it; what comes in meanwhile waits behind it."""
    box = ingest()
    box.receive(said(2, FIRST))
    first = box.next(NOW)
    box.receive(said(3, FIRST + 1))
    assert first is box.next(NOW)
    assert isinstance(first, Commit)
    box.mark_committed(first)
    assert [FIRST + 1] == ids(commit(box))


def test_a_batch_is_bounded_and_so_is_what_waits():
    """200 in a commit; from 2,000 on the socket is not read."""
    box = ingest()
    for number in range(MOST_WAITING):
        assert not box.is_full
        box.receive(said(2 + number, FIRST + number))
    assert box.is_full
    assert BATCH == len(commit(box).events)
    assert not box.is_full


def test_a_connection_resumes_from_what_was_received_and_a_restart_from_what_was_committed():
    """What waits need not be replayed to this process, only to the next one."""
    box = ingest()
    box.receive(said(9, FIRST))
    assert GatewaySession("s", "wss://g", 9) == box.resume_from
    step = commit(box)
    box.receive(said(10, FIRST + 1))
    assert GatewaySession("s", "wss://g", 9) == ingest(cursor_of(step)).resume_from
    box.session_lost()
    assert box.resume_from is None
    assert GatewaySession("s", "wss://g", 10) == cursor_of(commit(box)).session


def test_a_first_contact_begins_at_its_session_and_fills_nothing():
    """What was said before the bot ever ran is not fetched."""
    box = ingest(Cursor())
    assert not box.is_connected
    box.receive(ready())
    assert box.is_connected
    assert Cursor(GatewaySession("new", "wss://g", 1), snowflake(0)) == cursor_of(commit(box))
    assert box.next(NOW) is None


def test_a_new_session_is_committed_with_its_gap_before_the_gap_is_filled():
    """A kill in between fills it after the restart; what is said in the session waits for it."""
    box = ingest()
    box.receive(ready())
    box.receive(said(2, FIRST))
    opened = cursor_of(commit(box))
    assert Cursor(GatewaySession("new", "wss://g", 1), snowflake(-60), gap=True) == opened
    assert FillGap(snowflake(-60)) == box.next(NOW)
    assert (None, True) == (box.next(NOW), box.has_gap)
    box.gap_filled(whole=True)
    assert Cursor(opened.session, snowflake(0)) == cursor_of(commit(box))
    assert ([FIRST], False) == (ids(commit(box)), box.has_gap)


def test_what_came_before_a_new_session_is_committed_before_it():
    """With the number it had in the session before."""
    box = ingest()
    box.receive(said(2, FIRST))
    box.receive(ready())
    box.receive(said(2, FIRST + 1))
    assert (GatewaySession("s", "wss://g", 2), FIRST) == (cursor_of(step := commit(box)).session, cursor_of(step).last)
    assert "new" == getattr(cursor_of(commit(box)).session, "id", None)
    assert FillGap(FIRST) == box.next(NOW)


def test_a_gap_of_before_is_filled_before_anything_of_the_session_is_committed():
    """Killed amid a gap: the session that is taken up again tells of what came after it."""
    box = ingest(Cursor(GatewaySession("s", "wss://g", 5), snowflake(-60), gap=True))
    box.receive(Dispatch("RESUMED", 6, None))
    box.receive(said(7, FIRST))
    assert FillGap(snowflake(-60)) == box.next(NOW)
    assert box.next(NOW) is None
    box.gap_filled(whole=True)
    assert [5, 6, 7] == [getattr(cursor_of(commit(box)).session, "seq", None) for _ in range(3)]


def test_interactions_overtake_a_gap_and_move_nothing():
    """They have three seconds; how far the others are stays as it was."""
    box = ingest(Cursor(GatewaySession("s", "wss://g", 5), snowflake(-60), gap=True))
    box.next(NOW)
    box.receive(said(6, FIRST))
    box.receive(used(7, FIRST + 1))
    step = commit(box)
    assert ([FIRST + 1], None) == (ids(step), step.cursor)
    assert ["secret"] == [reply_route.token for reply_route in step.reply_routes]
    assert box.next(NOW) is None
    box.gap_filled(whole=True)
    assert 5 == getattr(cursor_of(commit(box)).session, "seq", None)
    assert [FIRST] == ids(commit(box))


def test_a_channel_nobody_told_of_is_asked_for_and_nothing_but_interactions_overtakes():
    """Order over channels stays; what was before it is committed first."""
    box = ingest()
    box.receive(said(2, FIRST))
    box.receive(said(3, FIRST + 1, THREAD))
    box.receive(said(4, FIRST + 2))
    box.receive(used(5, FIRST + 3))
    assert [FIRST] == ids(commit(box))
    assert FetchChannel(THREAD) == box.next(NOW)
    assert [FIRST + 3] == ids(commit(box))
    assert box.next(NOW) is None
    box.channel_known(Place(THREAD, "5", "50"))
    step = commit(box)
    assert [("50", THREAD), ("50", None)] == [(event.address.chat, event.address.thread) for event in step.events]


def test_what_could_not_be_read_stays_in_the_cursor_until_it_was():
    """`behind` says from where; a restart fills from there."""
    box = ingest()
    box.receive(ready())
    commit(box)
    assert FillGap(snowflake(-60)) == box.next(NOW)
    box.gap_filled(whole=False)
    behind = cursor_of(commit(box))
    assert (False, snowflake(-60)) == (behind.gap, behind.behind)
    assert FillGap(snowflake(-60)) == ingest(behind).next(NOW)
    box.caught_up()
    assert 0 == cursor_of(commit(box)).behind


def test_having_caught_up_commits_nothing_that_waits_for_the_store():
    """The batch that is being offered is not yet acknowledged by a resume point that goes alone."""
    box = ingest()
    box.receive(said(2, FIRST))
    offered = box.next(NOW)
    box.caught_up()
    assert offered is box.next(NOW)
    assert isinstance(offered, Commit)
    box.mark_committed(offered)
    assert (2, 0) == (getattr((step := cursor_of(commit(box))).session, "seq", None), step.behind)


def test_an_id_beyond_tomorrow_hides_nothing():
    """A message that gives itself such an id is taken, and no gap begins there."""
    box = ingest()
    box.receive(said(2, FIRST))
    box.receive(said(3, snowflake(timedelta(days=2).total_seconds())))
    assert FIRST == cursor_of(commit(box)).last


@pytest.mark.parametrize("data", [None, [], {"session_id": 7}, {"session_id": "s", "resume_gateway_url": "http://["}])
def test_a_ready_that_opens_no_session_is_refused_and_changes_nothing(data: object):
    """The connection ends then; the session of before is still there."""
    box = ingest()
    with pytest.raises(ValueError, match=r"."):
        box.receive(Dispatch("READY", 1, data))  # type: ignore[arg-type]  # no JSON of a session
    assert ("s", False, None) == (getattr(box.resume_from, "id", None), box.is_connected, box.next(NOW))


def test_what_is_no_event_is_kept_in_its_place():
    """A frame that is none, and a dispatch that is malformed, are quarantined with the batch; others are not lost."""
    box = ingest()
    box.receive(Rejected("frame:1", "?", "no JSON"))
    box.receive(said(2, FIRST))
    box.receive(Dispatch("MESSAGE_CREATE", 3, {"id": 7}))
    step = commit(box)
    assert ([FIRST], 2, 3) == (ids(step), len(step.rejected), getattr(cursor_of(step).session, "seq", None))
