"""The translation between an editor's protocol and the gateway's API; pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acp import (
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.exceptions import RequestError
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AudioContentBlock,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    PermissionOption,
    PermissionOptionKind,
    PlanEntryStatus,
    ResourceContentBlock,
    StopReason,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
    UnstructuredCommandInput,
    UserMessageChunk,
)

PromptBlock = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)
ToolUpdate = ToolCallStart | ToolCallProgress | AgentPlanUpdate

MAX_PROMPT_CHARS = 100_000
"""Characters of a message that the API takes."""

TITLE_CHARS = 120

KINDS: Mapping[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "get": "read",
    "show": "read",
    "write": "edit",
    "edit": "edit",
    "delete": "delete",
    "search": "search",
    "grep": "search",
    "glob": "search",
    "find": "search",
    "shell": "execute",
    "web": "fetch",
    "think": "think",
}
"""The kind of a tool by the first word of its name."""

OPTIONS: Mapping[str, tuple[str, PermissionOptionKind]] = {
    "allow_once": ("Allow once", "allow_once"),
    "allow_always": ("Always allow", "allow_always"),
    "deny": ("Do not allow", "reject_once"),
}

STATUSES: Mapping[str, PlanEntryStatus] = {"open": "pending", "doing": "in_progress", "done": "completed"}
"""The states of a step of the tool `todo`."""

STOP_REASONS: Mapping[str, StopReason] = {"stopped": "cancelled", "refused": "refusal"}
"""By the state of a turn; any other ended as turns do."""


def to_message(prompt: Sequence[PromptBlock]) -> str:
    """Return a prompt as the text of one message: its words, and its resources quoted under their addresses.

    Raises:
        RequestError: it has pictures, sound or binary content, is empty or too long.
    """
    text = "\n\n".join(part for part in map(_to_text, prompt) if part.strip()).strip()
    if not text:
        raise refusal("the prompt is empty: write a message")
    if len(text) > MAX_PROMPT_CHARS:
        raise refusal(f"the prompt has {len(text):,} characters; send at most {MAX_PROMPT_CHARS:,}")
    return text


def refusal(message: str) -> RequestError:
    """Return the error of a request that cannot be carried out as it is."""
    return RequestError(-32602, message)


def _to_text(block: PromptBlock) -> str:
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            return f"[{block.name}]({block.uri})"
        case EmbeddedResourceContentBlock():
            if isinstance(block.resource, BlobResourceContents):
                raise refusal(f"{block.resource.uri} is not text: send text")
            return f"{block.resource.uri}:\n```\n{block.resource.text}\n```"
        case _:
            raise refusal("pictures and sound cannot be sent from an editor: send text")


@dataclass(slots=True)
class AnswerText:
    """The text of an answer that an editor has, which only grows, beside the text of a stream, which may begin anew."""

    told: str = ""
    streamed: str = ""

    def begin_stream(self) -> None:
        """Note that a stream tells its text from the beginning."""
        self.streamed = ""

    def take(self, event: str, text: str) -> None:
        """Take a `delta` or a `replace` of the stream."""
        self.streamed = self.streamed + text if event == "delta" else text

    def news(self) -> AgentMessageChunk | None:
        """Return what the editor does not have yet; None: nothing. Text in place of other text is a new paragraph."""
        if self.told.startswith(self.streamed):
            return None
        goes_on = self.streamed.startswith(self.told)
        piece = self.streamed[len(self.told) :] if goes_on else f"\n\n{self.streamed}"
        self.told = self.streamed
        return update_agent_message_text(piece)


@dataclass(slots=True)
class ShownCalls:
    """The tool calls that an editor knows of."""

    known: set[str] = field(default_factory=set)

    def start(self, step: Mapping[str, Any]) -> Iterable[ToolUpdate]:
        """Yield the updates for a `tool_call`: the plan too, if it is the list of the agent's steps."""
        arguments = _read(step["arguments"])
        title = _title_of(step["name"], arguments)
        if step["call"] in self.known:  # the person was asked about it
            yield update_tool_call(step["call"], title=title, status="in_progress", raw_input=arguments)
        else:
            self.known.add(step["call"])
            yield start_tool_call(
                step["call"], title, kind=kind_of(step["name"]), status="in_progress", raw_input=arguments
            )
        if step["name"] == "todo" and isinstance(arguments, dict):
            yield update_plan(
                plan_entry(each["text"], status=STATUSES[each.get("state", "open")]) for each in arguments["steps"]
            )

    def end(self, step: Mapping[str, Any]) -> ToolUpdate:
        """Return the update for a `tool_result`."""
        result = _read(step["result"])
        content = [tool_content(text_block(_result_text(result)))]
        status: ToolCallStatus = "completed" if step["outcome"] == "done" else "failed"
        if step["call"] in self.known:
            return update_tool_call(step["call"], status=status, content=content, raw_output=result)
        self.known.add(step["call"])
        return start_tool_call(
            step["call"],
            step["name"],
            kind=kind_of(step["name"]),
            status=status,
            content=content,
            raw_output=result,
        )

    def ask(self, question: Mapping[str, Any], text: str) -> ToolCallUpdate:
        """Return the call that the person is asked about."""
        self.known.add(question["call"])
        return ToolCallUpdate(
            tool_call_id=question["call"],
            title=question["tool"].replace("_", " "),
            kind=kind_of(question["tool"]),
            status="pending",
            content=[tool_content(text_block(text))],
        )


def permission_options(question: Mapping[str, Any]) -> list[PermissionOption]:
    """Return the answers to a question; the id of each is the message that gives it."""
    return [
        PermissionOption(option_id=answer["send"], name=OPTIONS[answer["means"]][0], kind=OPTIONS[answer["means"]][1])
        for answer in question["answers"]
    ]


def without_numbers(text: str) -> str:
    """Return a question without its numbered answers, which an editor shows as buttons."""
    return text.partition("\n\n1. ")[0]


def past_updates(turns: Sequence[Mapping[str, Any]]) -> Iterable[UserMessageChunk | AgentMessageChunk]:
    """Yield a conversation from its turns, newest first as the API lists them."""
    for turn in reversed(turns):
        if turn["for_question"]:
            continue  # the turn that asked has the answer
        if turn["message"]:
            yield update_user_message_text(turn["message"])
        if turn["answer"]:
            yield update_agent_message_text(turn["answer"])


def to_commands(commands: Sequence[Mapping[str, Any]]) -> AvailableCommandsUpdate:
    """Return the commands as an editor's menu."""
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            AvailableCommand(
                name=each["name"],
                description=each["summary"],
                input=AvailableCommandInput(UnstructuredCommandInput(hint=" ".join(each["options"])))
                if each["options"]
                else None,
            )
            for each in commands
        ],
    )


def kind_of(tool: str) -> ToolKind:
    """Return the kind of a tool."""
    return KINDS.get(tool.partition("_")[0], "other")


def _title_of(tool: str, arguments: Any) -> str:
    values = [*arguments.values()] if isinstance(arguments, dict) else []
    said = next((value for value in values if isinstance(value, str)), "")
    title = f"{tool.replace('_', ' ')}: {' '.join(said.split())}" if said else tool.replace("_", " ")
    return title if len(title) <= TITLE_CHARS else f"{title[: TITLE_CHARS - 1]}…"


def _read(text: str) -> Any:
    """Return JSON, or the text itself if it was cut."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _result_text(result: Any) -> str:
    if not isinstance(result, dict):
        return str(result)
    said = result.get("data") if result.get("success") else result.get("error")
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, indent=1)
