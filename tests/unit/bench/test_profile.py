"""How a profile is printed."""

from tests.bench.profile import rooms_table, store_lines


def test_rooms_come_with_their_own_share_and_the_packages_at_work_for_them():
    """The dearest first; what is next to nothing in one line."""
    spent = [
        ("gateway/store", "", 2.0), ("gateway/store", "sqlalchemy", 3.0), ("agent/models", "aiohttp", 4.96),
        ("", "asyncio", 0.02), ("channels/clocks.py", "", 0.02),
    ]  # fmt: skip
    _, store, models, rest = rooms_table(spent)
    assert ["gateway/store", "50.0", "20.0", "sqlalchemy", "30.0"] == store.split()
    assert ["agent/models", "49.6", "0.0", "aiohttp", "49.6"] == models.split()
    assert ["all", "others", "0.4"] == rest.split()


def test_the_store_is_counted_a_message():
    """Commits apart from statements; rare ones in the sum alone."""
    summed, named = store_lines({"BEGIN": 25, "COMMIT": 25, "INSERT events": 300, "SELECT sessions": 1}, 100)
    assert "  the writer, a message: 0.25 commits, 3.0 statements" == summed
    assert "  INSERT events 3.00" == named
