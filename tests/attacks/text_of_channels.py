"""Functions of `channels` that read a stranger's, a person's or a model's words."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import orjson

from channels.base import CommandSpec, Renderer
from channels.console.text import printable, width_of
from channels.discord import payloads as discord_payloads
from channels.discord import translate as discord
from channels.discord.config import DiscordAccount
from channels.discord.render import DiscordRenderer, inline_code
from channels.discord.translate_interaction import translate_interaction
from channels.foreign import words_of
from channels.markdown import parse as markdown_parse
from channels.markdown.inline import hides
from channels.markdown.layout import lay_out
from channels.markdown.parse import parse
from channels.markdown.tree import (
    Block,
    CodeBlock,
    ListBlock,
    ListItem,
    Paragraph,
    Quote,
    Span,
    Spans,
    Table,
    clean,
)
from channels.messages import Address, AttachmentKind, InboundMessage, OutboundMedia, OutboundPart, Rendered
from channels.slack import mrkdwn, names, streams
from channels.slack import payloads as slack_payloads
from channels.slack import translate as slack
from channels.slack import translate_interaction as slack_interaction
from channels.slack.command_names import CommandNames
from channels.slack.render import MARKDOWN, MRKDWN, SlackRenderer
from channels.telegram import payloads as telegram_payloads
from channels.telegram import translate as telegram
from channels.telegram.identity import BotIdentity as TelegramIdentity
from channels.telegram.render import TelegramRenderer
from channels.telegram.rich import RichTelegramRenderer, rich_message
from channels.viewers.plain_renderer import PlainRenderer
from channels.viewers.viewer_frames import BadFrame, SayFrame, read_frame, to_event
from channels.web import open_pages as web
from channels.web.render import WebRenderer
from tests.attacks.growth import Entry

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
A_LINK = "https://example.org/page"

# ------------------------------------------------------------ what goes out


def read_and_rendered(text: str, renderer: Renderer, then: Callable[[Rendered], object]) -> None:
    then(renderer.render(parse(text)))
    renderer.plain(text)


def in_blocks(text: str, renderer: Renderer, then: Callable[[Rendered], object]) -> None:
    then(renderer.render(blocks_of(clean(text))))


def blocks_of(text: str) -> tuple[Block, ...]:
    spans = styled(text)
    cells = tuple([(span,) for span in spans[:40]])
    return (
        Paragraph(spans),
        CodeBlock(text[:30], text),
        ListBlock((ListItem((Paragraph(spans), CodeBlock("", text))), ListItem((Quote((Paragraph(spans),)),), 7))),
        Quote((Paragraph(spans), Quote((Paragraph((Span(text),)),)))),
        Table(cells, (cells, cells)),
    )


def styled(text: str) -> Spans:
    runs = [text[at : at + 10] for at in range(0, len(text), 10)]
    return tuple([Span(run, at % 16, A_LINK if at % 7 == 0 else None) for at, run in enumerate(runs)])


def part_of(rendered: Rendered, **more: object) -> OutboundPart:
    address = Address("any", "main", "1")
    return OutboundPart(address=address, rendered=rendered, idem_key="k" * 25, **more)  # type: ignore[arg-type]  by name


def telegram_call(rendered: Rendered) -> None:
    telegram_payloads.to_send_call(part_of(rendered))
    rich_message(rendered)


def slack_call(rendered: Rendered) -> None:
    slack_payloads.to_message(part_of(rendered))
    slack_payloads.content(Rendered(rendered.text, None))
    streams.stable_prefix(rendered.text)
    streams.has_link(rendered.text)
    streams.to_status(rendered.text)
    streams.text_after(rendered.text, rendered.text[:-3])


def file_names(text: str) -> None:
    telegram_payloads.file_name(text)
    discord_payloads.safe_media((OutboundMedia(AttachmentKind.DOCUMENT, text, "text/plain", b""),))


def links(text: str) -> None:
    hides(text, A_LINK)
    SlackRenderer().render([Paragraph((Span("a", link=f"{A_LINK}/{clean(text)}"),))])
    parse(f"[{text}]({A_LINK})")
    parse(f"[a](<http://a.b/{text}>) [a](http://a.b/{text})")


def table_cells(text: str) -> None:
    parse(f"| a | b |\n|---|---|\n| {text} | {text} |")
    lay_out(parse(f"| {text} | b |\n|---|---|\n| a | b |"))


# ------------------------------------------------------------ what comes in

US_TELEGRAM = TelegramIdentity("main", 7, "coach_bot")
US_DISCORD = discord.BotIdentity("main", "7", "7")
DISCORD_CONFIG = DiscordAccount.model_validate({"token": "made.up.token"})
US_SLACK = slack.BotIdentity("main", "T1", "U7", "B7", name="coach")
VISITOR = web.visitor_of("a" * 32, "en")


def from_telegram(text: str) -> None:
    marked = [{"type": "mention", "offset": at, "length": 10} for at in range(0, len(text), 10)]
    who = {"id": 1, "is_bot": False, "first_name": text, "username": text}
    chat = {"id": 1, "type": "private"}
    message = {"message_id": 1, "date": 1, "chat": chat, "from": who, "text": f"/a{text}", "entities": marked}
    message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text)}, *marked]
    photo = {
        "message_id": 1,
        "date": 1,
        "chat": chat,
        "from": who,
        "caption": text,
        "document": {
            "file_id": text,
            "file_unique_id": "a",
            "file_name": text,
            "mime_type": text,
        },
    }
    replied = {**message, "quote": {"text": text}, "reply_to_message": message, "forward_sender_name": text}
    press = {"id": "1", "from": who, "message": message, "chat_instance": "a", "data": text}
    texts = ({"message": message}, {"message": replied}, {"message": text})
    for update in (*texts, {"edited_message": photo}, {"callback_query": press}):
        telegram.translate({"update_id": 1, **update}, US_TELEGRAM, NOW)


def from_discord(text: str) -> None:
    who = {"id": "1", "username": text, "global_name": text}
    message = {
        "id": "1",
        "channel_id": "5",
        "type": 0,
        "author": who,
        "content": f"<@7> {text} <@7>",
        "timestamp": NOW.isoformat(),
        "mentions": [who],
        "edited_timestamp": NOW.isoformat(),
        "attachments": [{"id": "1", "filename": text, "size": 1, "content_type": text}],
    }
    context = discord.TranslationContext(US_DISCORD, DISCORD_CONFIG)
    snapshot = {"message": {"content": text, "attachments": []}}
    message |= {"message_reference": {"message_id": "2", "channel_id": "5"}, "referenced_message": dict(message)}
    message |= {"message_snapshots": [snapshot]}
    for event in ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"):
        discord.translate(event, 1, message, context, NOW)
    discord.translate("MESSAGE_CREATE", 1, {"id": text, "content": text}, context, NOW)
    options = [{"name": text, "type": 3, "value": text}] * 2
    used = {"id": "1", "application_id": "7", "type": 2, "token": "t", "channel_id": "5", "user": who}
    translate_interaction(1, {**used, "data": {"id": "1", "name": text, "type": 1, "options": options}}, context)
    translate_interaction(1, {**used, "type": text}, context)


def from_slack(text: str) -> None:
    message = {
        "type": "message",
        "channel": "C1",
        "ts": "1700000000.000200",
        "user": "U1",
        "text": f"<@U7> {text}",
        "username": text,
        "attachments": [{"text": text, "author_name": text, "is_share": True, "is_msg_unfurl": True}],
    }
    edit = {
        "type": "message",
        "subtype": "message_changed",
        "channel": "C1",
        "ts": "1700000000.000300",
        "message": {
            **message,
            "edited": {"user": "U1", "ts": "1700000000.000400"},
        },
    }
    context = slack.TranslationContext(name_of=lambda *_: text[: names.NAME_CHARS])
    for event in (message, edit, {"type": "message", "text": text}):
        body = {"type": "event_callback", "team_id": "T1", "event_id": "E1", "event_time": 1, "event": event}
        slack.translate_event(body, US_SLACK, context)
        names.people_in(body)
    command = {
        "team_id": "T1",
        "channel_id": "C1",
        "channel_name": "a",
        "user_id": "U1",
        "user_name": text,
        "command": "/coach",
        "text": text,
        "trigger_id": text,
        "response_url": "https://hooks.slack.com/a",
    }
    slack_interaction.translate_command(command, US_SLACK, NOW)
    slack_interaction.translate_command({"text": text}, US_SLACK, NOW)
    names.people_in(command)
    mrkdwn.mentions(f"<@U8> {text} <@U7", "U8")


def from_the_page(text: str) -> None:
    event = to_event(SayFrame.model_construct(type="say", id="a" * 8, text=text), VISITOR, NOW)
    if isinstance(event, InboundMessage):
        web.said_frame(event)
    for raw in (orjson.dumps({"type": "say", "id": "a" * 8, "text": clean(text)}), text.encode(errors="replace")):
        try:
            read_frame(raw)
        except BadFrame as refusal:
            str(refusal)


def on_a_terminal(text: str) -> None:
    printable(text)
    width_of(text)


def shown_on_the_page(rendered: Rendered) -> None:
    for text in (rendered.text, rendered.text + " …"):
        web.message_frame(part_of(Rendered(text, rendered.markup)), "1", NOW)


COMMANDS = CommandNames("coach", (), [CommandSpec("a", "")])

RENDERED: dict[str, tuple[Renderer, Callable[[Rendered], object]]] = {
    "channels.telegram": (TelegramRenderer(), telegram_call),
    "channels.telegram rich": (RichTelegramRenderer(), telegram_call),
    "channels.discord": (DiscordRenderer(), lambda rendered: discord_payloads.message_of(part_of(rendered))),
    "channels.slack markdown": (SlackRenderer(MARKDOWN, COMMANDS), slack_call),
    "channels.slack mrkdwn": (SlackRenderer(MRKDWN), slack_call),
    "channels.web": (WebRenderer(), shown_on_the_page),
    "channels.console": (PlainRenderer(), lambda _: None),
}

ENTRIES: dict[str, Entry] = {
    "channels.markdown.parse: how many blocks": Entry(markdown_parse.blocks_in),  # looked at in long texts alone
    "channels.markdown.inline:hides": Entry(links),
    "channels.markdown.parse:tables": Entry(table_cells),
    **{
        f"{name}: an answer": Entry(partial(read_and_rendered, renderer=renderer, then=then))
        for name, (renderer, then) in RENDERED.items()
    },
    **{
        f"{name}: every block": Entry(partial(in_blocks, renderer=renderer, then=then))
        for name, (renderer, then) in RENDERED.items()
    },
    "channels.telegram.translate": Entry(from_telegram),
    "channels.discord.translate": Entry(from_discord),
    "channels.slack.translate": Entry(from_slack),
    "channels.viewers.viewer_frames": Entry(from_the_page),
    "channels.console.text": Entry(on_a_terminal),
    "channels: names of files": Entry(file_names),
    "channels.foreign:words_of": Entry(words_of),
    "channels.discord.render:inline_code": Entry(inline_code),
}
