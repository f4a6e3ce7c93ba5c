"""What people choose by a command, for themselves or for a conversation, is kept in the command's commit.

So is their wish to be forgotten. Plain work over a connection.
"""

from dataclasses import replace
from datetime import datetime

from agent.catalogue import Catalogue
from gateway.commands.base import (
    DropCredential,
    ForgetPerson,
    KeepCredential,
    Reply,
    ResumeConversation,
    SessionAction,
    SessionWish,
    SetLanguage,
    SetMode,
    SetModel,
    SetName,
    SetTimezone,
    SetTitle,
)
from gateway.store import conversations, credentials, erasure, journal, people, reach
from gateway.store.credentials import Connected
from gateway.store.engine import Connection
from gateway.store.erasure import ErasureAsked, Extent, Mark
from gateway.store.inbox import InboxRow
from gateway.store.journal import SessionState
from gateway.store.people import Person

Choice = SetTimezone | SetLanguage | SetModel | SetName | KeepCredential | DropCredential


def keep_choice(
    connection: Connection, row: InboxRow, chosen: Choice, results: list[object], now: datetime
) -> Person | None:
    """Keep it; the person as they are now, None where they are the same. Whether a credential was there is a result."""
    match chosen:
        case KeepCredential(provider, kind, sealed):
            credentials.put(connection, row.tenant, row.user_id, Connected(provider, kind, now), sealed)
            return None
        case DropCredential(provider):
            results.append(credentials.remove(connection, row.tenant, row.user_id, provider))
            return None
        case SetModel(model):
            people.set_model(connection, row.user_id, model)
        case SetLanguage(language):
            people.set_locale(connection, row.user_id, language)
        case SetName(name):
            if (person := people.person_of(connection, row.user_id)) is not None:
                people.set_name(connection, person, name, now)
        case SetTimezone(timezone):
            people.set_timezone(connection, row.user_id, timezone)
    return people.person_of(connection, row.user_id)


def allow_forgetting(connection: Connection, row: InboxRow, reply: Reply, texts: Catalogue) -> Reply:
    """The reply as it may be carried out: the only owner stays, and is told what to do; who is not sure stays, too."""
    wish = reply.session
    if not isinstance(wish, ForgetPerson):
        return reply
    person = people.person_of(connection, row.user_id) if wish.extent is Extent.EVERYTHING else None
    if person is not None and people.is_only_owner(connection, person):
        return Reply(texts.text(person.locale, "commands.only_owner"))
    return reply if wish.sure else replace(reply, session=None)


def ask_to_forget(connection: Connection, row: InboxRow, extent: Extent, now: datetime, mark: Mark) -> ErasureAsked:
    """Keep the wish of whoever gave the command; up to then their platform may tell it all once more."""
    person = people.person_of(connection, row.user_id)
    assert person is not None, "nobody else deletes a user, and whoever is being forgotten gives no command"
    return erasure.ask(connection, person, extent, row.id, row.event.received_at, now, mark)


def change_conversation(
    connection: Connection,
    where: tuple[str, str],
    user_id: str,
    state: SessionState,
    wish: SessionWish | None,
    now: datetime,
) -> SessionState | None:
    """Begin anew, go on with another conversation, change mode or title; None where the state stays as it is."""
    tenant, key = where
    match wish:
        case ResumeConversation(session_id):
            taken = reach.revive(connection, tenant, key, session_id, user_id, state.mode, now)
            return journal.load_session(connection, tenant, key, 1) if taken else None
        case SetMode(mode):
            journal.set_mode(connection, state.id, mode)
            return replace(state, mode=mode)
        case SetTitle(title):
            conversations.entitle(connection, state.id, title, anew=True)
            return None
        case SessionAction.STOP:
            return None
    return journal.open_session(connection, tenant, key, state.mode, state.generation + 1, now)
