"""Who may have a page open: nobody takes the places of all, and who was let in keeps theirs."""

from channels.viewers.viewer_hub import Viewer, ViewerHub
from channels.web.open_pages import Seats

HERE, THERE = "1.2.3.4", "5.6.7.8"


def seats(*, most: int = 100, most_of_address: int = 100, let_in: tuple[str, ...] = ()) -> Seats:
    return Seats(ViewerHub(most_of_chat=2), most=most, most_of_address=most_of_address, is_let_in=let_in.__contains__)


def opened(made: Seats, *chats: str, address: str = HERE) -> list[Viewer]:
    views = [made.open(chat, address) for chat in chats]
    return [view for view in views if view is not None]


def test_strangers_of_one_address_make_room_for_its_next():
    """The one that has said nothing for longest goes, and does not hurry back; other addresses are left alone."""
    made = seats(most_of_address=3)
    (other,) = opened(made, "other", address=THERE)
    first, second, third = opened(made, "a", "b", "c")
    made.touch("a")
    (fourth,) = opened(made, "d")
    assert (True, True) == (second.closed, second.displaced)
    assert [False] * 4 == [view.closed for view in (other, first, third, fourth)]
    assert 4 == len(made)


def test_where_all_is_full_the_crowd_makes_room():
    """Somebody who comes from anywhere takes the place of one of the address that has most."""
    made = seats(most=4)
    (alone,) = opened(made, "alone", address=THERE)
    crowd = opened(made, "a", "b", "c")
    assert 1 == len(opened(made, "new", address="9.9.9.9"))
    assert [False, True, False, False] == [view.closed for view in (alone, *crowd)]


def test_who_was_let_in_is_never_closed_for_another():
    """Where only such have pages open, the newcomer waits."""
    made = seats(most=3, most_of_address=2, let_in=("ada", "bob", "cid"))
    views = opened(made, "ada", "bob")
    assert [] == opened(made, "stranger")
    views += opened(made, "cid", address=THERE)
    assert [] == opened(made, "stranger", address="9.9.9.9")
    assert [False, False, False] == [view.closed for view in views]


def test_who_is_let_in_is_asked_when_it_matters():
    """A stranger whose request was approved meanwhile is none any more."""
    let_in: set[str] = set()
    made = Seats(ViewerHub(), most=2, most_of_address=2, is_let_in=let_in.__contains__)
    first, second = opened(made, "a", "b")
    let_in.add("a")
    opened(made, "c")
    assert (False, True) == (first.closed, second.closed)


def test_one_person_has_so_many_pages_whoever_they_are():
    """A further one displaces nobody."""
    made = seats(most_of_address=3, let_in=("ada",))
    views = opened(made, "ada", "ada", "ada", "stranger")
    assert 3 == len(views)
    assert [False, False, False] == [view.closed for view in views]


def test_places_come_back():
    """Whether a page left, or had to, or both."""
    made = seats(most=2, most_of_address=2)
    for number in range(50):
        views = opened(made, f"a{number}", f"b{number}", f"c{number}")
        for view in views:
            made.leave(view)
    assert 0 == len(made)
    assert 2 == len([view for view in opened(made, "x", "y") if not view.closed])
