"""Conversations in a chat: `/sessions` lists them and goes on with one, `/title` names the present one.

In a direct chat those of the person's other direct chats are among them (decision 0065).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from agent.calendar import zone_of
from agent.catalogue import Catalogue
from agent.language import escape
from agent.ports import Principal
from channels.base import CommandOption
from channels.messages import Button
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.commands.base import (
    Command,
    Invocation,
    Reply,
    Results,
    ResumeConversation,
    SessionCleared,
    SetTitle,
)
from gateway.commands.decisions import VOID, Decision
from gateway.commands.session import cleared_text
from gateway.store.engine import Store
from gateway.store.heads import ConversationHead, is_id_end, list_heads, title_of
from gateway.store.reach import list_reachable
from gateway.texts import HARNESS

MOST_SHOWN = 10
"""Conversations of a list in a chat; older ones are found by their id."""


RESUME, TAKE_UP = "resume", "take_up"
"""The words of the buttons under the list: of conversations of this chat, and of another."""

MOST_BUTTONS = 5
LABEL_CHARS = 40
HOLDS = timedelta(days=1)


def conversation_decisions(store: Store, seals: SealedButtons, texts: Catalogue = HARNESS) -> Mapping[str, Decision]:
    """What the buttons under the list do."""
    replies = _ConversationReplies(store, seals, texts)
    return {RESUME: replies.resume, TAKE_UP: replies.take_up}


def conversation_commands(store: Store, seals: SealedButtons, texts: Catalogue = HARNESS) -> tuple[Command, ...]:
    """The commands, over what is recorded there."""
    replies = _ConversationReplies(store, seals, texts)
    return (
        Command(
            "sessions",
            "menu.sessions",
            replies.sessions,
            options=(CommandOption("number", "menu.sessions.number"),),
            shared=True,
        ),
        Command(
            "title",
            "menu.title",
            replies.title,
            options=(CommandOption("title", "menu.title.title"),),
            shared=True,
        ),
    )


class _ConversationReplies:
    """What each of them answers."""

    def __init__(self, store: Store, seals: SealedButtons, texts: Catalogue) -> None:
        self._store = store
        self._texts = texts
        self._seals = seals

    async def sessions(self, asked: Invocation) -> Reply:
        """List the chat's conversations, or go on with one of them."""
        heads = await self._heads(asked)
        wanted = asked.arguments.strip().lstrip("#").rstrip(".").lower()
        if not wanted:
            return Reply(self._list_text(asked, heads), buttons=self._buttons(asked, heads))
        locale, by_number = asked.principal.locale, _is_number(wanted, len(heads))
        found = heads[int(wanted) - 1 : int(wanted)] if by_number else await self._heads(asked, wanted)
        if len(found) != 1:
            return Reply(self._texts.text(locale, "commands.sessions_none", wanted=escape(title_of(wanted))))
        return self._go_on(found[0], locale, here=found[0].key == asked.session.where[1])

    async def resume(self, subject: str, principal: Principal) -> Reply:
        """As `/sessions` with a number, of the conversation of this chat that a button is about."""
        return await self._press(subject, principal, here=True)

    async def take_up(self, subject: str, principal: Principal) -> Reply:
        """As `resume`, of one of another chat."""
        return await self._press(subject, principal, here=False)

    async def _press(self, subject: str, principal: Principal, *, here: bool) -> Reply:
        locale, ids = principal.locale, [long_id(subject)]
        found = await self._store.read(partial(list_heads, tenant=principal.tenant, most=1, ids=ids), lasting=True)
        return self._go_on(found[0], locale, here=here) if found else Reply(self._texts.text(locale, VOID))

    def _go_on(self, head: ConversationHead, locale: str | None, *, here: bool) -> Reply:
        title, texts = self._title(head, locale), self._texts
        if head.living and here:
            return Reply(texts.text(locale, "commands.sessions_is", title=title))
        if here:
            said = texts.plural(locale, "commands.sessions_back", head.turns, title=title)
        else:
            said = texts.text(locale, "commands.sessions_taken", title=title, place=escape(head.platform))
        return Reply(partial(self._back_text, locale, said, title), session=ResumeConversation(head.id))

    def _back_text(self, locale: str | None, said: str, title: str, results: Results) -> str:
        if any(isinstance(result, SessionCleared) and not result.begun for result in results):
            said = self._texts.text(locale, "commands.sessions_none", wanted=title)
        return "\n\n".join(part for part in (said, cleared_text(self._texts, locale, results)) if part)

    def _buttons(self, asked: Invocation, heads: Sequence[ConversationHead]) -> tuple[Button, ...]:
        """One for each of the newest that is not the present one, for its asker alone."""
        where, locale = asked.address, asked.principal.locale
        if where is None:
            return ()
        account, until = f"{where.channel}:{where.account}", asked.now + HOLDS
        key, user_id = asked.session.where[1], asked.principal.user_id
        others = [pair for pair in enumerate(heads, 1) if pair[1].key != key or not pair[1].living][:MOST_BUTTONS]
        return tuple(
            Button(
                f"{number}. {head.title or self._texts.text(locale, 'commands.sessions_untitled')}"[:LABEL_CHARS],
                self._seals.seal(RESUME if head.key == key else TAKE_UP, short_id(head.id), user_id, account, until),
            )
            for number, head in others
        )

    async def title(self, asked: Invocation) -> Reply:
        """Say what the conversation is called, or call it so."""
        locale, wanted = asked.principal.locale, title_of(asked.arguments)
        if wanted:
            said = self._texts.text(locale, "commands.title_set", title=escape(wanted))
            return Reply(said, session=SetTitle(wanted))
        key = asked.session.where[1]
        living = next((head for head in await self._heads(asked) if head.living and head.key == key), None)
        if living is None:
            return Reply(self._texts.text(locale, "commands.title_none"))
        return Reply(self._texts.text(locale, "commands.title_is", title=self._title(living, locale)))

    async def _heads(self, asked: Invocation, id_end: str = "") -> Sequence[ConversationHead]:
        """What the chat can go on with; those whose id ends so."""
        if id_end and not is_id_end(id_end):
            return ()
        (tenant, key), user_id = asked.session.where, asked.principal.user_id
        reach = partial(list_reachable, tenant=tenant, key=key, user_id=user_id, most=MOST_SHOWN, id_end=id_end)
        return await self._store.read(reach, lasting=True)

    def _list_text(self, asked: Invocation, heads: Sequence[ConversationHead]) -> str:
        said, locale = self._texts.text, asked.principal.locale
        if not heads:
            return said(locale, "commands.sessions_empty")
        rows = []
        for number, head in enumerate(heads, 1):
            here = head.key == asked.session.where[1]
            key = f"commands.sessions_{('living' if head.living else 'row') if here else 'elsewhere'}"
            shown = {
                "title": self._title(head, locale),
                "used": _day(head.used_at, asked),
                "place": escape(head.platform),
            }
            rows.append(f"{number}. " + said(locale, key, **shown))
        return said(locale, "commands.sessions", rows="\n".join(rows))

    def _title(self, head: ConversationHead, locale: str | None) -> str:
        return escape(head.title) or self._texts.text(locale, "commands.sessions_untitled")


def _is_number(wanted: str, most: int) -> bool:
    return wanted.isdecimal() and len(wanted) < 4 and 1 <= int(wanted) <= most


def _day(at: datetime, asked: Invocation) -> str:
    return f"{at.astimezone(zone_of(asked.principal.timezone)):%Y-%m-%d %H:%M}"
