"""What comes in from Discord's gateway: its order, how far it is committed, and what has to be fetched first."""

from datetime import timedelta

import pytest

from channels.discord.cursor import Cursor, GatewaySession, read_cursor
from channels.discord.ingest import Commit, Dispatch, Ingest
from channels.messages import Rejected
from tests.fakes.discord_ingest import NOW, ids, ingest, said, snowflake, used

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
