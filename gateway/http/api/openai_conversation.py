"""Finds where a request of an OpenAI client stands in its conversation, and says what is new in it, once.

These clients send the whole conversation each time and name none. It is known again by what its person said, in order:
each message is kept under an id that holds a digest of the conversation before it and of the conversation with it.
Decision 0038.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gateway.http.api.conversations import Asked, Conversations
from gateway.http.api.problems import ApiRefusal
from gateway.http.api.routes import NAME, ApiRequest
from gateway.http.api.turns import TurnAnswer

RETRIED = "X-Stainless-Retry-Count"
"""How OpenAI's clients say that they ask the same once more."""

START = "0" * 16
"""The digest of a conversation in which nothing was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What is new in a request, and where it stands."""

    text: str
    before: str  # digest of the conversation before it
    digest: str  # and with it
    previous: str | None = None  # the id of the message before it; None: it begins the conversation

    @property
    def id(self) -> str:
        """What the message is kept under."""
        return f"c-{self.before}-{self.digest}"


def place(messages: Iterable[tuple[str, str]], text: str, earlier: str | None = None) -> NewMessage:
    """Find the place of the last user messages of `messages` (role, text) behind the message of the id `earlier`."""
    before, digest = (START, START) if earlier is None else _digests_of(earlier)
    previous = earlier
    groups = [list(run) for is_user, run in groupby(messages, key=lambda message: message[0] == "user") if is_user]
    for group in groups:
        if digest != START:
            previous = f"c-{before}-{digest}"
        before, digest = digest, digest_of("\x00".join([digest, *(said for _, said in group)]))[:16]
    return NewMessage(text=text, before=before, digest=digest, previous=previous)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _digests_of(id_: str) -> tuple[str, str]:
    _, before, digest, *_ = id_.split("-")
    return before, digest


async def say(conversations: Conversations, call: ApiRequest, said: NewMessage, user: str, session: str) -> Asked:
    """Say what is new, unless it is a client's own retry of what was answered; return what to wait for.

    A message whose turn failed is asked again: its answer was none.
    """
    key = call.idempotency_key
    own = said.id if key is None else f"{said.id}-{digest_of(key)[:16]}"
    asked = Asked(key_id=call.key.id, user=user, session=session, handle=own)
    earlier = await _newest(conversations, asked, own)
    if earlier is not None and earlier.state == "failed":
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=earlier.turn)
        newest = await _newest(conversations, asked, "")
        is_newest = newest is not None and newest.turn == earlier.turn and earlier.reason is not None
        await conversations.say(asked, "/retry" if is_newest else said.text, call.locale, again=True)
        return asked
    if earlier is not None:
        handle = earlier.turn
        if key is None and call.headers.get(RETRIED, "0") == "0":
            handle = f"{own}-r{secrets.token_hex(6)}"
        asked = Asked(key_id=call.key.id, user=user, session=session, handle=handle)
        if handle == earlier.turn:
            return asked
    await conversations.say(asked, said.text, call.locale)
    return asked


async def _newest(conversations: Conversations, asked: Asked, begins: str) -> TurnAnswer | None:
    """Return the newest message of this conversation whose id begins so; none that was refused, which left nothing."""
    found: Sequence[TurnAnswer] = await conversations.look_back(
        asked.address, asked.session, asked.user, 5, begins=begins
    )
    return next((turn for turn in found if turn.state != "refused"), None)


def session_named(named: str | None, first: str) -> str:
    """Return the conversation's name: as the client names it, else by the words that it begins with.

    Raises:
        ApiRefusal: the name cannot be one.
    """
    if named is None:
        return f"c-{digest_of(first)[:16]}"
    if not re.fullmatch(NAME, named):
        raise ApiRefusal(
            422, "bad_request", "X-Tenk-Session is a name of 1 to 48 letters, digits, dots and dashes",
            "Send a short id.", param="X-Tenk-Session",
        )  # fmt: skip
    return named
