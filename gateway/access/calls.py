"""The operations by name, with JSON arguments: what the control socket serves, and the CLI runs alone."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from gateway.access.api_keys import KeyOperations
from gateway.access.invites import InviteOperations
from gateway.access.listing import Call, expect
from gateway.access.operations import AccessOperations
from gateway.access.ranks import BY_CLI


def access_calls(operations: AccessOperations, by: str = BY_CLI) -> Mapping[str, Call]:
    """Handlers by name, in the name of an actor. Each answers what the operation gives, or raises OperationRefused."""

    async def approve(arguments: dict[str, JsonValue]) -> JsonValue:
        if "request" in arguments:
            (number,) = expect(arguments, "request")
            return await operations.approve_request(number, by)
        (code,) = expect(arguments, "code")
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


def _changing_call(operation: Callable[..., Awaitable[JsonValue]], *names: str, by: str = BY_CLI) -> Call:
    """The operation takes these, and who does it."""

    async def call(arguments: dict[str, JsonValue]) -> JsonValue:
        return await operation(*expect(arguments, *names), by)

    return call
