"""Answers as rich messages: blocks if Telegram takes them, text otherwise."""

from dataclasses import replace

import pytest

from channels.errors import Permanent, PermanentKind
from channels.markdown.parse import parse
from channels.messages import Button, ButtonStyle
from channels.simulators.shared.faults import Fault
from tests.fakes.telegram import part, telegram

YES = Button("Yes", "p:1:y", ButtonStyle.PRIMARY)
PAGE = "# Plan\n\n1. Scales\n2. Songs\n\n| day | what |\n|---|---|\n| Mon | scales |\n\n> slowly"


async def test_rich_message_is_sent_edited_and_drafted():
    async with telegram(rich=True, live="draft") as rig:
        rig.simulator.add_chat(1, "private")
        page = replace(part(""), rendered=rig.channel.renderer.render(parse(PAGE)))
        await rig.channel.draft(page.address, 5, page.rendered)
        draft = rig.simulator.draft(1)
        assert draft is not None
        assert draft.rich
        receipt = await rig.channel.send(replace(page, buttons=(YES,)))
        (message,) = rig.simulator.answers(1)
        assert ["heading", "list", "table", "blockquote"] == [block["type"] for block in message.blocks]
        assert "Plan\n1. Scales\n2. Songs\nday | what\nMon | scales\nslowly" == message.text
        await rig.channel.edit(page, receipt.platform_id)
        await rig.channel.edit(page, receipt.platform_id)
        assert 1 == len(message.edits)
        await rig.channel.edit(part("short"), receipt.platform_id)
        assert ("short", ()) == (message.text, message.blocks)


async def test_mark_behind_a_rich_text_is_shown_too():
    async with telegram(rich=True) as rig:
        rig.simulator.add_chat(1, "private")
        rendered = rig.channel.renderer.render(parse("# Plan"))
        await rig.channel.send(replace(part(""), rendered=replace(rendered, text=rendered.text + "\n\n(again)")))
        assert ["Plan\n(again)"] == [one.text for one in rig.simulator.answers(1)]


async def test_rich_text_that_was_changed_inside_goes_as_text():
    async with telegram(rich=True) as rig:
        rig.simulator.add_chat(1, "private")
        rendered = rig.channel.renderer.render(parse("# Code\n\n{code}"))
        filled = replace(rendered, text=rendered.text.replace("{code}", "ABC123"))
        await rig.channel.send(replace(part(""), rendered=filled))
        (message,) = rig.simulator.answers(1)
        assert ("Code\n\nABC123", ()) == (message.text, message.blocks)


async def test_refused_rich_message_is_malformed():
    async with telegram(rich=True) as rig:
        rig.simulator.add_chat(1, "private")
        words = "Bad Request: can't parse rich message: unsupported block"
        rig.simulator.faults.script(Fault(kind="status", status=400, description=words, method="sendRichMessage"))
        with pytest.raises(Permanent) as refused:
            await rig.channel.send(replace(part(""), rendered=rig.channel.renderer.render(parse("# Plan"))))
        assert PermanentKind.MALFORMED is refused.value.kind
