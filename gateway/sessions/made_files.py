"""Files attached to answers, made by tools or commands.

Of a tool's result only the name and description are used; the content is what the call itself stored.
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field, ValidationError

from agent.transcript import CallOutcome, JournalEvent, ToolReturned
from channels.messages import AttachmentKind, OutboundMedia
from gateway.store import outbox
from gateway.store.engine import Connection
from gateway.store.inbox import InboxRow
from gateway.store.outbox import MediaRef, file_id

MAX_FILES = 4
"""With one answer."""

MAX_RESULT_CHARS = 100_000
"""A result that names a file is shorter."""

_MARK = '"file":{'


class _File(BaseModel):
    name: str = Field(min_length=1, max_length=100)
    mime: str = Field(pattern=r"^[a-z]+/[a-z0-9.+-]{1,60}$")
    description: str = Field("", max_length=1_000)


class _Data(BaseModel):
    file: _File | None = None


class _Result(BaseModel):
    data: _Data


def made_files(events: Sequence[JournalEvent]) -> tuple[MediaRef, ...]:
    """Return the files named in results of successful calls, the last ones; the store knows if each is kept."""
    named = (_file_of(event) for event in events if isinstance(event, ToolReturned))
    return tuple([ref for ref in named if ref is not None][-MAX_FILES:])


def keep_files(
    connection: Connection, row: InboxRow, files: Sequence[OutboundMedia], now: datetime
) -> tuple[MediaRef, ...]:
    """Keep the files of a command's reply, in the same commit."""
    refs = []
    for index, file in enumerate(files):
        blob = f"inbox:{row.id}/{index}"
        outbox.put_file(connection, row.tenant, blob, file.content, now)
        refs.append(MediaRef(file.kind, file.name, file.mime, blob, file.description))
    return tuple(refs)


def _file_of(event: ToolReturned) -> MediaRef | None:
    content = event.content
    if event.outcome is not CallOutcome.DONE or len(content) > MAX_RESULT_CHARS or _MARK not in content:
        return None
    try:
        file = _Result.model_validate_json(content).data.file
    except ValidationError:
        return None
    if file is None:
        return None
    kind = AttachmentKind.PHOTO if file.mime.startswith("image/") else AttachmentKind.DOCUMENT
    return MediaRef(kind, file.name, file.mime, file_id(event.call_key), file.description)
