"""A shop's assistant as an ACP agent, which needs no network: the gateway starts it for each answer.

It needs `pip install agent-client-protocol`. An editor that speaks ACP can start it, too.
"""

import asyncio
import re
from typing import Any
from uuid import uuid4

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse, run_agent
from acp.helpers import start_tool_call, update_agent_message_text, update_tool_call
from acp.schema import AllowedOutcome, PermissionOption, TextContentBlock, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="yes", name="Order it", kind="allow_once"),
    PermissionOption(option_id="no", name="Do not order it", kind="reject_once"),
]


class Shop:
    """Answers "price tea"; asks before it does "order tea"."""

    client: Client

    def on_connect(self, conn: Client) -> None:
        """Keep the connection."""
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Say what it can do: it keeps no sessions."""
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Begin a conversation."""
        return NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, session_id: str, prompt: list[TextContentBlock], **_: Any) -> PromptResponse:
        """Answer the last block: a message, or the gateway's words about one that the person was asked about."""
        found = re.search(r"\b(price|order) (\w+)", prompt[-1].text)
        if found is None:
            said = "Say: price tea, or: order tea."
        elif found[1] == "price":
            said = f"{found[2]} costs 3 euros."
        else:
            said = f"{found[2]} is ordered." if await self.order(session_id, found[2]) else "Nothing is ordered."
        await self.client.session_update(session_id, update_agent_message_text(said))
        return PromptResponse(stop_reason="end_turn")

    async def order(self, session: str, item: str) -> bool:
        """Order a thing if the person allows it."""
        call = start_tool_call(uuid4().hex, f"order {item}", kind="execute", raw_input={"item": item})
        await self.client.session_update(session, call)
        asked = ToolCallUpdate(tool_call_id=call.tool_call_id)
        answer = await self.client.request_permission(session_id=session, tool_call=asked, options=OPTIONS)
        allowed = isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id == "yes"
        ended = update_tool_call(call.tool_call_id, status="completed" if allowed else "failed")
        await self.client.session_update(session, ended)
        return allowed

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Do nothing at a stop: no answer takes long."""


if __name__ == "__main__":
    asyncio.run(run_agent(Shop()))
