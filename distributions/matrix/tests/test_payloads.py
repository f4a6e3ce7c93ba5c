"""Texts, HTML and contents of what we send, without a homeserver."""

import orjson
import pytest

from channels.markdown.parse import parse
from channels.messages import GOES_ON, Address, AttachmentKind, OutboundMedia, OutboundPart, Rendered
from tenk_matrix.payloads import to_edit, to_key, to_media_message, to_message
from tenk_matrix.render import MatrixRenderer, to_html

RENDERER = MatrixRenderer()


def html(markdown: str) -> str | None:
    return to_html(RENDERER.render(parse(markdown)))


HELLO = Rendered("hello")


def part(rendered: Rendered = HELLO, *, thread: str | None = None, **more) -> OutboundPart:
    address = Address("matrix", "main", "!r", thread)
    return OutboundPart(address=address, rendered=rendered, idem_key="key", **more)


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** and *soft*", "<strong>bold</strong> and <em>soft</em>"),
        ("**a *b* c**", "<strong>a <em>b</em> c</strong>"),
        ("~~no~~ `x < y`", "<del>no</del> <code>x &lt; y</code>"),
        ("[a site](https://x.org/?q&r)", 'a site (<a href="https://x.org/?q&amp;r">https://x.org/?q&amp;r</a>)'),
        (
            "one\n\n```python\na = 1\n\nb\n```\n\n2",
            'one<pre><code class="language-python">a = 1\n\nb</code></pre>2',
        ),
        ("> said\n\n**so**", "<blockquote>said</blockquote><strong>so</strong>"),
        ("- **a**\n  - b", "• <strong>a</strong><br>\u00a0\u00a0◦ b"),
    ],
)
def test_markdown_is_shown_as_html(markdown, expected):
    assert expected == html(markdown)


def test_plain_text_has_no_html():
    assert html("just <text>") is None
    assert Rendered("a <b>") == RENDERER.plain(" a <b>\x00 ")


def test_what_the_gateway_appends_or_replaces_is_in_the_html_too():
    rendered = RENDERER.render(parse("Code: **••••••••**"))
    filled = Rendered(rendered.text.replace("••••••••", "ABCD2345") + GOES_ON, rendered.markup)
    assert f"Code: <strong>ABCD2345</strong>{GOES_ON}" == to_html(filled)


def test_a_message_mentions_no_one():
    content = to_message(part(RENDERER.render(parse("**hi** @ada:example.org"))))
    assert {} == content["m.mentions"]
    assert "org.matrix.custom.html" == content["format"]


def test_a_thread_and_a_reply_are_relations():
    assert {"m.in_reply_to": {"event_id": "$1"}} == to_message(part(reply_to="$1"))["m.relates_to"]
    assert {
        "rel_type": "m.thread",
        "event_id": "$0",
        "is_falling_back": True,
        "m.in_reply_to": {"event_id": "$0"},
    } == to_message(part(thread="$0"))["m.relates_to"]


def test_html_that_would_not_fit_into_an_event_is_left_out():
    rendered = RENDERER.render(parse("**" + "\U0001f600" * 9_000 + "**"))
    content = to_message(part(rendered))
    assert "formatted_body" not in content
    assert len(orjson.dumps(to_edit(part(rendered), "$0"))) < 65_000


def test_a_key_is_the_same_for_the_same_words_alone():
    assert to_key(part()) == to_key(part())
    assert 3 == len({to_key(part()), to_key(part(Rendered("other"))), to_key(part(), 1)})


@pytest.mark.parametrize(
    ("kind", "mime", "expected"),
    [
        (AttachmentKind.PHOTO, "image/png", "m.image"),
        (AttachmentKind.VOICE, "audio/ogg", "m.audio"),
        (AttachmentKind.DOCUMENT, "video/mp4", "m.video"),
        (AttachmentKind.DOCUMENT, "text/csv", "m.file"),
    ],
)
def test_a_file_is_shown_by_its_kind_with_the_text_as_caption(kind, mime, expected):
    media = OutboundMedia(kind, "name", mime, b"1234567")
    content = to_media_message(part(Rendered("caption")), media, "mxc://x/y", captioned=True)
    assert (expected, "caption", "name", 7) == (
        content["msgtype"],
        content["body"],
        content["filename"],
        content["info"]["size"],
    )
    assert "name" == to_media_message(part(Rendered("")), media, "mxc://x/y", captioned=True)["body"]
