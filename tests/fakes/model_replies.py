"""What a simulated model server is told to answer, whichever API it is asked in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a reply."""

    name: str
    arguments: str = "{}"
    id: str | None = None  # None: made up from its place


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer, and how it comes."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = None  # None: what follows from the calls
    delay_s: float = 0.0  # before the first byte
    prefill: tuple[bytes, ...] = ()  # what says that it works, a tenth of `prefill_s` apart, before the first chunk
    prefill_s: float = 0.0
    chunk_chars: int = 12  # of text, and of a call's arguments
    chunk_delay_s: float = 0.0
    usage: tuple[int, int] | None = (100, 10)  # prompt, completion tokens; None: not said
    plain_json: bool = False  # also to a stream request
    done: bool = True  # [DONE] at the end
    cut_after_chunks: int | None = None  # the connection is cut there
    stall_after_chunks: int | None = None  # nothing more comes there, only pings
    ping_s: float = 0.01  # between those
    crlf: bool = False
    noise: bool = False  # comments, unknown events, a byte order mark
    thinking: str = ""
    redacted: str = ""  # thought that is only there sealed; Anthropic's alone
    cached: tuple[int, int] | None = None  # of the prompt tokens: read from the cache, written to it


@dataclass(frozen=True, slots=True)
class Fault:
    """Anything else a server may send."""

    status: int = 200
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    content_type: str = "application/json"
    reset: bool = False  # the connection is cut before an answer
    hang: bool = False  # no byte, ever


Answer = Reply | Fault
Brain = Callable[[dict[str, Any]], Answer]


def named_calls(reply: Reply) -> list[tuple[str, Call]]:
    """The calls, each with its id."""
    return [(call.id if call.id is not None else f"call_{index}", call) for index, call in enumerate(reply.calls)]


def pieces(text: str, size: int) -> list[str]:
    """The text, cut."""
    return [text[at : at + size] for at in range(0, len(text), size)]
