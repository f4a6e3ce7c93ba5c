"""The operations by name, with JSON arguments: what the control socket serves, and the CLI runs alone."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue, TypeAdapter, ValidationError

from gateway.access.api_keys import KeyOperations
from gateway.access.inviting import InviteOperations
from gateway.access.listing import AccessLists
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.access.ranks import BY_CLI
from gateway.store.reports import AuditFilter

MOST_CHANGES = 10_000  # of the audit, in one answer
_AUDIT: TypeAdapter[AuditFilter] = TypeAdapter(AuditFilter)

Call = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]


def list_calls(lists: AccessLists) -> Mapping[str, Call]:
    """What changes nothing: requests, people, invitations, keys, and `users.audit {by?, about?, action?, ...}`."""

    async def find(arguments: dict[str, JsonValue]) -> JsonValue:
        (words,) = _expect(arguments, "words")
        return await lists.find_users(words)

    async def audit(arguments: dict[str, JsonValue]) -> JsonValue:
        try:
            wanted = _AUDIT.validate_python(arguments)
        except ValidationError as error:
            raise OperationRefused(f"users.audit: {error.errors()[0]['msg']}") from None
        if not 0 < wanted.limit <= MOST_CHANGES or not set(arguments) <= set(AuditFilter.__dataclass_fields__):
            raise OperationRefused(f"users.audit takes by, about, action, since, and a limit from 1 to {MOST_CHANGES}")
        return await lists.audit(wanted)

    return {
        "pairing.list": _reading_call(lists.list_requests),
        "users.list": _reading_call(lists.users),
        "users.find": find,
        "users.audit": audit,
        "invite.list": _reading_call(lists.list_invites),
        "keys.list": _reading_call(lists.list_keys),
    }


def access_calls(operations: AccessOperations, by: str = BY_CLI) -> Mapping[str, Call]:
    """Handlers by name, in the name of an actor. Each answers what the operation gives, or raises OperationRefused."""

    async def approve(arguments: dict[str, JsonValue]) -> JsonValue:
        if "request" in arguments:
            (number,) = _expect(arguments, "request")
            return await operations.approve_request(number, by)
        (code,) = _expect(arguments, "code")
        return await operations.approve(code, by)

    return {
        "pairing.approve": approve,
        "pairing.deny": _changing_call(operations.deny, "request", by=by),
        "pairing.block": _changing_call(operations.block, "who", by=by),
        "users.role": _changing_call(operations.set_role, "who", "role", by=by),
        "users.unlink": _changing_call(operations.unlink, "who", by=by),
        "users.revoke": _changing_call(operations.revoke, "who", "account", by=by),
    }


def invite_calls(operations: InviteOperations) -> Mapping[str, Call]:
    """The same for invitations."""
    return {
        "invite.make": _changing_call(operations.make, "role", "days"),
        "invite.revoke": _changing_call(operations.revoke, "invite"),
    }


def key_calls(operations: KeyOperations) -> Mapping[str, Call]:
    """The same for API keys."""
    return {
        "keys.create": _changing_call(operations.create, "name", "scopes", "who"),
        "keys.revoke": _changing_call(operations.revoke, "id"),
    }


def _reading_call(operation: Callable[[], Awaitable[JsonValue]]) -> Call:
    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        _expect(arguments)
        return await operation()

    return call


def _changing_call(operation: Callable[..., Awaitable[JsonValue]], *names: str, by: str = BY_CLI) -> Call:
    """The operation takes these, and who does it."""

    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        return await operation(*_expect(arguments, *names), by)

    return call


def _expect(arguments: dict[str, JsonValue], *names: str) -> tuple[str, ...]:
    """The values of exactly these arguments, each a text."""
    if set(arguments) != set(names):
        expected = ", ".join(names) or "none"
        raise OperationRefused(f"the arguments are {expected}, not {', '.join(sorted(arguments)) or 'none'}")
    values = tuple(value for value in (arguments[name] for name in names) if isinstance(value, str))
    if len(values) != len(names):
        raise OperationRefused(f"the arguments {', '.join(names)} have to be texts")
    return values
