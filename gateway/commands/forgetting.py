"""Forgetting a person, for the agents whose commands offer it: their conversation, or everything about them."""

from dataclasses import replace

from gateway.commands.base import Cleared, Invocation, Reply
from gateway.commands.session import begin_conversation
from gateway.store import erasure, people
from gateway.store.engine import Connection
from gateway.store.erasure import Extent


def refuse_to_forget(connection: Connection, asked: Invocation, extent: Extent) -> Reply | None:
    """Return why the person cannot be forgotten, or None if they can: the only owner stays, and is told what to do."""
    person = people.person_of(connection, asked.principal.user_id) if extent is Extent.EVERYTHING else None
    if person is None or not people.is_only_owner(connection, person):
        return None
    return Reply(asked.say("commands.only_owner"))


def forget_person(connection: Connection, asked: Invocation, extent: Extent, said: str) -> Reply:
    """Record the person's wish to be forgotten, and begin a new conversation.

    Ask `refuse_to_forget` before, in the same commit. Until the gateway has forgotten them their platform may repeat
    what they said up to this wish.
    """
    row, person = asked.row, people.person_of(connection, asked.principal.user_id)
    assert person is not None, "nobody else deletes a user, and whoever is being forgotten gives no command"
    wish = erasure.ask(connection, person, extent, row.id, row.event.received_at, asked.clock(), asked.session.mark)
    begun = begin_conversation(connection, asked, Cleared(unparked=wish.unparked))
    return Reply(said, changed=replace(begun, ended=False, forgotten=wish.forgotten))
