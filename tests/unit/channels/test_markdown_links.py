"""What a link may keep behind words, and what it has to show (A59)."""

import pytest

from channels.markdown.inline import PLAIN_CHARS, hides
from channels.markdown.layout import plain_text
from channels.markdown.parse import parse

EVIL = "https://evil.example"


@pytest.mark.parametrize(
    ("label", "url"),
    [
        ("the method", "https://example.org/method"),
        ("example.org", "https://example.org/"),
        ("www.Example.org", "https://EXAMPLE.org/a"),
        ("see https://example.org/a for more", "https://example.org/b"),
        ("chapter 3.2", "https://example.org/"),
        ("https://example.org/?q=1", "https://example.org/?q=1"),
        ("10.0.0.1", "http://10.0.0.1/"),
        ("page", "https://example.org/" + "x" * (PLAIN_CHARS - 1)),
    ],
)
def test_a_link_that_says_where_it_leads_keeps_its_words(label: str, url: str):
    """A plain page behind words, or behind its own name, is what links are for."""
    assert not hides(label, url)


@pytest.mark.parametrize(
    ("label", "url"),
    [
        ("paypal.com", EVIL),
        ("https://paypal.com/login", f"{EVIL}/login"),
        ("pay\u200bpal.com", EVIL),
        ("paypal\u3002com", EVIL),
        ("paypal\uff0ecom", EVIL),
        ("evil.example or paypal.com", EVIL),
        ("paypal.com", "https://paypal.com.evil.example/"),
        ("paypal.com", "https://paypal.com@evil.example/"),
        ("paypal.com", "https://paypal.com\\@evil.example/"),
        ("раypal.com", "https://xn--ypal-43d9g.com/"),
        ("192.168.0.1", EVIL),
        ("more", f"{EVIL}/?q=what+you+said"),
        ("more", f"{EVIL}/#what-you-said"),
        ("more", f"{EVIL}/;what-you-said"),
        ("more", f"{EVIL}/" + "x" * PLAIN_CHARS),
        ("more", "https://" + "d4ta." * 20 + "evil.example"),
        ("more", "https://what-you-said@evil.example"),
    ],
)
def test_a_link_that_misleads_or_carries_shows_its_address(label: str, url: str):
    """Another host in its words, however written, or an address with room for what was said."""
    assert hides(label, url)


@pytest.mark.parametrize(
    ("markdown", "seen"),
    [
        (f"[paypal.com]({EVIL}/) now", f"paypal.com ({EVIL}/) now"),
        (f"[**pay** `now`]({EVIL}/?q=1)", f"pay now ({EVIL}/?q=1)"),
        (f"![chart]({EVIL}/?q=1)", f"chart ({EVIL}/?q=1)"),
        (f"![]({EVIL}/?q=1)", f"{EVIL}/?q=1"),
        (f"[![chart](https://a.b/x.png)]({EVIL}/?q=1)", f"chart ({EVIL}/?q=1)"),
        (f"[{EVIL}/?q=1]({EVIL}/?q=1)", f"{EVIL}/?q=1"),
        ("[the method](https://example.org/method)", "the method"),
        (f"| a |\n|---|\n| [x]({EVIL}/?q=1) |", f"a: x ({EVIL}/?q=1)"),
    ],
)
def test_the_address_stands_behind_the_words(markdown: str, seen: str):
    """In links and in images, which are links, wherever they stand; the words are no link then, the address is."""
    assert seen == plain_text(parse(markdown))
    (block,) = parse(markdown)
    linked = [span for span in getattr(block, "spans", ()) if span.link is not None]
    assert [] == [span for span in linked if span.text not in {span.link, "the method"}]
