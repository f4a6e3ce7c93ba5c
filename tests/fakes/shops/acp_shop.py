"""The shop as a program that speaks ACP by the official library; it keeps its sessions in a folder.

python acp_shop.py FOLDER
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import Client, InitializeResponse, NewSessionResponse, PromptResponse, run_agent
from acp.helpers import start_tool_call, text_block, tool_content, update_agent_message_text, update_tool_call
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    ImageContentBlock,
    PermissionOption,
    PromptCapabilities,
    TextContentBlock,
    ToolCallUpdate,
)

from tests.fakes.shops import tools
from tests.fakes.shops.words import Use, decide

NOTE = "(A note from the system"


class Shop:
    """An agent that answers by `decide`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._heard: dict[str, list[str]] = {}
        self._running: asyncio.Task[Any] | None = None
        self._client: Client

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        capabilities = AgentCapabilities(load_session=True, prompt_capabilities=PromptCapabilities(image=True))
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=capabilities)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        session = uuid4().hex
        self._heard[session] = []
        return NewSessionResponse(session_id=session)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> None:
        self._heard[session_id] = json.loads((self._folder / session_id).read_text())
        await self._client.session_update(session_id, update_agent_message_text("replayed"))

    async def cancel(self, session_id: str, **_: Any) -> None:
        if self._running is not None:
            self._running.cancel()

    async def prompt(
        self, session_id: str, prompt: list[TextContentBlock | ImageContentBlock], **_: Any
    ) -> PromptResponse:
        heard, texts = self._heard[session_id], [block.text for block in prompt if isinstance(block, TextContentBlock)]
        notes = "".join(text for text in texts if text.startswith(NOTE))
        heard += [text for text in texts if not text.startswith(NOTE)]
        (self._folder / session_id).write_text(json.dumps(heard))
        self._running = asyncio.current_task()
        try:
            await self._answer(session_id, heard, "unknown" in notes, len(prompt) - len(texts))
        except asyncio.CancelledError:
            return PromptResponse(stop_reason="cancelled")
        return PromptResponse(stop_reason="end_turn")

    async def _answer(self, session: str, heard: list[str], is_lost: bool, pictures: int) -> None:
        said = decide(heard, "nothing is known" if is_lost else None, pictures)
        if isinstance(said, Use):
            said = decide(heard, await self._use(session, said))
        assert not isinstance(said, Use)
        for piece in said.pieces:
            await self._client.session_update(session, update_agent_message_text(piece))
        if said.trouble == "hang":
            await asyncio.Event().wait()
        if said.trouble == "break":
            raise RuntimeError("the shop is on fire")

    async def _use(self, session: str, use: Use) -> str:
        kind = {"price": "read", "stock": "search", "order": "execute"}[use.tool]
        call = start_tool_call("call1", use.tool, kind=kind, status="pending", raw_input={"item": use.item})
        await self._client.session_update(session, call)
        if use.tool == "order" and not await self._may(session):
            await self._client.session_update(session, update_tool_call("call1", status="failed"))
            return "it is not ordered"
        result = await getattr(tools, use.tool)(use.item)
        content = [tool_content(text_block(result))]
        await self._client.session_update(session, update_tool_call("call1", status="completed", content=content))
        return str(result)

    async def _may(self, session: str) -> bool:
        options = [
            PermissionOption(option_id=kind, name=kind, kind=kind)
            for kind in ("allow_always", "allow_once", "reject_once")
        ]
        answer = await self._client.request_permission(session, ToolCallUpdate(tool_call_id="call1"), options)
        return isinstance(answer.outcome, AllowedOutcome) and answer.outcome.option_id == "allow_once"


if __name__ == "__main__":
    asyncio.run(run_agent(Shop(Path(sys.argv[1]))))
