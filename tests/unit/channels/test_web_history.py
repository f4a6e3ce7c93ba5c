"""The last messages of each chat: newest state, in their order, within bounds."""

from channels.web.history import History


def said(number: int, text: str = "x") -> dict[str, object]:
    """A frame to keep."""
    return {"type": "said", "id": f"id-{number}", "text": text}


def ids(frame: dict[str, object]) -> list[str]:
    """Which messages a history frame holds."""
    return [message["id"] for message in frame["messages"]]


def test_page_that_is_new_gets_everything_in_order():
    """An edit does not move a message."""
    history = History()
    for number in range(3):
        history.put("c", said(number))
    history.put("c", said(0, "edited"))
    frame = history.since("c", "", 0)
    assert ["id-0", "id-1", "id-2"] == ids(frame)
    assert "edited" == frame["messages"][0]["text"]


def test_page_that_comes_back_gets_what_changed():
    """Counted by the number it saw last, in this life of the process."""
    history = History()
    history.put("c", said(0))
    seen = history.since("c", "", 0)["seq"]
    history.put("c", said(1))
    history.change("c", "id-0", sign="working")
    assert ["id-0", "id-1"] == ids(history.since("c", history.epoch, seen))
    latest = history.since("c", history.epoch, seen)["seq"]
    assert [] == ids(history.since("c", history.epoch, latest))
    assert ["id-0", "id-1"] == ids(history.since("c", "another epoch", latest))


def test_what_grows_can_be_lowered_below_what_was_said_to_it():
    """Not behind what was said later still; and nothing is ever lifted."""
    history = History()
    history.put("c", said(0))
    history.put("c", {**said(1), "live": True})
    history.put("c", said(2))
    history.put("c", said(3))
    assert ["id-1"] == history.growing("c")
    assert "id-2" == history.lower("c", "id-1", "id-2")["below"]
    assert ["id-0", "id-2", "id-1", "id-3"] == ids(history.since("c", "", 0))
    assert (None, None) == (history.lower("c", "id-1", "id-0"), history.lower("nobody", "id-1", "id-0"))


def test_what_was_said_earlier_goes_before_what_is_there():
    """Once; what is there is newer."""
    history = History()
    history.put("c", said(2))
    history.put("c", said(1, "newer"))
    assert not history.is_whole("c")
    history.begin("c", [said(0), said(1, "older")])
    frame = history.since("c", "", 0)
    assert ["id-0", "id-2", "id-1"] == ids(frame)
    assert "newer" == frame["messages"][-1]["text"]
    history.begin("nobody", [])
    assert (True, True) == (history.is_whole("c"), history.is_whole("nobody"))


def test_chats_are_apart():
    """Nobody is shown another's words."""
    history = History()
    history.put("mine", said(1))
    assert [] == ids(history.since("theirs", "", 0))


def test_only_the_last_are_kept():
    """The oldest message of a chat goes first, the chat unused for longest before others."""
    history = History(messages=2, chars=2000)
    for number in range(3):
        history.put("a", said(number))
    assert ["id-1", "id-2"] == ids(history.since("a", "", 0))
    history.put("b", said(9, "y" * 1500))
    assert [] == ids(history.since("a", "", 0))
    assert ["id-9"] == ids(history.since("b", "", 0))


def test_deleted_message_leaves_no_words():
    """A page that comes back learns that there was one."""
    history = History()
    history.put("c", said(1, "my password"))
    history.delete("c", "id-1")
    assert "password" not in str(history.since("c", "", 0))
    assert "deleted" == history.since("c", "", 0)["messages"][0]["type"]


def test_change_of_what_is_not_kept_does_nothing():
    """After a restart a sign for an old message finds none."""
    history = History()
    history.change("c", "gone", sign="working")
    history.delete("c", "gone")
    assert [] == ids(history.since("c", "", 0))


def test_one_chat_has_its_own_bound_on_characters():
    """What one hello is answered is bounded; the newest message stays, however long."""
    history = History(chars_of_chat=5000)
    for number in range(10):
        history.put("a", said(number, "y" * 1000))
    assert ["id-6", "id-7", "id-8", "id-9"] == ids(history.since("a", "", 0))
    history.put("a", said(10, "z" * 9000))
    assert ["id-10"] == ids(history.since("a", "", 0))
    history.put("a", said(10, "short"))
    history.put("a", said(11, "y" * 1000))
    assert ["id-10", "id-11"] == ids(history.since("a", "", 0))
