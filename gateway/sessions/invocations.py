"""One use of a command, as its handler sees it."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from agent.ports import Principal
from channels.messages import ChatKind, InboundMessage
from gateway.commands.base import Invocation
from gateway.delivery.lane_worker import ChannelDirectory
from gateway.sessions.presses import delete_said
from gateway.sessions.session import Session
from gateway.sessions.user_items import read_text_file
from gateway.store.inbox import InboxRow


def to_invocation(
    session: Session,
    row: InboxRow,
    principal: Principal,
    name: str,
    arguments: str,
    channels: ChannelDirectory,
    now: datetime,
    scopes: frozenset[str] | None,
) -> Invocation:
    """Return the use of a command that a row makes, typed or pressed."""
    return Invocation(
        name, arguments, principal, now, session, f"inbox:{row.id}", partial(_read_files, row, channels),
        partial(_take_back, row, channels), row.event.sender_key,
        getattr(row.event, "kind", None) is ChatKind.DIRECT, row.event.address,
        partial(session.answer_aside, row, principal), scopes,
    )  # fmt: skip


async def _read_files(row: InboxRow, channels: ChannelDirectory) -> Sequence[str]:
    """Return the text file that came with a command, if one did."""
    files = row.event.attachments[:1] if isinstance(row.event, InboundMessage) else ()
    channel = await channels.when_loaded(row.event.address)
    return [text for file in files if (text := await read_text_file(channel, file))]


async def _take_back(row: InboxRow, channels: ChannelDirectory) -> bool | None:
    return await delete_said(await channels.when_loaded(row.event.address), row.event)
