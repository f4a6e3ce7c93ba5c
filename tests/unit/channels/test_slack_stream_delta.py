"""The part of an unfinished answer that may go into an append-only stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.markdown.parse import parse
from channels.messages import GOES_ON
from channels.slack.render import SlackRenderer
from channels.slack.streams import has_link, stable_prefix, text_after
from gateway.delivery.pages import close_open_markup
from tests.fakes.markdown_documents import documents

RENDERER = SlackRenderer()

ANSWER = """\
Great work today! You have been at it for **45 minutes. That is a lot.** Here is your week:

## What went well

1. Scales: *clean at 90 bpm*, up from 80.
2. The Bach prelude. Bars 9 to 16 still rush.
   - left hand alone first
   - then *slowly* with both

```python
def tempo(day):
    if day > 3:
        return 96

    return 90
```

| Day | Minutes |
|-----|---------|
| Mon | 45 |
| Wednesday, the long one | 120 |

> Slow is smooth. Smooth is fast.

See you tomorrow: same time, e.g. at 5. Or at 6? Whatever suits you."""


def rendered(markdown: str) -> str:
    return RENDERER.render(parse(markdown)).text


def live(markdown: str) -> str:
    return rendered(close_open_markup(markdown)) + GOES_ON


def test_an_answer_only_grows():
    whole, shown = rendered(ANSWER), ""
    steps = set()
    for length in range(1, len(ANSWER) + 1):
        part = live(ANSWER[:length])
        assert text_after(part, shown) is not None, f"{part!r} does not begin with {shown!r}"
        shown = max(shown, stable_prefix(part), key=len)
        steps.add(shown)
    assert text_after(whole, shown) == "Whatever suits you."
    assert 20 < len(steps)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("", ""),
        ("…", ""),
        ("Hello", ""),
        ("Hello there.", ""),
        ("Hello there. How", "Hello there. "),
        ("One.\n\nTwo", ""),
        ("One.\n\nTwo more", "One.\n\n"),
        ("**Tip. Do** it", "**Tip. "),
        ("Version 2. 5 is 3\\. 4", ""),
        ("- one\n- two", "- one\n"),
        ("Code:\n\n```py\na = 1\n\n    b\n```", "Code:\n\n```py\na = 1\n\n    "),
        ("Code:\n\n```py\na = 1\n\n```", "Code:\n\n```py\n"),
        ("Code:\n\n```\nDay  Min\nMon   45\n```", "Code:\n\n"),
        ("Look.\n\n\\| Day \\| Min \\|\n\\| -- ", "Look.\n\n"),
    ],
)
def test_what_may_change_is_held_back(text, stands):
    assert stands == stable_prefix(text + GOES_ON)


@pytest.mark.parametrize(
    ("text", "shown", "more"),
    [
        ("One. Two.", "", "One. Two."),
        ("One. Two.", "One. ", "Two."),
        ("One.", "One. ", ""),
        ("One.", "One.\n\n", ""),
        ("Two.", "One. ", None),
        ("One", "One. ", None),
    ],
)
def test_the_rest_is_told_or_that_there_is_none(text, shown, more):
    assert more == text_after(text, shown)


@pytest.mark.parametrize(
    "text", ["https://evil.example/?q=secret", "[a](b)", "see WWW.example.com", "evil.example/x", "go to evil.io?q=1"]
)
def test_what_may_be_previewed_is_a_link(text):
    """Cover A59."""
    assert has_link(f"Read this: {text}")


@pytest.mark.parametrize("text", ["", "45 min. Great!", "e.g. scales", "3.5/4", "Really? Yes."])
def test_words_are_no_links(text):
    assert not has_link(text)


@given(documents(), st.integers(0, 2_000))
def test_what_stands_begins_the_rendering(document, length):
    text = live(document.text[:length])
    stands = stable_prefix(text)
    assert text.startswith(stands)
    assert stands == "" or not text[len(stands)].isspace()
