"""What operators decide with a button under a message. The decisions themselves are `gateway.access`'s."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from agent.ports import Principal
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.access.roles import Role
from gateway.commands.base import Reply

Decision = Callable[[str, Principal], Awaitable[Reply]]
"""From what a button is about and who pressed it to what is said; the change is made by then and bears repetition."""

GONE = Reply("That button means nothing any more.")


def access_decisions(operations: AccessOperations) -> Mapping[str, Decision]:
    """`approve:REQUEST`, `deny:REQUEST` and `block:REQUEST`, for operators alone (A34)."""

    def for_operators(decide: Callable[[str, str], Awaitable[JsonValue]], said: str) -> Decision:
        async def decision(subject: str, principal: Principal) -> Reply:
            if not Role(principal.role).allows(Role.OPERATOR):
                return Reply("Only an operator decides that.")
            try:
                await decide(subject, principal.user_id)
            except OperationRefused as refused:
                return Reply(f"Nothing was changed: {refused}.")
            return Reply(said)

        return decision

    return {
        "approve": for_operators(operations.approve_request, "They are in, and have been told."),
        "deny": for_operators(operations.deny, "Denied. They are not told."),
        "block": for_operators(operations.block, "Blocked. They hear nothing from me any more."),
    }
