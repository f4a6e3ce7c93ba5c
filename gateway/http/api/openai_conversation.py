"""The mapping of an OpenAI client's request to a conversation and its new message.

These clients send the whole conversation each time, without an id. The gateway recognises it by the user's messages in
order: each message id contains a digest of the conversation before it and one of the conversation with it.

Chat front ends also repeat a request for another answer, and send prompts of their own for titles, tags and
suggestions. Only a message that begins or continues a known conversation may change anything. Decision 0029.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from gateway.http.api.conversations import Asked, Conversations
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiRequest
from gateway.http.api.turns import TurnAnswer

RETRIED = "X-Stainless-Retry-Count"
"""Header by which OpenAI's clients count their retries."""

CHAT_NAMED = "X-OpenWebUI-Chat-Id"
"""Header by which Open WebUI names its chat, if ENABLE_FORWARD_USER_INFO_HEADERS is set."""

READS = "-r"
"""Suffix of the id of a message that may not change anything."""

_TASK = re.compile(
    r"\s*(### Task:|Your task is to reflect|You have been provided with a set of responses"
    r"|(History|Query|User message):)"
)
"""Beginnings of prompts of Open WebUI (`config.py`, `utils/middleware.py`) and chat-ui (`title.ts`), read 2026-11."""

_PERSON_SAYS = re.compile(r"^[^\w\n]*(user|human|you)[^\w\n]*:", re.IGNORECASE | re.MULTILINE)
_AGENT_SAYS = re.compile(r"^[^\w\n]*(assistant|ai|bot|agent|response)[^\w\n]*:", re.IGNORECASE | re.MULTILINE)

RAN = frozenset({"done", "unknown"})
"""Outcomes of tool calls that may have changed something."""

START = "0" * 16
"""Digest of an empty conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """The new message of a request and its place in the conversation."""

    text: str
    before: str  # digest of the conversation before the message
    digest: str  # digest of the conversation with the message
    previous: str | None = None  # id of the previous message; None: this one is the first
    is_one: bool = True  # True if it is the only new user message

    @property
    def id(self) -> str:
        """Return the message's id prefix."""
        return f"c-{self.before}-{self.digest}"

    @property
    def is_prompt(self) -> bool:
        """Return True if a front end wrote the message about a conversation that it quotes."""
        talks = _PERSON_SAYS.search(self.text) and _AGENT_SAYS.search(self.text)
        return self.previous is None and bool(talks or _TASK.match(self.text))


def place(messages: Iterable[tuple[str, str]], text: str, earlier: str | None = None) -> NewMessage:
    """Find the last user messages of `messages` (role, text), which follow the message with the id `earlier`."""
    before, digest = (START, START) if earlier is None else _digests_of(earlier)
    previous, group = earlier, [("", "")]
    groups = [list(run) for is_user, run in groupby(messages, key=lambda message: message[0] == "user") if is_user]
    for group in groups:
        if digest != START:
            previous = f"c-{before}-{digest}"
        before, digest = digest, digest_of("\x00".join([digest, *(said for _, said in group)]))[:16]
    return NewMessage(text=text, before=before, digest=digest, previous=previous, is_one=len(group) == 1)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digests_of(id_: str) -> tuple[str, str]:
    _, before, digest, *_ = id_.split("-")
    return before, digest


async def say(conversations: Conversations, call: ApiRequest, said: NewMessage, user: str, session: str) -> Asked:
    """Store the new message, unless it is a client's retry of an answered one. Return the request to wait for.

    A message whose turn failed is stored again.
    """
    key = call.idempotency_key
    own = said.id if key is None else f"{said.id}-{digest_of(key)[:16]}"
    asked = Asked(key_id=call.key.id, user=user, session=session, handle=own)
    earlier = await _newest(conversations, asked, own)
    if earlier is not None and earlier.state == "failed":
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=earlier.turn)
        newest = await _newest(conversations, asked, "")
        is_newest = newest is not None and newest.turn == earlier.turn and earlier.reason is not None
        reads = earlier.turn.startswith(own + READS)
        text = "/retry" if is_newest and not reads else said.text
        ran = any(tool.outcome in RAN for tool in earlier.tools)
        await conversations.say(asked, text, call.locale, again=True, only_reads=reads or (ran and not is_newest))
    elif earlier is not None and (key is not None or call.headers.get(RETRIED, "0") != "0"):
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=earlier.turn)
    elif await _may_write(conversations, asked, said):
        await conversations.say(asked, said.text, call.locale)
    else:
        handle = own + READS + ("" if key is not None else secrets.token_hex(6))
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=handle)
        await conversations.say(asked, said.text, call.locale, only_reads=True)
    return asked


async def _may_write(conversations: Conversations, asked: Asked, said: NewMessage) -> bool:
    """Return True for a single new message that begins a conversation or continues the end of a known one."""
    if not said.is_one or said.is_prompt:
        return False
    if said.previous is None:
        is_new = await _newest(conversations, asked, said.id) is None
        return is_new and not await conversations.is_quoting(asked, said.text)
    if await _newest(conversations, asked, said.previous) is None:
        return False
    return await _newest(conversations, asked, f"c-{said.before}-") is None


async def _newest(conversations: Conversations, asked: Asked, begins: str) -> TurnAnswer | None:
    """Return the newest message of the conversation with this id prefix, without refused ones."""
    found: Sequence[TurnAnswer] = await conversations.look_back(
        asked.address, asked.session, asked.user, 5, begins=begins
    )
    return next((turn for turn in found if turn.state != "refused"), None)


def session_named(headers: Mapping[str, str], said: NewMessage, first: str) -> str:
    """Return the session's name: the client's, else one derived from the first words.

    A front end's own prompt gets a session of its own.

    Raises:
        ApiRefusal: the name is invalid.
    """
    named = None if said.is_prompt else headers.get("X-Tenk-Session")
    chat = headers.get(CHAT_NAMED, "")
    if named is None and re.fullmatch(NAME, chat) and not said.is_prompt:
        return chat
    if named is None:
        return f"c-{digest_of(first)[:16]}"
    if not re.fullmatch(NAME, named):
        raise ApiRefusal(
            422,
            "bad_request",
            "X-Tenk-Session must have 1 to 48 letters, digits, dots and dashes",
            "Send a short id.",
            param="X-Tenk-Session",
        )
    return named
