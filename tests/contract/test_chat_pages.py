"""Chat front ends, which send more than a person's words: only a new message of the person may write."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import openai
import pytest

from gateway.testing.model import Call, Fault, Reply
from tests.contract.test_api_openai import client_of
from tests.fakes.api import ApiHouse, ApiProgram, api_house

SAID = "I practised guitar for 45 minutes"
LOGS = Reply(calls=(Call("log_practice", '{"skill": "guitar", "minutes": 45}'),))

OPEN_WEBUI_TITLE = """\
### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Guidelines:
- The title should clearly represent the main theme or subject of the conversation.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: I practised guitar for 45 minutes
ASSISTANT: Logged.
</chat_history>"""
OPEN_WEBUI_QUERIES = """\
### Task:
Analyze the chat history to determine the necessity of generating search queries, in the given language.
### Chat History:
<chat_history>
USER: I practised guitar for 45 minutes
</chat_history>"""
LIBRECHAT_TITLE = """\
Provide a concise, 5-word-or-less title for the conversation, using title case conventions. \
Only return the title itself.

Conversation:
User: I practised guitar for 45 minutes
AI: Logged."""

OPEN_WEBUI_EMOJI = f"""\
Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions from the \
message and reflect their facial expression.

Message: ```{SAID}```"""
OPEN_WEBUI_TOOLS = f"Query: {SAID}"
OPEN_WEBUI = [OPEN_WEBUI_TITLE, OPEN_WEBUI_QUERIES, OPEN_WEBUI_EMOJI, OPEN_WEBUI_TOOLS]
CHAT_UI_TITLE = f'User message: "{SAID}"'
CHATBOX_TITLE = f"""\
Based on the chat history, give this conversation a name.
Keep it short - 10 characters max, no quotes.

Here's the conversation:

```
{SAID}

---------

Logged.
```"""


@dataclass
class FrontEnd:
    here: ApiHouse
    client: openai.AsyncOpenAI
    program: ApiProgram
    talk: list[Any] = field(default_factory=lambda: [{"role": "system", "content": "You are helpful."}])

    async def say(self, words: str) -> str:
        """Say something new."""
        self.talk.append({"role": "user", "content": words})
        answer = await self.ask(self.talk)
        self.talk.append({"role": "assistant", "content": answer})
        return answer

    async def ask(self, messages: list[Any], **more: Any) -> str:
        """Ask as the page does, streamed."""
        stream = await self.client.chat.completions.create(
            model="coach",
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            temperature=0.7,
            **more,
        )
        return "".join([choice.delta.content or "" async for chunk in stream for choice in chunk.choices])

    async def minutes(self) -> int:
        return int((await self.program.get("/v1/practice?skill=guitar"))["total_minutes"])


def eager(body: dict[str, Any]) -> Reply:
    """Log as often as the tool is offered and the last word is not its result."""
    offered = any(tool["function"]["name"] == "log_practice" for tool in body.get("tools") or ())
    return LOGS if offered and body["messages"][-1]["role"] != "tool" else Reply("Logged.")


@asynccontextmanager
async def front_end(directory: Path, *, offline: bool = False) -> AsyncIterator[FrontEnd]:
    async with api_house(directory, offline=offline) as here:
        here.model.brain = eager
        program = await here.program()
        async with client_of(here, program.key) as client:
            await program.ask("POST", "/v1/practice", json={"skill": "guitar", "minutes": 1})
            yield FrontEnd(here, client, program)


async def test_pages_own_prompts_write_nothing(tmp_path: Path) -> None:
    async with front_end(tmp_path) as page:
        await page.say(SAID)
        assert 46 == await page.minutes()
        for number, prompt in enumerate((*OPEN_WEBUI, LIBRECHAT_TITLE, CHAT_UI_TITLE, CHATBOX_TITLE)):
            await page.ask([{"role": "user", "content": prompt}])
            await page.ask([{"role": "user", "content": prompt}], extra_headers={"X-Tenk-Session": f"s{number}"})
            assert 46 == await page.minutes(), prompt


async def test_a_message_waits_while_an_answer_is_regenerated(tmp_path: Path) -> None:
    async with front_end(tmp_path) as page:
        await page.say(SAID)
        page.here.model.brain = lambda body: replace(eager(body), delay_s=0.5)
        asked = len(page.here.model.requests)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(page.ask(page.talk[:-1]))
            await page.here.until_asked(asked + 1)
            await page.say("and once more")
        assert 91 == await page.minutes()


async def test_an_earlier_turn_that_failed_behind_a_tool_is_asked_again_without_writing(tmp_path: Path) -> None:
    async with front_end(tmp_path) as page:
        page.client = page.client.with_options(max_retries=0)
        page.here.model.answers(LOGS, Fault(status=400, body={"error": {"message": "no"}}))
        first = [*page.talk, {"role": "user", "content": SAID}]
        with pytest.raises(openai.InternalServerError):
            await page.ask(first)
        page.here.model.answers("Hello.")
        await page.ask([*first, {"role": "assistant", "content": ""}, {"role": "user", "content": "hello?"}])
        await page.ask(first)
        assert 46 == await page.minutes()


async def test_the_same_words_later_are_a_new_message(tmp_path: Path) -> None:
    async with front_end(tmp_path) as page:
        await page.say(SAID)
        await page.say(SAID)
        await page.say(SAID)
        assert 136 == await page.minutes()


async def test_what_does_not_go_on_from_a_known_conversation_writes_nothing(tmp_path: Path) -> None:
    user, said = "user", {"role": "assistant", "content": "Yes."}
    async with front_end(tmp_path) as page:
        await page.say("hello")
        await page.say(SAID)
        before = await page.minutes()
        await page.ask([*page.talk[:-2], {"role": user, "content": "I meant 50 minutes of guitar"}])
        await page.ask([{"role": user, "content": "a talk with another model"}, said, {"role": user, "content": SAID}])
        await page.ask([{"role": user, "content": SAID}, {"role": user, "content": "give this a title"}])
        await page.ask([*page.talk, {"role": user, "content": "one"}, {"role": user, "content": "two"}])
        assert before == await page.minutes()


@pytest.mark.parametrize("words", ["/log 45m guitar", SAID])
async def test_commands_and_the_offline_coach_write_once_too(tmp_path: Path, words: str) -> None:
    async with front_end(tmp_path, offline=True) as page:
        await page.say(words)
        assert 46 == await page.minutes()
        await page.ask(page.talk[:-1])
        await page.ask([{"role": "user", "content": f"### Task:\nName this talk.\nUSER: {words}"}])
        assert 46 == await page.minutes()
