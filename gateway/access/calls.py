"""The operations by name, with JSON arguments: what the control socket serves, and the CLI runs alone."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from gateway.access.operations import AccessOperations, OperationRefused

BY_CLI = "cli"
"""Whoever can reach the home's socket or its store: the operator at the machine."""

Call = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]


def access_calls(operations: AccessOperations) -> Mapping[str, Call]:
    """Handlers by name.

    `pairing.list {}`, `pairing.approve {code | request}`, `pairing.deny {request}`, `pairing.block {who}`,
    `users.list {}`, `users.role {who, role}`. Each answers what the operation gives, or raises OperationRefused.
    """

    async def list_requests(arguments: dict[str, JsonValue]) -> JsonValue:
        _expect(arguments)
        return await operations.list_requests()

    async def approve(arguments: dict[str, JsonValue]) -> JsonValue:
        if "request" in arguments:
            (number,) = _expect(arguments, "request")
            return await operations.approve_request(number, BY_CLI)
        (code,) = _expect(arguments, "code")
        return await operations.approve(code, BY_CLI)

    async def deny(arguments: dict[str, JsonValue]) -> JsonValue:
        (number,) = _expect(arguments, "request")
        return await operations.deny(number, BY_CLI)

    async def block(arguments: dict[str, JsonValue]) -> JsonValue:
        (who,) = _expect(arguments, "who")
        return await operations.block(who, BY_CLI)

    async def users(arguments: dict[str, JsonValue]) -> JsonValue:
        _expect(arguments)
        return await operations.users()

    async def role(arguments: dict[str, JsonValue]) -> JsonValue:
        who, role = _expect(arguments, "who", "role")
        return await operations.set_role(who, role, BY_CLI)

    return {
        "pairing.list": list_requests,
        "pairing.approve": approve,
        "pairing.deny": deny,
        "pairing.block": block,
        "users.list": users,
        "users.role": role,
    }


def _expect(arguments: dict[str, JsonValue], *names: str) -> tuple[str, ...]:
    """The values of exactly these arguments, each a text."""
    if set(arguments) != set(names):
        expected = ", ".join(names) or "none"
        raise OperationRefused(f"the arguments are {expected}, not {', '.join(sorted(arguments)) or 'none'}")
    values = tuple(value for value in (arguments[name] for name in names) if isinstance(value, str))
    if len(values) != len(names):
        raise OperationRefused(f"the arguments {', '.join(names)} have to be texts")
    return values
