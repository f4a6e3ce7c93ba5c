"""What people choose for themselves by a command is kept in the command's commit; plain work over a connection."""

from datetime import datetime

from gateway.commands.base import DropCredential, KeepCredential, SetLanguage, SetTimezone
from gateway.store import credentials, people
from gateway.store.credentials import Connected
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.people import Person

Choice = SetTimezone | SetLanguage | KeepCredential | DropCredential


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
        case SetLanguage(language):
            people.set_locale(connection, row.user_id, language)
        case SetTimezone(timezone):
            people.set_timezone(connection, row.user_id, timezone)
    return people.person_of(connection, row.user_id)
