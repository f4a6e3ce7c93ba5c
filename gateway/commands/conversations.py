"""Conversations in a chat: `/sessions` lists and resumes them, `/title` names the current one.

In a direct chat, the person's other direct chats are included (decision 0025).
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from agent.calendar import zone_of
from agent.catalogue import escape
from channels.base import CommandOption
from channels.messages import Button
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.commands.base import Changed, Command, Handle, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import VOID
from gateway.commands.session import cleared_text, stoppable_by
from gateway.store import conversations, journal
from gateway.store.conversations import list_reachable
from gateway.store.engine import Connection
from gateway.store.heads import ConversationHead, is_id_end, list_heads, title_of

MOST_SHOWN = 10
"""Maximum of listed conversations; older ones are found by id."""


RESUME, TAKE_UP = "resume", "take_up"
"""Words of the buttons under the list: for conversations of this chat, and of another."""

MOST_BUTTONS = 5
LABEL_CHARS = 40
HOLDS = timedelta(days=1)


def conversation_commands(seals: SealedButtons) -> tuple[Command, ...]:
    """Return the commands; `seals` seals the buttons under the list."""
    number, title_option = CommandOption("number", "menu.sessions.number"), CommandOption("title", "menu.title.title")
    listing = partial(sessions, seals)
    return (
        Command("sessions", "menu.sessions", listing, options=(number,), shared=True, stops=True, group=HelpGroup.CHAT),
        Command("title", "menu.title", title, options=(title_option,), shared=True, group=HelpGroup.CHAT),
    )


async def sessions(seals: SealedButtons, asked: Invocation) -> Reply | Write:
    """List the chat's conversations, or resume one."""
    heads = await _heads(asked)
    wanted = asked.arguments.strip().lstrip("#").rstrip(".").lower()
    if not wanted:
        return Reply(_list_text(asked, heads), buttons=_buttons(asked, heads, seals))
    by_number = _is_number(wanted, len(heads))
    found = heads[int(wanted) - 1 : int(wanted)] if by_number else await _heads(asked, wanted)
    if len(found) != 1:
        return Reply(asked.say("commands.sessions_none", wanted=escape(title_of(wanted))))
    return _resume(asked, found[0], here=found[0].key == asked.session.key)


async def resume(asked: Invocation) -> Reply | Write:
    """Resume the conversation of this chat that a button names."""
    return await _press(asked, here=True)


async def take_up(asked: Invocation) -> Reply | Write:
    """Resume the conversation of another chat that a button names."""
    return await _press(asked, here=False)


CONVERSATION_BUTTONS: Mapping[str, Handle] = {RESUME: resume, TAKE_UP: take_up}
"""Handlers of the buttons under the list, by word."""


async def _press(asked: Invocation, *, here: bool) -> Reply | Write:
    ids = [long_id(asked.arguments)]
    found = await asked.store.read(partial(list_heads, tenant=asked.principal.tenant, most=1, ids=ids), lasting=True)
    return _resume(asked, found[0], here=here) if found else Reply(asked.say(VOID))


def _resume(asked: Invocation, head: ConversationHead, *, here: bool) -> Reply | Write:
    if head.living and here:
        return Reply(asked.say("commands.sessions_is", title=_title(asked, head)))
    asked.session.cancel(stoppable_by(asked))
    return Write(_revive, asked, head, here=here)


def _revive(connection: Connection, asked: Invocation, head: ConversationHead, *, here: bool) -> Reply:
    """Resume an earlier conversation if the person may, and cancel what waits in the current one."""
    row, key, mode, now = asked.row, asked.session.key, asked.session.state.mode, asked.clock()
    cleared, named = asked.session.clear(connection, "/sessions", stoppable_by(asked), now), _title(asked, head)
    if conversations.revive(connection, row.tenant, key, head.id, row.user_id, mode, now):
        revived = journal.load_session(connection, row.tenant, key, 1)
        if here:
            said = asked.plural("commands.sessions_back", head.turns, title=named)
        else:
            said = asked.say("commands.sessions_taken", title=named, place=escape(head.platform))
    else:
        revived, said = None, asked.say("commands.sessions_none", wanted=named)
    changed = Changed(conversation=revived, ended=True, cleared=cleared.ids, unparked=cleared.unparked)
    return Reply("\n\n".join(filter(None, (said, cleared_text(asked, cleared)))), changed=changed)


def _buttons(asked: Invocation, heads: Sequence[ConversationHead], seals: SealedButtons) -> tuple[Button, ...]:
    """Return buttons for the newest conversations except the current one, for this person only."""
    key, user_id = asked.session.key, asked.principal.user_id
    account, until = f"{asked.address.channel}:{asked.address.account}", asked.now + HOLDS
    others = [pair for pair in enumerate(heads, 1) if pair[1].key != key or not pair[1].living][:MOST_BUTTONS]
    return tuple(
        Button(
            f"{number}. {head.title or asked.say('commands.sessions_untitled')}"[:LABEL_CHARS],
            seals.seal(RESUME if head.key == key else TAKE_UP, short_id(head.id), user_id, account, until),
        )
        for number, head in others
    )


async def title(asked: Invocation) -> Reply | Write:
    """Show the conversation's title, or change it."""
    wanted = title_of(asked.arguments)
    if wanted:
        return Write(_set_title, asked, wanted)
    living = next((head for head in await _heads(asked) if head.living and head.key == asked.session.key), None)
    if living is None:
        return Reply(asked.say("commands.title_none"))
    return Reply(asked.say("commands.title_is", title=_title(asked, living)))


def _set_title(connection: Connection, asked: Invocation, wanted: str) -> Reply:
    conversations.entitle(connection, asked.session.state.id, wanted, anew=True)
    return Reply(asked.say("commands.title_set", title=escape(wanted)))


async def _heads(asked: Invocation, id_end: str = "") -> Sequence[ConversationHead]:
    """Return the conversations that the chat can resume, optionally only those whose id ends with `id_end`."""
    if id_end and not is_id_end(id_end):
        return ()
    reachable = partial(
        list_reachable,
        tenant=asked.row.tenant,
        key=asked.session.key,
        user_id=asked.principal.user_id,
        most=MOST_SHOWN,
        id_end=id_end,
    )
    return await asked.store.read(reachable, lasting=True)


def _list_text(asked: Invocation, heads: Sequence[ConversationHead]) -> str:
    if not heads:
        return asked.say("commands.sessions_empty")
    rows = []
    for number, head in enumerate(heads, 1):
        here = head.key == asked.session.key
        key = f"commands.sessions_{('living' if head.living else 'row') if here else 'elsewhere'}"
        used = f"{head.used_at.astimezone(zone_of(asked.principal.timezone)):%Y-%m-%d %H:%M}"
        shown = asked.say(key, title=_title(asked, head), used=used, place=escape(head.platform))
        rows.append(f"{number}. {shown}")
    return asked.say("commands.sessions", rows="\n".join(rows))


def _title(asked: Invocation, head: ConversationHead) -> str:
    return escape(head.title) or asked.say("commands.sessions_untitled")


def _is_number(wanted: str, most: int) -> bool:
    return wanted.isdecimal() and len(wanted) < 4 and 1 <= int(wanted) <= most
