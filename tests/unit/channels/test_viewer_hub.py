"""Views: bounded, closed if they fall behind, forgotten when gone."""

from channels.viewers.viewer_hub import ViewerHub


def small_hub() -> ViewerHub:
    return ViewerHub(most=3, most_of_chat=2)


async def test_each_view_of_a_chat_is_told_and_no_other():
    hub = small_hub()
    one, other, stranger = hub.open("c"), hub.open("c"), hub.open("d")
    hub.tell("c", {"type": "message"})
    hub.tell("d", {"type": "typing"})
    assert ["message", "message", "typing"] == [(await view.next())["type"] for view in (one, other, stranger)]


async def test_views_are_bounded_per_chat_and_over_all():
    hub = small_hub()
    first = hub.open("a")
    assert hub.open("a") is not None
    assert hub.open("a") is None
    assert hub.open("b") is not None
    assert hub.open("c") is None
    hub.leave(first)
    assert hub.open("c") is not None


async def test_chats_without_a_view_are_forgotten():
    hub = small_hub()
    for number in range(100):
        hub.leave(hub.open(f"chat {number}"))
    assert 0 == len(hub)
