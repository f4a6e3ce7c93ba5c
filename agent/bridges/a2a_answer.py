"""The answer of an A2A agent out of its messages, tasks and artifacts; pure."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from a2a.types import Message, Part, StreamResponse, TaskArtifactUpdateEvent, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]  # it has no stubs
from pydantic import JsonValue

from agent.bridges.port import ForeignEvent, Responded
from agent.errors import FailureKind
from agent.models.failures import failure
from agent.ports import TextDelta, TextDiscarded

_ENDS = {
    TaskState.TASK_STATE_AUTH_REQUIRED: (
        FailureKind.AUTH,
        "the agent wants the person to sign in, which it cannot here",
    ),
    TaskState.TASK_STATE_FAILED: (FailureKind.SERVER, "the task failed"),
    TaskState.TASK_STATE_REJECTED: (FailureKind.BAD_REQUEST, "the agent rejected the task"),
    TaskState.TASK_STATE_CANCELED: (FailureKind.SERVER, "the task was cancelled on the server"),
}
"""States in which a task ends without an answer."""


@dataclass
class TaskProgress:
    """The task that answers messages, and its text so far."""

    context: str = ""
    task: str = ""  # "": the server has not named one
    told: frozenset[str] = frozenset()  # ids of its artifacts that earlier answers told
    has_ended: bool = False
    _artifacts: dict[str, str] = field(default_factory=dict)  # texts by id
    _status: TaskStatus | None = None
    _message: Message | None = None  # the answer without a task

    @classmethod
    def after(cls, kept: JsonValue) -> "TaskProgress":
        """Return the beginning after an earlier answer, from the state that it kept."""
        match kept:
            case {"context": str(context), "task": str(task), "told": [*told]}:
                return cls(context, task, frozenset(map(str, told)))
        return cls()

    def take(self, event: StreamResponse) -> Iterator[ForeignEvent]:
        """Take what the server sent; yield what it shows."""
        match event.WhichOneof("payload"):
            case "message":
                self._message = event.message
                self.context = event.message.context_id or self.context
            case "task":
                self._name(event.task.id, event.task.context_id)
                self._status = event.task.status
                new = (each for each in event.task.artifacts if each.artifact_id not in self.told)
                self._artifacts = {each.artifact_id: _words(each.parts) for each in new}
            case "status_update":
                self._name(event.status_update.task_id, event.status_update.context_id)
                self._status = event.status_update.status
            case "artifact_update":
                self._name(event.artifact_update.task_id, event.artifact_update.context_id)
                yield from self._take_artifact(event.artifact_update)

    def answer(self) -> Responded | None:
        """Return the answer if it is complete.

        Raises:
            ModelFailure: the task has ended without one.
        """
        if self._message is not None:
            return self._respond(_words(self._message.parts))
        if self._status is None:
            return None
        state, words = self._status.state, _words(self._status.message.parts)
        if state in _ENDS:
            self.has_ended = True
            kind, why = _ENDS[state]
            raise failure(kind, f"{why}: {words}" if words else why)
        if state == TaskState.TASK_STATE_COMPLETED:
            return self._respond(self._text or words)
        if state == TaskState.TASK_STATE_INPUT_REQUIRED:
            told: list[JsonValue] = [*self.told, *self._artifacts]
            return self._respond("\n\n".join(filter(None, (self._text, words))), self.task, told)
        return None

    @property
    def _text(self) -> str:
        return "\n\n".join(filter(None, self._artifacts.values()))

    def _respond(self, text: str, task: str = "", told: Sequence[JsonValue] = ()) -> Responded:
        self.has_ended = True
        if not text.strip():
            raise failure(FailureKind.SERVER, "the agent answered without a text")
        return Responded(text, state={"context": self.context, "task": task, "told": [*told]})

    def _name(self, task: str, context: str) -> None:
        self.task, self.context = task or self.task, context or self.context

    def _take_artifact(self, update: TaskArtifactUpdateEvent) -> Iterator[ForeignEvent]:
        id_, text = update.artifact.artifact_id, _words(update.artifact.parts)
        if id_ in self._artifacts and not update.append:
            self._artifacts[id_] = text
            yield TextDiscarded()
            yield TextDelta(self._text)
            return
        separator = "\n\n" if id_ not in self._artifacts and self._text else ""
        self._artifacts[id_] = self._artifacts.get(id_, "") + text
        yield TextDelta(separator + text)


def _words(parts: Iterable[Part]) -> str:
    """Return the text of parts, data as JSON, and the names of files."""
    return "".join(_word(part) for part in parts)


def _word(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text
        case "data":
            return json.dumps(MessageToDict(part.data), ensure_ascii=False, indent=1)
        case _:
            return f"[{part.filename or part.media_type or 'file'}]"
