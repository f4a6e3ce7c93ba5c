"""Parts as each platform takes them: the call's arguments, checked by the simulator's rules, and read anew.

There is no socket: the contract tests send parts through the SDKs.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markdown_it import MarkdownIt

from channels.base import Limits, Renderer
from channels.discord import payloads
from channels.discord.limits import DISCORD_LIMITS
from channels.discord.render import DiscordRenderer
from channels.markdown.tree import Block, Table
from channels.messages import Address, OutboundPart, Rendered
from channels.simulators.discord import checks as discord_checks
from channels.simulators.slack import checks as slack_checks
from channels.simulators.telegram import checks as telegram_checks
from channels.simulators.telegram import rich as telegram_rich
from channels.slack import payloads as slack_payloads
from channels.slack.limits import MRKDWN_LIMITS, SLACK_LIMITS
from channels.slack.render import MARKDOWN, MRKDWN, SlackRenderer
from channels.telegram import payloads as telegram_payloads
from channels.telegram.limits import TELEGRAM_LIMITS
from channels.telegram.render import TelegramRenderer
from channels.telegram.rich import RichTelegramRenderer
from tests.fakes import discord_markdown, telegram_entities

KEY = "0123456789abcdef"


@dataclass(frozen=True)
class Taken:
    """A part in a chat."""

    text: str  # what a person reads
    pings: tuple[str, ...]
    faults: tuple[str, ...] = ()  # what was taken, and yet is not shown as it was meant


@dataclass(frozen=True)
class Taker:
    """One platform; `take` raises the simulator's refusal."""

    name: str
    renderer: Renderer
    limits: Limits
    take: Callable[[Rendered], Taken]
    own_tables: bool = False  # a table is one here too, where plain text tells it row by row


def _part(chat: str, rendered: Rendered) -> OutboundPart:
    return OutboundPart(address=Address("any", "main", chat), rendered=rendered, idem_key=KEY)


def _telegram(rendered: Rendered) -> Taken:
    for call in (
        telegram_payloads.to_send_call(_part("1", rendered)),
        telegram_payloads.to_edit_call(_part("1", rendered), "7"),
    ):
        if "rich_message" in call.body:
            return _telegram_rich(call.body["rich_message"])
        assert {"is_disabled": True} == call.body["link_preview_options"]
        text, entities = telegram_checks.check_text(call.body["text"], json.loads(call.body.get("entities", "[]")))
    marked = Rendered(text, json.dumps(entities) if entities else None)
    faults = telegram_entities.faults(rendered) + telegram_entities.faults(marked)
    if (text, len(entities)) != (rendered.text.replace("\t", " "), len(json.loads(rendered.markup or "[]"))):
        faults.append("Telegram changed it")
    return Taken(text, tuple(telegram_entities.mentioned(marked)), tuple(faults))


def _telegram_rich(message) -> Taken:
    text, _ = telegram_rich.check_rich_message(message)
    return Taken(text, tuple(telegram_entities.mentioned(Rendered(rich_words(message["blocks"])))))


def rich_words(rich) -> str:
    """Return the words of a rich message in which a server might look for names."""
    if isinstance(rich, str):
        return rich
    if isinstance(rich, list):
        between = "\n" if any(isinstance(one, dict) and "blocks" in one for one in rich) else ""
        return between.join(map(rich_words, rich))
    if rich.get("type") in ("code", "pre"):
        return " "
    return "\n".join(rich_words(rich[name]) for name in ("text", "blocks", "items", "cells") if name in rich)


def _discord(rendered: Rendered) -> Taken:
    body = payloads.message_of(_part("1", rendered))
    discord_checks.check_nonce(body)
    content = discord_checks.checked_content(body)
    pings = discord_checks.find_pings(content, body["allowed_mentions"])
    shown = discord_markdown.seen(content)
    live = {"mention", "emoji", "timestamp", "spoiler", "underline"} & shown.kinds()
    faults = discord_markdown.faults(content) + sorted(live)
    if body["flags"] & payloads.SUPPRESS_EMBEDS == 0:
        faults.append("it may be unfurled")
    return Taken(shown.text, pings, tuple(faults))


def _slack(rendered: Rendered) -> Taken:
    body = slack_payloads.to_message(_part("D1", rendered))
    assert (False, False) == (body["unfurl_links"], body["unfurl_media"])
    taken = slack_checks.check_content(body["text"], body["blocks"])
    taken = slack_checks.check_content(body["text"], body["blocks"], updated=True)
    if rendered.markup == MARKDOWN:
        return Taken(read_markdown(body["blocks"][0]["text"]), taken.pings)
    return Taken(taken.text, taken.pings)


_READER = MarkdownIt("commonmark", {"html": True, "maxNesting": 400}).enable(["table", "strikethrough"])


def read_markdown(text: str) -> str:
    """Return the text that another parser reads from standard Markdown; it drops raw HTML."""
    pieces = []
    for token in _READER.parse(text):
        if token.type in ("fence", "code_block"):
            pieces.append(token.content)
        elif token.type == "list_item_open":
            pieces.append(f"{token.info or '•'} ")
        for child in token.children or ():
            if child.type in ("text", "text_special", "code_inline"):
                pieces.append(child.content)
            elif child.type in ("softbreak", "hardbreak"):
                pieces.append("\n")
        pieces.append("\n" if token.nesting <= 0 else "")
    return "".join(pieces)


TAKERS = (
    Taker("telegram", TelegramRenderer(), TELEGRAM_LIMITS, _telegram),
    Taker("telegram rich", RichTelegramRenderer(), TELEGRAM_LIMITS, _telegram, own_tables=True),
    Taker("discord", DiscordRenderer(), DISCORD_LIMITS, _discord),
    Taker("slack markdown", SlackRenderer(MARKDOWN), SLACK_LIMITS, _slack),
    Taker("slack mrkdwn", SlackRenderer(MRKDWN), MRKDWN_LIMITS, _slack),
)

_LETTERS = re.compile(r"[^\W_]")


def letters(text: str) -> str:
    """Return the letters and digits of every script, in order: no rendering may lose them."""
    return "".join(_LETTERS.findall(text))


def missing(of: str, within: str) -> str:
    """Return the letters of one text that another lacks, in order, from the first on; the other may say more."""
    rest = iter(letters(within))
    wanted = letters(of)
    return next((wanted[at : at + 40] for at, letter in enumerate(wanted) if letter not in rest), "")


def has_table(blocks: Iterable[Block]) -> bool:
    """Return True if there is a table at any depth."""
    return any(
        isinstance(block, Table)
        or has_table(getattr(block, "blocks", ()))
        or any(has_table(item.blocks) for item in getattr(block, "items", ()))
        for block in blocks
    )
