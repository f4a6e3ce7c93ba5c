"""Limits on open pages: no one takes everybody's places, and people who are let in keep theirs."""

from channels.viewers.viewer_hub import Viewer, ViewerHub
from channels.web.open_pages import PageSlots

HERE, THERE = "1.2.3.4", "5.6.7.8"


def slots(*, most: int = 100, most_of_address: int = 100, let_in: tuple[str, ...] = ()) -> PageSlots:
    return PageSlots(
        ViewerHub(most_of_chat=2), most=most, most_of_address=most_of_address, is_let_in=let_in.__contains__
    )


def opened(made: PageSlots, *chats: str, address: str = HERE) -> list[Viewer]:
    views = [made.open(chat, address) for chat in chats]
    return [view for view in views if view is not None]


def test_strangers_of_one_address_make_room_for_its_next():
    made = slots(most_of_address=3)
    (other,) = opened(made, "other", address=THERE)
    first, second, third = opened(made, "a", "b", "c")
    made.touch("a")
    (fourth,) = opened(made, "d")
    assert (True, True) == (second.closed, second.displaced)
    assert [False] * 4 == [view.closed for view in (other, first, third, fourth)]
    assert 4 == len(made)
