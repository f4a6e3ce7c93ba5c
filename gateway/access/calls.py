"""The operations by name, with JSON arguments: what the control socket serves, and the CLI runs alone."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from gateway.access.inviting import InviteOperations
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.access.ranks import BY_CLI

Call = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]


def access_calls(operations: AccessOperations) -> Mapping[str, Call]:
    """Handlers by name. Each answers what the operation gives, or raises OperationRefused."""

    async def approve(arguments: dict[str, JsonValue]) -> JsonValue:
        if "request" in arguments:
            (number,) = _expect(arguments, "request")
            return await operations.approve_request(number, BY_CLI)
        (code,) = _expect(arguments, "code")
        return await operations.approve(code, BY_CLI)

    return {
        "pairing.list": _asked(operations.list_requests),
        "pairing.approve": approve,
        "pairing.deny": _done(operations.deny, "request"),
        "pairing.block": _done(operations.block, "who"),
        "users.list": _asked(operations.users),
        "users.audit": _asked(operations.audit),
        "users.role": _done(operations.set_role, "who", "role"),
        "users.revoke": _done(operations.revoke, "who", "account"),
    }


def invite_calls(operations: InviteOperations) -> Mapping[str, Call]:
    """The same for invitations."""
    return {
        "invite.make": _done(operations.make, "role", "days"),
        "invite.list": _asked(operations.list_invites),
        "invite.revoke": _done(operations.revoke, "invite"),
    }


def _asked(operation: Callable[[], Awaitable[JsonValue]]) -> Call:
    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        _expect(arguments)
        return await operation()

    return call


def _done(operation: Callable[..., Awaitable[JsonValue]], *names: str) -> Call:
    """The operation takes these, and who does it."""

    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        return await operation(*_expect(arguments, *names), BY_CLI)

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
