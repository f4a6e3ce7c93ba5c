"""Rules say what an inbox row is, where its answer goes, and which rows belong together. Pure, over admitted rows.

Everything here depends on the rows alone, so that a restart decides as the first life would have.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise, takewhile

from agent.catalogue import Catalogue
from channels.base import Limits
from channels.messages import (
    ButtonPressed,
    ChatKind,
    CommandInvoked,
    InboundEvent,
    InboundMessage,
    MessageDeleted,
    SystemEvent,
)
from gateway.commands.base import Command
from gateway.commands.table import CommandTable
from gateway.inbound.session_key import agent_of
from gateway.sessions.config import SessionsConfig
from gateway.store import inbox
from gateway.store.children import READING, SUBAGENT
from gateway.store.inbox import PRESSED, InboxRow
from gateway.store.journal import TurnRow
from gateway.store.tables.base import new_id

MERGING = ("collect", "interrupt")
"""In these whatever a person has waiting becomes one turn."""

INTERRUPTION = "! "

Is = Callable[[InboxRow], bool]


def strip_mark(words: str) -> str | None:
    """Return the words behind "! "; None if they do not begin so, or nothing follows."""
    said = words.lstrip()
    return said.removeprefix(INTERRUPTION).strip() or None if said.startswith(INTERRUPTION) else None


def same_voice(row: InboxRow, other: InboxRow) -> bool:
    """Return True if one person said both in one place."""
    return row.user_id == other.user_id and row.event.address == other.event.address


def rows_to_merge(
    first: InboxRow, waiting: Iterable[InboxRow], mode: str, *, joins: Is, is_marked: Is
) -> list[InboxRow]:
    """Return the rows of `waiting` that become one turn with the row before them, in order.

    In the modes that merge: all rows of its person; in the others those up to an interruption of theirs, since a turn
    of its own would begin only to be ended. None of the person's rows is overtaken.
    """
    mine = list(takewhile(joins, (row for row in waiting if same_voice(row, first))))
    if mode in MERGING:
        return mine
    count = max((place for place, row in enumerate(mine, 1) if is_marked(row)), default=0)
    return mine[:count]


def rows_to_steer(waiting: Iterable[InboxRow], *, joins: Is, is_marked: Is) -> list[InboxRow]:
    """Return the rows of `waiting` that join the running turn: its person's, up to their next interruption."""
    return list(takewhile(lambda row: not is_marked(row), filter(joins, waiting)))


CHAT = "chat"
KindOfWords = Callable[[str], str | None]
"""A function from a message's words to the kind of turn that it starts; None: a chat's."""

LanguageOfWords = Callable[[str], tuple[str, bool] | None]
"""A function from a message's words to their language, and True if they ask for answers in it; None: unknown."""

HELP = "/help"
_NAMED = re.compile(r"/(\w+)(?:\s+(.*))?\Z", re.DOTALL)

JOIN_WITHIN = timedelta(seconds=1.5)
NEAR_LIMIT = 100
"""Units below a platform's limit from which on a text is taken for the beginning of a longer one."""

MOST_WORDS = 256
"""Messages whose kind is remembered: router, mailbox and session ask for that of each in turn."""


# ------------------------------------------------------------ what a row is


class RowClassifier:
    """Tells messages from commands by the command table."""

    def __init__(
        self,
        table: CommandTable,
        kind_of_words: KindOfWords = lambda _text: None,
        language_of_words: LanguageOfWords = lambda _text: None,
    ) -> None:
        """`kind_of_words` says which words to the product start a turn of a kind of their own; asked once of each."""
        self._language_of_words = language_of_words
        self._table = table
        self._kind_of_words = lru_cache(MOST_WORDS)(kind_of_words)

    def kind_of(self, row: InboxRow) -> str | None:
        """Return the kind of turn that a row starts; None for a command."""
        if isinstance(row.event, SystemEvent):
            return row.event.turn
        if isinstance(row.event, ButtonPressed | MessageDeleted):
            return None
        if only_reads(row.event):
            return READING
        said = _deciding_words(row, self._table)
        if not said.startswith("/"):
            is_products = agent_of(row.session_key) == self._table.talk
            return (self._kind_of_words(said) if is_products else None) or CHAT
        command = self._command(said)
        return None if command is None else command.turn

    def language_of(self, words: str) -> tuple[str, bool] | None:
        """Return the language of a message, and True if it asks for answers in that; None if nothing tells."""
        return self._language_of_words(words) if words and not words.startswith("/") else None

    def is_urgent(self, row: InboxRow) -> bool:
        """Return True if the row passes the backlog by."""
        said = _deciding_words(row, self._table)
        command = self._command(said) if said.startswith("/") else None
        return command is not None and command.urgent

    def is_marked(self, row: InboxRow) -> bool:
        """Return True if the row interrupts in any mode."""
        return not only_reads(row.event) and read_words(row.event, self._table.talk).is_marked

    def _command(self, said: str) -> Command | None:
        parsed = self._table.parse(said)
        return None if parsed is None else parsed[0]


@dataclass(frozen=True, slots=True)
class TypedWords:
    """The words of a message, as if typed."""

    said: str  # without the mark of an interruption; /`talk` is left out, and alone it asks for help
    behind: str | None  # the words behind /`talk`; None for other messages
    is_marked: bool  # they are marked as an interruption


def read_words(event: InboundEvent, talk: str) -> TypedWords:
    """Return the words of a message. Forwarded words are not the sender's: they are no command and no correction."""
    match event:
        case InboundMessage(forwarded=False, text=text):
            typed = text
        case CommandInvoked(name=name, arguments=arguments):
            typed = f"/{name} {arguments}".rstrip()
        case _:
            typed = ""
    named = _NAMED.match(typed.strip())
    behind = (named[2] or "").strip() if named is not None and named[1].lower() == talk else None
    said = typed if behind is None else HELP if behind.lower() in {"", "help"} else behind
    unmarked = strip_mark(said)
    return TypedWords(unmarked or said, behind, unmarked is not None)


def command_words(event: InboundEvent, table: CommandTable) -> str:
    """Return the words of a message, with a slash if they stand behind /`talk` and name a command.

    Platforms that reserve a command's name, or do not know it, take "/coach stop".
    """
    words = read_words(event, table.talk)
    pressed = event.event_id.startswith(PRESSED)  # an answer suggested these words: they are none of a person's
    if words.behind and not words.said.startswith("/") and not pressed and table.calls(words.behind):
        return f"/{words.behind}"
    return words.said


def to_typed(event: InboundEvent) -> InboundEvent:
    """Return an edit as if it had been typed so at once, for a message that no turn has read."""
    return replace(event, edited=False) if isinstance(event, InboundMessage) else event


def only_reads(event: InboundEvent) -> bool:
    """Return whether the answer may change nothing: it is no command, and ends and joins no turn."""
    return isinstance(event, InboundMessage) and event.only_reads


def _deciding_words(row: InboxRow, table: CommandTable) -> str:
    """Return the words that decide the kind of a row; an edit is never a command."""
    event = row.event
    return "" if isinstance(event, InboundMessage) and event.edited else command_words(event, table)


# ------------------------------------------------------------ what is said to it


def is_missed(waited: timedelta, config: SessionsConfig) -> bool:
    """Return True if a message waited too long to be answered."""
    return waited.total_seconds() > config.missed_after_s


def starts_by_itself(event: InboundEvent) -> bool:
    """Return True if the gateway itself starts a turn with the event: no person has waited for an answer to it."""
    return isinstance(event, SystemEvent) and event.turn is not None


def is_task(row: InboxRow) -> bool:
    """Return True if the row starts the turn of a task, whose answer no person reads."""
    return isinstance(row.event, SystemEvent) and row.event.turn == SUBAGENT


def missed_text(texts: Catalogue, waited: timedelta, locale: str | None) -> str:
    """Return the text for a person whose message waited too long."""
    return texts.plural(locale, "answer.missed", round(waited.total_seconds() / 3600))


def own_route_id(row: InboxRow) -> int | None:
    """Return the row's id if it has its own reply route; None if the answer goes to the chat."""
    return row.id if inbox.route_of(row.event) is not None else None


def joins(row: InboxRow, turn: TurnRow) -> bool:
    """Return True if a message may join a running turn: of its person and chat, without a reply route of its own."""
    return row.user_id == turn.user_id and row.event.address == turn.address and own_route_id(row) is None


def message_id_of(row: InboxRow) -> str | None:
    """Return the platform's id of the message behind a row, or None."""
    return row.event.message_id if isinstance(row.event, InboundMessage) else None


def text_of(row: InboxRow) -> str:
    """Return the typed text; empty if there is none."""
    return row.event.text if isinstance(row.event, InboundMessage) else ""


def title_words(row: InboxRow) -> str:
    """Return the words for the title of a conversation that begins with this row; none of a forwarded message."""
    match row.event:
        case InboundMessage(text=text, forwarded=False):
            return strip_mark(text) or text
        case CommandInvoked(name=name, arguments=arguments):
            return arguments or f"/{name}"
        case _:
            return ""


def new_turn(row: InboxRow, session_id: str, kind: str, now: datetime) -> TurnRow:
    """Return a new turn that answers the row; in a group the answer is shown as a reply to it."""
    in_group = isinstance(row.event, InboundMessage) and row.event.kind is ChatKind.GROUP
    return TurnRow(
        id=new_id(),
        tenant=row.tenant,
        session_id=session_id,
        user_id=row.user_id,
        kind=kind,
        address=row.event.address,
        reply_to=message_id_of(row) if in_group else None,
        started_at=now,
    )


# ------------------------------------------------------------ what a client split by itself: an album, a long paste


def to_messages(rows: Sequence[InboxRow], limits: Limits) -> list[list[InboxRow]]:
    """Return the rows of a turn by message, with split messages joined."""
    messages: list[list[InboxRow]] = []
    for row in rows:
        if messages and belongs(messages[-1][-1], row, limits):
            messages[-1].append(row)
        else:
            messages.append([row])
    return messages


def open_until(row: InboxRow, limits: Limits) -> datetime | None:
    """Until when more of this message may come; None where it is whole."""
    event = row.event
    if not isinstance(event, InboundMessage) or event.edited:
        return None
    if event.album is None and limits.unit.measure(event.text) < limits.max_text - NEAR_LIMIT:
        return None
    return row.admitted_at + JOIN_WITHIN


def belongs(last: InboxRow, following: InboxRow, limits: Limits) -> bool:
    """Return True if a row continues the message that `last` ends so far."""
    until = open_until(last, limits)
    first, more = last.event, following.event
    if until is None or following.admitted_at > until or following.user_id != last.user_id:
        return False
    if not isinstance(first, InboundMessage) or not isinstance(more, InboundMessage) or more.edited:
        return False
    if (first.forwarded, first.forwarded_from) != (more.forwarded, more.forwarded_from):
        return False  # own words beside somebody else's
    return first.album == more.album and more.quoted in ((), first.quoted)


def join_rows(rows: Sequence[InboxRow]) -> InboxRow:
    """Return the rows as one, under the first one's id: texts joined, files side by side."""
    messages = [row.event for row in rows if isinstance(row.event, InboundMessage)]
    if len(rows) == 1 or len(messages) != len(rows):
        return rows[0]
    text = messages[0].text
    for before, after in pairwise(messages):
        text += after.text if not before.text or before.text[-1:].isspace() else f"\n{after.text}"
    files = tuple(file for message in messages for file in message.attachments)
    return replace(rows[0], event=replace(messages[0], text=text.strip(), attachments=files))
