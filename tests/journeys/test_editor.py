"""`tenk acp` as an editor meets it: over the protocol's official client library, against a real gateway."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    AvailableCommandsUpdate,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UserMessageChunk,
)

from gateway.testing.model import Call, Fault, Reply
from tests.fakes.api import ApiHouse, api_house

ASKS = '[permissions]\nask = ["get_user_skills"]\n'


class Editor(acp.Client):
    """The editor's side: it keeps what it is told, and answers questions with the option of this kind."""

    def __init__(self, chooses: str = "allow_once") -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.chooses = chooses

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        chosen = [option for option in options if option.kind == self.chooses]
        if not chosen:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen[0].option_id))

    def of(self, kind: type) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kind)]

    @property
    def text(self) -> str:
        return "".join(update.content.text for update in self.of(AgentMessageChunk))


@asynccontextmanager
async def connected(home: Path, key: str, editor: Editor) -> AsyncIterator[acp.Agent]:
    """Start `tenk acp` as an editor does, and shake hands."""
    environ = {**os.environ, "TENK_HOME": str(home), "TENK_API_KEY": key}
    async with acp.spawn_agent_process(editor, sys.executable, "-m", "gateway", "acp", env=environ) as (agent, _):
        ready = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert (acp.PROTOCOL_VERSION, True) == (ready.protocol_version, ready.agent_capabilities.load_session)
        yield agent


async def said(agent: acp.Agent, session: str, text: str) -> str:
    ended = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
    return ended.stop_reason


@asynccontextmanager
async def at_home(directory: Path, editor: Editor, config: str = "") -> AsyncIterator[tuple[ApiHouse, acp.Agent, str]]:
    """Run a gateway and an editor that is connected to it with a new session."""
    async with api_house(directory, config=config) as here, connected(here.home, await here.key(), editor) as agent:
        made = await agent.new_session(cwd=str(directory))
        yield here, agent, made.session_id


async def test_an_editor_reads_answers_asks_its_person_and_continues_later(tmp_path: Path) -> None:
    editor = Editor()
    async with at_home(tmp_path, editor, ASKS) as (here, agent, session):
        (menu,) = editor.of(AvailableCommandsUpdate)
        assert {"log", "stats"} <= {command.name for command in menu.available_commands}
        # A tool that the person is asked about runs once they allow it.
        here.model.answers(Reply("", calls=(Call("get_user_skills"),)), Reply("You play nothing.", chunk_delay_s=0.06))
        assert "end_turn" == await said(agent, session, "what do I play?")
        ((call, options),) = editor.asked
        assert ["allow_once", "reject_once"] == [option.kind for option in options]
        text = call.content[0].content.text
        assert (True, False) == ("Looking at your skills" in text, "Type the number" in text)
        begun, ended = editor.of(ToolCallProgress)
        assert ("get user skills", "in_progress", "completed") == (begun.title, begun.status, ended.status)
        assert {call.tool_call_id} == {begun.tool_call_id, ended.tool_call_id}
        assert "You play nothing." == editor.text
        # Any other tool is shown, and runs.
        here.model.answers(Reply("", calls=(Call("get_journey_stats"),)), Reply("None."))
        assert "end_turn" == await said(agent, session, "how much?")
        (start,) = editor.of(ToolCallStart)
        assert ("get journey stats", "read", "in_progress") == (start.title, start.kind, start.status)
        # A question that is dismissed stops the turn, as a cancelled prompt does; a denied tool does not run.
        for chooses, outcome in (("none of them", "cancelled"), ("reject_once", "end_turn")):
            editor.chooses = chooses
            here.model.forget()
            here.model.answers(Reply("", calls=(Call("get_user_skills"),)), Reply("So be it."))
            assert outcome == await said(agent, session, f"what do I play, {chooses}?")
        assert "failed" == editor.of(ToolCallProgress)[-1].status
        here.model.forget()
        here.model.answers(Fault(hang=True))
        asked = len(here.model.requests)
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(said(agent, session, "and now?"))
            await here.until_asked(asked + 1)
            await agent.cancel(session_id=session)
        assert "cancelled" == prompt.result()
        # It is listed, and shown again without the words that answered questions.
        (listed,) = (await agent.list_sessions(cwd=str(tmp_path))).sessions
        assert (session, str(tmp_path)) == (listed.session_id, listed.cwd)
        editor.updates.clear()
        await agent.load_session(cwd=str(tmp_path), session_id=session)
        wrote = [update.content.text for update in editor.of(UserMessageChunk)]
        assert ["what do I play?", "how much?"] == wrote[:2]
        assert (1, False) == (editor.text.count("You play nothing."), "1" in wrote)
        with pytest.raises(acp.RequestError, match="no session"):
            await agent.load_session(cwd=str(tmp_path), session_id="acp-0")


@pytest.mark.gate
async def test_a_prompt_waits_for_a_gateway_that_is_away_and_is_answered_once(tmp_path: Path) -> None:
    editor = Editor()
    async with api_house(tmp_path) as here:
        key = await here.key()
    async with connected(here.home, key, editor) as agent:
        session = (await agent.new_session(cwd=str(tmp_path))).session_id
        async with asyncio.TaskGroup() as tasks:
            prompt = tasks.create_task(said(agent, session, "anybody there?"))
            async with asyncio.timeout(30):
                while not editor.updates:
                    await asyncio.sleep(0.05)
            async with api_house(tmp_path) as again:
                assert "end_turn" == await prompt
                assert 1 == len(again.model.requests)
        assert ("agent_thought_chunk", "A short answer.") == (editor.updates[0].session_update, editor.text)


async def test_bad_input_of_an_editor_is_refused_in_words(tmp_path: Path) -> None:
    editor = Editor()
    async with connected(tmp_path, "", editor) as agent:
        with pytest.raises(acp.RequestError, match="TENK_API_KEY") as no_key:
            await agent.new_session(cwd=str(tmp_path))
        assert -32000 == no_key.value.code
    async with api_house(tmp_path) as here, connected(here.home, "tenk-aaaaaaaa-" + "0" * 32, editor) as agent:
        session = (await agent.new_session(cwd=str(tmp_path))).session_id
        wrong = {
            "tenk keys list": ("hello", session),
            "is empty": ("  ", session),
            "send at most": ("x" * 100_001, session),
            "no session": ("hello", "elsewhere"),
        }
        for words, (text, where) in wrong.items():
            with pytest.raises(acp.RequestError, match=words):
                await said(agent, where, text)
        with pytest.raises(acp.RequestError, match="no session"):
            await agent.load_session(cwd=str(tmp_path), session_id="../etc")
        with pytest.raises(acp.RequestError, match="pictures"):
            await agent.prompt(
                session_id=session, prompt=[TextContentBlock(type="text", text="x"), acp.image_block("", "image/png")]
            )
