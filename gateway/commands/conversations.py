"""Conversations in a chat: `/sessions` lists those held there and goes back to one, `/title` names the present one."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from agent.calendar import zone_of
from agent.catalogue import Catalogue
from agent.language import escape
from channels.base import CommandOption
from gateway.commands.base import Command, Invocation, Reply, Results, ResumeConversation, SetTitle
from gateway.commands.session import cleared_text
from gateway.store.conversations import ConversationHead, find_head, list_heads, title_of
from gateway.store.engine import Store
from gateway.texts import HARNESS

MOST_SHOWN = 10
"""Conversations of a list in a chat; older ones are found by their id."""


def conversation_commands(store: Store, texts: Catalogue = HARNESS) -> tuple[Command, ...]:
    """The commands, over what is recorded there: of the chat's own conversations alone, no other place's."""
    replies = _ConversationReplies(store, texts)
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

    def __init__(self, store: Store, texts: Catalogue) -> None:
        self._store = store
        self._texts = texts

    async def sessions(self, asked: Invocation) -> Reply:
        """List the chat's conversations, or go on with one of them."""
        heads = await self._heads(asked)
        wanted = asked.arguments.strip().lstrip("#").rstrip(".").lower()
        if not wanted:
            return Reply(self._list_text(asked, heads))
        locale, by_number = asked.principal.locale, _is_number(wanted, len(heads))
        found = heads[int(wanted) - 1 : int(wanted)] if by_number else await self._by_id(asked, wanted)
        if len(found) != 1:
            return Reply(self._texts.text(locale, "commands.sessions_none", wanted=escape(title_of(wanted))))
        title = self._title(found[0], locale)
        if found[0].living:
            return Reply(self._texts.text(locale, "commands.sessions_is", title=title))
        said = self._texts.plural(locale, "commands.sessions_back", found[0].turns, title=title)
        return Reply(partial(self._back_text, asked, said), session=ResumeConversation(found[0].id))

    def _back_text(self, asked: Invocation, said: str, results: Results) -> str:
        return "\n\n".join(part for part in (said, cleared_text(self._texts, asked, results)) if part)

    async def title(self, asked: Invocation) -> Reply:
        """Say what the conversation is called, or call it so."""
        locale, wanted = asked.principal.locale, title_of(asked.arguments)
        if wanted:
            said = self._texts.text(locale, "commands.title_set", title=escape(wanted))
            return Reply(said, session=SetTitle(wanted))
        living = next((head for head in await self._heads(asked) if head.living), None)
        if living is None:
            return Reply(self._texts.text(locale, "commands.title_none"))
        return Reply(self._texts.text(locale, "commands.title_is", title=self._title(living, locale)))

    async def _heads(self, asked: Invocation) -> Sequence[ConversationHead]:
        tenant, key = asked.session.where
        return await self._store.read(partial(list_heads, tenant=tenant, most=MOST_SHOWN, key=key), lasting=True)

    async def _by_id(self, asked: Invocation, id_end: str) -> Sequence[ConversationHead]:
        tenant, key = asked.session.where
        return await self._store.read(partial(find_head, tenant=tenant, id_end=id_end, key=key), lasting=True)

    def _list_text(self, asked: Invocation, heads: Sequence[ConversationHead]) -> str:
        said, locale = self._texts.text, asked.principal.locale
        if not heads:
            return said(locale, "commands.sessions_empty")
        rows = []
        for number, head in enumerate(heads, 1):
            key = "commands.sessions_living" if head.living else "commands.sessions_row"
            used = _day(head.used_at, asked)
            rows.append(f"{number}. " + said(locale, key, title=self._title(head, locale), used=used))
        return said(locale, "commands.sessions", rows="\n".join(rows))

    def _title(self, head: ConversationHead, locale: str | None) -> str:
        return escape(head.title) or self._texts.text(locale, "commands.sessions_untitled")


def _is_number(wanted: str, most: int) -> bool:
    return wanted.isdecimal() and len(wanted) < 4 and 1 <= int(wanted) <= most


def _day(at: datetime, asked: Invocation) -> str:
    return f"{at.astimezone(zone_of(asked.principal.timezone)):%Y-%m-%d %H:%M}"
