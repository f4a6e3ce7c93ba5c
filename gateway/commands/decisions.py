"""What the buttons under messages stand for: what operators decide, and what people say.

The decisions themselves are `gateway.access`'s; how a session takes what was said is `gateway.sessions`' matter.
"""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from agent.ports import Principal
from gateway.access.buttons import long_id
from gateway.access.operations import AccessOperations, OperationRefused
from gateway.commands.base import Reply, Results, SaySuggested, SuggestionTaken

Decision = Callable[[str, Principal], Awaitable[Reply]]
"""From what a button is about and who pressed it to what is said; the change is made by then and bears repetition.

The button was ours, made for whoever pressed it, and its time not over: see `gateway.access.buttons`.
"""

GONE_TEXT = "That button means nothing any more."
GONE = Reply(GONE_TEXT)

SAY = "say"
"""The word of buttons that say what an answer suggested: `say:<turn>.<index>`."""


def reply_decisions() -> Mapping[str, Decision]:
    """`say`: the words become a message of whoever the button was made for; the turn behind it answers."""

    def to_text(results: Results) -> str:
        return "" if SuggestionTaken(said=True) in results else GONE_TEXT

    async def say(subject: str, _principal: Principal) -> Reply:
        turn, _, index = subject.partition(".")
        if not long_id(turn) or not index.isdecimal():
            return GONE
        return Reply(to_text, session=SaySuggested(long_id(turn), int(index)))

    return {SAY: say}


def access_decisions(operations: AccessOperations) -> Mapping[str, Decision]:
    """`approve`, `deny` and `block`, each about a request that is pending; who may, the operation decides (A34)."""

    def about_a_request(decide: Callable[[str, str], Awaitable[JsonValue]], said: str) -> Decision:
        async def decision(subject: str, principal: Principal) -> Reply:
            request_id = long_id(subject)
            if not request_id:
                return GONE
            try:
                await decide(request_id, principal.user_id)
            except OperationRefused as refused:
                return Reply(f"Nothing was changed: {refused}.")
            return Reply(said)

        return decision

    return {
        "approve": about_a_request(operations.approve_request, "They are in, and have been told."),
        "deny": about_a_request(operations.deny, "Denied. They are not told."),
        "block": about_a_request(operations.block_request, "Blocked. They hear nothing from me any more."),
    }
