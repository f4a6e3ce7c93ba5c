"""Sends, edits, typing and downloads of the Slack adapter; every failure is of a known kind."""

import gc
import traceback

import pytest

from channels.base import (
    DeletesMessages,
    EditsMessages,
    FetchesMedia,
    FindsSent,
    HasButtons,
    Reaction,
    Reacts,
    SendsMedia,
    ServesHttp,
    ShowsTyping,
)
from channels.errors import Permanent, Retryable, Unknown
from channels.markdown.parse import parse
from channels.messages import (
    Address,
    Attachment,
    AttachmentKind,
    OutboundMedia,
)
from channels.simulators.shared.faults import Fault
from channels.simulators.slack.state import APP_TOKEN, BOT_TOKEN
from channels.slack.adapter import REACTIONS
from channels.slack.render import SlackRenderer
from tests.fakes.slack import BOT, part, slack

HOME = Address("slack", "main", "D1")


async def test_channel_has_the_abilities_it_promises():
    abilities = (EditsMessages, ShowsTyping, Reacts, DeletesMessages, HasButtons, FindsSent, SendsMedia, FetchesMedia)
    async with slack() as rig:
        for ability in (*abilities, ServesHttp):
            assert isinstance(rig.channel, ability)
        assert () == tuple(rig.channel.http_routes())


async def test_send_stands_in_its_thread_without_previews_and_with_its_key():
    async with slack() as rig:
        root = rig.simulator.say("C1", "question")
        receipt = await rig.channel.send(part("see https://example.com", chat="C1", thread=root))
        (answer,) = rig.simulator.answers("C1")
        assert (receipt.platform_id, root, False) == (answer.message_id, answer.thread, answer.unfurls)
        assert {"key": "0123456789abcdef"} == answer.metadata["event_payload"]


async def test_what_cannot_be_looked_up_now_is_asked_again():
    async with slack() as rig, rig.running():
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="html", method="conversations.history"))
        with pytest.raises(Retryable):
            await rig.channel.find_sent(part("hello"))


async def test_long_plain_edit_is_taken():
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("…", markup=None))
        await rig.channel.edit(part("x" * 11_900, markup=None), receipt.platform_id)
        assert 11_900 == len(rig.simulator.answers("D1")[0].text.replace("\n", ""))


@pytest.mark.parametrize("reaction", list(Reaction))
async def test_every_reaction_can_be_set_and_cleared(reaction: Reaction):
    async with slack() as rig:
        ts = rig.simulator.say("D1", "hello")
        await rig.channel.react(HOME, ts, Reaction.QUEUED)
        await rig.channel.react(HOME, ts, reaction)
        await rig.channel.react(HOME, ts, reaction)
        assert {REACTIONS[reaction]: {BOT}} == rig.simulator.messages("D1")[0].reactions
        await rig.channel.react(HOME, ts, None)
        await rig.channel.react(HOME, ts, None)
        assert {} == rig.simulator.messages("D1")[0].reactions


async def test_typing_is_a_status_in_threads_alone():
    async with slack() as rig:
        root = rig.simulator.say("D1", "hello")
        await rig.channel.show_typing(HOME)
        await rig.channel.show_typing(Address("slack", "main", "D1", root))
        assert [(root, "is thinking…")] == rig.simulator.world.chat("D1").statuses
        rig.simulator.world.the_app().scopes = "chat:write"
        with pytest.raises(Retryable):
            await rig.channel.show_typing(Address("slack", "main", "D1", root))
        await rig.channel.show_typing(Address("slack", "main", "D1", root))


async def test_delete_takes_our_message_away():
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        receipt = await rig.channel.send(part("oops"))
        await rig.channel.delete(HOME, receipt.platform_id)
        assert [] == rig.simulator.answers("D1")


@pytest.mark.parametrize(
    "text",
    [
        "@everyone",
        "<!channel>",
        "<!here|here>",
        "<@U7>",
        "<!subteam^S1|@team>",
        "`<!channel>`",
        "```\n<!here> <@U7>\n```",
    ],
)
@pytest.mark.parametrize("dialect", ["markdown", "mrkdwn", None])
async def test_nothing_pings(text: str, dialect: str | None):
    """Cover A62, A63."""
    renderer = SlackRenderer(dialect or "markdown")
    rendered = renderer.plain(text) if dialect is None else renderer.render(parse(text))
    async with slack() as rig:
        rig.simulator.world.chat("C1")
        receipt = await rig.channel.send(part(rendered.text, chat="C1", markup=rendered.markup))
        await rig.channel.edit(part(rendered.text, chat="C1", markup=rendered.markup), receipt.platform_id)
        assert [] == rig.simulator.pings()
        shown = rig.simulator.answers("C1")[0].text.replace("\u2060", "")
        assert text.strip("`\n<>") in shown


@pytest.mark.parametrize("told", [21_000_000, 10])
async def test_file_that_is_too_large_is_refused(told: int):
    async with slack() as rig, rig.running():
        content = b"x" * (21_000_000 if told == 10 else 10)
        rig.simulator.say("D1", "", files=[rig.simulator.upload("big.bin", content, size=told)])
        await rig.sink.until(lambda: bool(rig.sink.events))
        with pytest.raises(Permanent, match="larger"):
            await rig.channel.fetch(rig.sink.events[0].attachments[0], 20_000_000)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/files-pri/F1/x", "https://files.slack.com.evil.example/x", "file:///etc/passwd"]
)
async def test_token_goes_to_the_exact_file_host_alone(url: str):
    """Cover A89."""
    async with slack() as rig:
        with pytest.raises(Permanent, match="file host"):
            await rig.channel.fetch(Attachment(AttachmentKind.DOCUMENT, url), 1_000)


async def test_file_without_its_scope_is_refused_and_no_redirect_is_followed():
    async with slack() as rig, rig.running():
        rig.simulator.say("D1", "", files=[rig.simulator.upload("a.pdf", b"%PDF")])
        await rig.sink.until(lambda: bool(rig.sink.events))
        rig.simulator.world.the_app().scopes = "chat:write"
        with pytest.raises(Permanent, match="files:read"):
            await rig.channel.fetch(rig.sink.events[0].attachments[0], 1_000)


async def test_files_are_sent_in_one_message_and_found_again():
    media = (OutboundMedia(AttachmentKind.PHOTO, "plan.png", "image/png", b"\x89PNG"),)
    async with slack() as rig, rig.running():
        root = rig.simulator.say("C1", "show me")
        sent = part("Your plan", chat="C1", thread=root, media=media)
        assert None is await rig.channel.find_sent(sent)
        receipt = await rig.channel.send(sent)
        (answer,) = rig.simulator.answers("C1")
        assert ("Your plan", root, ["plan.png"]) == (answer.text, answer.thread, [one.name for one in answer.files])
        assert receipt == await rig.channel.find_sent(sent)


async def test_upload_that_fails_is_made_anew():
    media = (OutboundMedia(AttachmentKind.DOCUMENT, "a.csv", "text/csv", b"1,2"),)
    async with slack() as rig:
        rig.simulator.world.chat("D1")
        rig.simulator.faults.script(Fault(kind="status", method="upload"))
        with pytest.raises(Retryable):
            await rig.channel.send(part("", media=media))
        await rig.channel.send(part("", media=media))
        assert 1 == len(rig.simulator.answers("D1"))


@pytest.mark.parametrize("trouble", ["nobody listens", "cut", "html", "late", "refused"])
async def test_tokens_are_in_no_error(trouble: str):
    """Cover A92."""
    async with slack(call_timeout_s=0.2) as rig:
        rig.simulator.world.chat("D1")
        if trouble == "nobody listens":
            await rig.simulator.aclose()
        else:
            kind = {"cut": "cut", "html": "html", "late": "delay", "refused": "error"}[trouble]
            rig.simulator.faults.script(Fault(kind=kind, error="invalid_auth", delay_s=5))
        with pytest.raises((Retryable, Unknown, Permanent)) as caught:
            await rig.channel.send(part("hello"))
        told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(rig.channel)
        linked, error = [], caught.value
        while error is not None:
            linked.append(f"{error!r} {vars(error)}")
            error = error.__cause__ or error.__context__
        assert BOT_TOKEN not in told + "".join(linked)
        assert APP_TOKEN not in told + "".join(linked)
        del caught
        gc.collect()
