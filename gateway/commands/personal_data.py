"""`/forget` and `/export`: people delete what is kept of them, or take it along."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from agent.calendar import local_date
from agent.transcript import SuggestedReply
from channels.base import CommandOption
from channels.messages import AttachmentKind, OutboundMedia
from gateway.commands.base import Cleared, Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.session import begin_conversation
from gateway.store import erasure, people
from gateway.store.agent_tables import AgentTables
from gateway.store.engine import Connection
from gateway.store.erasure import Extent

MAX_EXPORT_BYTES = 20_000_000
SURELY = frozenset(("yes", "sí", "si"))
_NAMES = {
    Extent.TALK: "talk charla conversation conversación conversacion messages mensajes",
    Extent.EVERYTHING: "everything todo all",
}
_EXTENTS = {word: extent for extent, words in _NAMES.items() for word in words.split()}


def personal_commands(own: AgentTables | None) -> tuple[Command, ...]:
    """Return `/forget` and `/export`; `own` are the agent's tables."""
    what, account = CommandOption("what", "menu.forget.what"), HelpGroup.ACCOUNT
    return (
        Command("forget", "menu.forget", forget, options=(what,), stops=True, group=account),
        Command("export", "menu.export", partial(export, own), group=account),
    )


async def export(own: AgentTables | None, asked: Invocation) -> Reply:
    """Send all that is kept of the person as a JSON file."""
    if asked.principal.in_group:
        return Reply(asked.say("export.only_direct"))
    content = await asked.store.read(partial(_export, user_id=asked.principal.user_id, own=own))
    if len(content) > MAX_EXPORT_BYTES:
        return Reply(asked.say("export.too_large"))
    name = f"data-{local_date(asked.now, asked.principal.timezone):%Y-%m-%d}.json"
    file = OutboundMedia(AttachmentKind.DOCUMENT, name, "application/json", content)
    return Reply(asked.say("export.all"), files=(file,))


def _export(connection: Connection, user_id: str, own: AgentTables | None) -> bytes:
    own_tables = () if own is None else own.metadata.sorted_tables
    return json.dumps(erasure.of_person(connection, user_id, own_tables), ensure_ascii=False, indent=1).encode()


async def forget(asked: Invocation) -> Reply | Write:
    """Say what can be deleted; delete it once it is confirmed, and begin a new conversation."""
    words = asked.arguments.casefold().split()
    extent = _EXTENTS.get(words[0]) if 1 <= len(words) <= 2 else None
    if extent is None:
        return Reply(asked.say("forget.how"))
    refusal = await asked.store.read(partial(_refuse, asked=asked, extent=extent))
    if refusal is not None:
        return refusal
    if not is_sure(words):
        return ask_if_sure(asked, f"forget.sure_{extent}", f"forget.type_{extent}")
    asked.session.cancel(asked.principal.user_id)
    return Write(_forget, asked, extent)


def is_sure(words: Sequence[str]) -> bool:
    """Return True if the second word confirms what the first one names."""
    return len(words) > 1 and words[1] in SURELY


def ask_if_sure(asked: Invocation, question: str, confirming: str) -> Reply:
    """Ask if this is to be deleted; both are keys: of the question, and of the command that confirms it."""
    command = asked.say(confirming)
    offer = SuggestedReply(asked.say("offer.forget"), command)
    return Reply(asked.say(question), offers=(offer,), typed=asked.say("forget.type", words=command))


def _refuse(connection: Connection, asked: Invocation, extent: Extent) -> Reply | None:
    """Return why the person cannot be erased, or None: the only owner has to stay."""
    person = people.person_of(connection, asked.principal.user_id) if extent is Extent.EVERYTHING else None
    if person is None or not people.is_only_owner(connection, person):
        return None
    return Reply(asked.say("commands.only_owner"))


def _forget(connection: Connection, asked: Invocation, extent: Extent) -> Reply:
    """Record an erasure request and begin a new conversation.

    Until the erasure is done, the platform may deliver the person's earlier messages again.
    """
    if (refusal := _refuse(connection, asked, extent)) is not None:
        return refusal
    row, person = asked.row, people.person_of(connection, asked.principal.user_id)
    assert person is not None, "only an erasure deletes users, and a person being erased gives no command"
    wish = erasure.ask(connection, person, extent, row.id, row.event.received_at, asked.clock(), asked.session.mark)
    begun = begin_conversation(connection, asked, Cleared(unparked=wish.unparked))
    changed = replace(begun, ended=False, forgotten=wish.forgotten)
    return Reply(asked.say(f"forget.done_{extent}"), changed=changed)
