"""The demo shows Markdown as people see it: marks become looks, and what was escaped stands plain."""

from gateway.demo.marks import without_marks


def test_marks_become_looks() -> None:
    """Bold, slanted, code and headings, counted in UTF-16 units as the Bot API does."""
    assert (
        "Logged 🎤 45 min, now and /undo",
        (
            {"type": "bold", "offset": 10, "length": 6},
            {"type": "italic", "offset": 18, "length": 3},
            {"type": "code", "offset": 26, "length": 5},
        ),
    ) == without_marks("Logged 🎤 **45 min**, *now* and `/undo`")
    assert ("Habits\nnone", ({"type": "bold", "offset": 0, "length": 6},)) == without_marks("## Habits\nnone")


def test_what_is_escaped_is_no_mark() -> None:
    """Nor is a mark inside a word, or one that stands alone."""
    assert ("2 * 3, *so*, a_b_c", ()) == without_marks(r"2 * 3, \*so\*, a_b_c")
