"""Conversations in a chat: `/sessions` lists those held there and goes back to one, `/title` names the present one."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from agent.calendar import zone_of
from agent.catalogue import Catalogue
from agent.language import escape
from agent.ports import Principal
from channels.base import CommandOption
from channels.messages import Button
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.commands.base import Command, Invocation, Reply, Results, ResumeConversation, SetTitle
from gateway.commands.decisions import VOID, Decision
from gateway.commands.session import cleared_text
from gateway.store.conversations import title_of
from gateway.store.engine import Store
from gateway.store.heads import ConversationHead, find_head, list_heads
from gateway.texts import HARNESS

MOST_SHOWN = 10
"""Conversations of a list in a chat; older ones are found by their id."""


RESUME = "resume"
"""The word of the buttons under the list."""

MOST_BUTTONS = 5
LABEL_CHARS = 40
HOLDS = timedelta(days=1)

Seals = Callable[[], SealedButtons | None]
"""What seals buttons, once the gateway serves."""


def _no_seals() -> None:
    return None


def conversation_decisions(store: Store, texts: Catalogue = HARNESS) -> Mapping[str, Decision]:
    """What the buttons under the list do."""
    return {RESUME: _ConversationReplies(store, texts).resume}


def conversation_commands(store: Store, texts: Catalogue = HARNESS, seals: Seals = _no_seals) -> tuple[Command, ...]:
    """The commands, over what is recorded there: of the chat's own conversations alone, no other place's."""
    replies = _ConversationReplies(store, texts, seals)
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

    def __init__(self, store: Store, texts: Catalogue, seals: Seals = _no_seals) -> None:
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
        found = heads[int(wanted) - 1 : int(wanted)] if by_number else await self._by_id(asked, wanted)
        if len(found) != 1:
            return Reply(self._texts.text(locale, "commands.sessions_none", wanted=escape(title_of(wanted))))
        return self._go_on(found[0], locale)

    async def resume(self, subject: str, principal: Principal) -> Reply:
        """As `/sessions` with a number, of the conversation that a button is about."""
        locale, ids = principal.locale, [long_id(subject)]
        found = await self._store.read(partial(list_heads, tenant=principal.tenant, most=1, ids=ids), lasting=True)
        return self._go_on(found[0], locale) if found else Reply(self._texts.text(locale, VOID))

    def _go_on(self, head: ConversationHead, locale: str | None) -> Reply:
        title = self._title(head, locale)
        if head.living:
            return Reply(self._texts.text(locale, "commands.sessions_is", title=title))
        said = self._texts.plural(locale, "commands.sessions_back", head.turns, title=title)
        return Reply(partial(self._back_text, locale, said), session=ResumeConversation(head.id))

    def _back_text(self, locale: str | None, said: str, results: Results) -> str:
        return "\n\n".join(part for part in (said, cleared_text(self._texts, locale, results)) if part)

    def _buttons(self, asked: Invocation, heads: Sequence[ConversationHead]) -> tuple[Button, ...]:
        """One for each of the newest that is not the present one, for its asker alone."""
        seals, where, locale = self._seals(), asked.address, asked.principal.locale
        if seals is None or where is None:
            return ()
        account, until = f"{where.channel}:{where.account}", asked.now + HOLDS
        earlier = [(number, head) for number, head in enumerate(heads, 1) if not head.living][:MOST_BUTTONS]
        return tuple(
            Button(
                f"{number}. {head.title or self._texts.text(locale, 'commands.sessions_untitled')}"[:LABEL_CHARS],
                seals.seal(RESUME, short_id(head.id), asked.principal.user_id, account, until),
            )
            for number, head in earlier
        )

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
