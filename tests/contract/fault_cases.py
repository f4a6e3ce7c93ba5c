"""Every fault of the agent's own (`tests/FAULTS.md`, F01 to F64) as scripts of a model server, by number.

The server of a case gives its answers in order, then good ones. `fault_world` plays a case and asserts the general
promises. Faults that need a process to die, a disk to fail or two people are tested elsewhere: `ELSEWHERE` names them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.testing.model import Answer, Brain, Call, Fault, Reply

OK = "All well."
ALL_WELL = Reply(OK)
TOOL_S = 20.0
ERROR = {"error": {"type": "some_error", "message": "no"}}
TOO_LONG = Fault(
    400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: maximum context length"}}
)
OVERLOADED = Fault(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}})
DEAR = {"prices": {"input_usd_per_mtok": 100, "output_usd_per_mtok": 100}}
HTML = b"<html><body>Sign in to the hotel network</body></html>"


@dataclass(frozen=True)
class Case:
    """One variant of one fault."""

    fault: str
    name: str
    answers: tuple[Answer, ...] = ()
    words: str = OK  # in what the person sees of it
    asked: int | None = None  # requests that the fault's own message makes; None: as many as it takes
    at_least_s: float = 0.0  # on the virtual clock
    within_s: float = 155.0  # a turn's deadline and five seconds
    parts: int = 1  # messages that its answer takes at least
    before: int = 0  # exchanges that went well before it
    brain: Brain | None = None  # in place of what is answered well
    stop_at_s: float | None = None  # the person says /stop then
    model: dict[str, Any] = field(default_factory=dict)  # the model's settings
    wire: str | None = None  # None: both
    provider: str = ""  # the process dies 3 s in, and the tools' provider is by then: "gone", "changed", "back"
    caps: dict[str, Any] = field(default_factory=dict)  # of what models may cost, as in [budgets]


def calls(*wanted: tuple[str, str], ids: tuple[str | None, ...] = ()) -> Reply:
    """Return a response that asks for tools, each given as (name, arguments)."""
    known = ids or (None,) * len(wanted)
    made = tuple(Call(name, arguments, id_) for (name, arguments), id_ in zip(wanted, known, strict=True))
    return Reply(calls=made)


def stream(*chunks: bytes, **more: Any) -> Fault:
    """Return the bytes of a stream unchanged."""
    return Fault(body=b"".join(chunks), content_type="text/event-stream", **more)


def _http() -> Iterator[Case]:
    for name, headers, least in (
        ("5 s", {"Retry-After": "5"}, 5.0),
        ("1 s", {"Retry-After": "1"}, 1.0),
        ("in ms", {"retry-after-ms": "2500"}, 2.5),
        ("30 s", {"Retry-After": "30"}, 30.0),
    ):
        yield Case("F01", name, (Fault(429, ERROR, headers),), asked=2, at_least_s=least)
    yield Case("F01", "twice", (Fault(429, ERROR, {"Retry-After": "2"}),) * 2, asked=3, at_least_s=4)
    for wait in ("3600", "61", "86400"):
        yield Case("F02", wait, (Fault(429, ERROR, {"Retry-After": wait}),), "busy", asked=1, within_s=5)
    for code in ("enforced_spend_limit_reached", "insufficient_quota", "billing_hard_limit_reached"):
        yield Case("F03", code, (Fault(429, {"error": {"code": code, "message": "no"}}),), "out of credit", asked=1)
    for wait in ("Wed, 04 Mar 2020 12:00:30 GMT", "-5", "abc", "", "nan", "0", "1;2"):
        yield Case("F04", wait or "blank", (Fault(429, ERROR, {"Retry-After": wait}),), asked=2, within_s=60)
    for wait in ("1e9", "Wed, 04 Mar 2099 12:00:30 GMT", "inf0"):
        words = OK if wait == "inf0" else "busy"
        yield Case("F04", wait, (Fault(429, ERROR, {"Retry-After": wait}),), words)
    for times in (1, 2):
        yield Case("F05", f"{times} times", (OVERLOADED,) * times, asked=times + 1, at_least_s=5)
    yield Case("F05", "three times", (OVERLOADED,) * 3, "busy", asked=3)
    yield Case("F06", "for ever", brain=lambda _: OVERLOADED, words="busy", within_s=60)
    for status in (500, 502, 503, 504):
        yield Case("F07", f"{status}", (Fault(status, ERROR),), asked=2)
        yield Case("F07", f"{status} as a page", (Fault(status, HTML, content_type="text/html"),), asked=2)
    yield Case("F07", "three of them", (Fault(500, ERROR), Fault(502, ERROR), Fault(503, ERROR)), "reach", asked=3)
    for status in (400, 422, 405):
        yield Case("F08", f"{status}", (Fault(status, ERROR),), "refuses", asked=1, within_s=5)
    for status in (401, 403):
        yield Case("F09", f"{status}", (Fault(status, ERROR),), asked=2, at_least_s=5)
        yield Case("F09", f"{status} twice", (Fault(status, ERROR),) * 2, "not connected", asked=2, within_s=10)
    yield Case("F10", "402", (Fault(402, ERROR),), "out of credit", asked=1, within_s=5)
    yield Case(
        "F10", "credit", (Fault(400, {"error": {"message": "Your credit balance is too low"}}),), "out of credit"
    )
    yield Case("F11", "404", (Fault(404, {"error": {"type": "not_found_error", "message": "model: x"}}),), "reach")
    yield Case("F12", "with a history", (Fault(413, ERROR),), before=2)
    yield Case("F12", "with none", (Fault(413, ERROR),), "too ", asked=1)
    for status in (408, 409):
        yield Case("F13", f"{status}", (Fault(status, ERROR),), asked=2)
        yield Case("F13", f"{status} for ever", (Fault(status, ERROR),) * 3, "", asked=3)
    yield Case("F14", "refused", words="reach", asked=0, model={"base_url": "http://127.0.0.1:1/v1"})
    yield Case("F14", "no TLS", words="reach", asked=0, model={"base_url": "https://127.0.0.1:{port}/v1"})
    for times in (1, 2):
        yield Case("F15", f"{times} times", (Fault(reset=True),) * times, asked=times + 1)
    yield Case("F15", "three times", (Fault(reset=True),) * 3, "reach", asked=3)


def _bodies() -> Iterator[Case]:
    yield Case("F16", "overloaded", (Fault(200, {"error": {"type": "overloaded_error", "message": "x"}}),), asked=2)
    yield Case("F16", "unknown", (Fault(200, {"error": {"message": "x"}}),), asked=2)
    yield Case("F16", "a word", (Fault(200, {"error": "x"}),), asked=2)
    yield Case("F16", "three times", (Fault(200, {"error": {"message": "x"}}),) * 3, "reach", asked=3)
    yield Case("F17", "once", (Fault(body=HTML, content_type="text/html"),), asked=2)
    yield Case("F17", "three times", (Fault(body=HTML, content_type="text/html"),) * 3, "reach", asked=3)
    yield Case("F17", "called JSON", (Fault(body=HTML),), asked=2)
    for name, body in (("nothing", b""), ("blanks", b"  \n"), ("null", b"null"), ("a list", b"[]"), ("a number", b"7")):
        yield Case("F18", name, (Fault(body=body),), asked=2)
    yield Case("F18", "an object without an answer", (Fault(body=b"{}"),), asked=2)
    yield Case("F18", "an empty stream", (stream(),), asked=2)
    yield Case("F19", "no gzip", (Fault(200, b"garbage", {"Content-Encoding": "gzip"}),), asked=2)
    yield Case("F19", "no deflate", (Fault(200, b"garbage", {"Content-Encoding": "deflate"}),), asked=2)
    yield Case("F19", "broken UTF-8", (Fault(200, b"\xff\xfe{"),), asked=2)
    for status in (301, 302, 307, 308):
        to = {"Location": "http://127.0.0.2:1/v1/elsewhere"}
        yield Case("F20", f"{status}", (Fault(status, b"", to),), "refuses", asked=1, within_s=5)


def _streams() -> Iterator[Case]:
    yield Case("F21", "once", (Fault(hang=True),), asked=2, at_least_s=60)
    yield Case("F21", "for ever", (Fault(hang=True),) * 3, "", at_least_s=60)
    for chunks in (4, 5, 7):  # pings before the first word are work on the prompt, which is waited for longer
        stalled = Reply("words " * 20, stall_after_chunks=chunks, ping_s=20.0)
        yield Case("F22", f"pings after {chunks}", (stalled,), asked=2, at_least_s=80, within_s=100)
    yield Case("F22", "for ever", (Reply("words " * 20, stall_after_chunks=4, ping_s=20.0),) * 3, "")
    drip = Reply("drip " * 40, chunk_chars=1, chunk_delay_s=20.0)
    yield Case(
        "F23", "a character every 20 s", (drip,), "d", at_least_s=140, within_s=195
    )  # the first are the server's
    slower = Reply("drip " * 40, chunk_chars=1, chunk_delay_s=80.0)
    yield Case("F23", "a character every 80 s", (slower,), "", at_least_s=140, within_s=315, wire="openai")
    for chunks in (0, 1, 2, 3, 5):
        yield Case("F24", f"after {chunks}", (Reply("words " * 20, cut_after_chunks=chunks),), asked=2)
    asking = calls(("double", '{"n": 21, "note": "a long note"}'))
    for chunks in (2, 3, 4):
        cut = Reply(calls=asking.calls, chunk_chars=6, cut_after_chunks=chunks)
        yield Case("F24", f"in a call after {chunks}", (cut,), asked=2)
    yield Case("F24", "three times", (Reply("words " * 20, cut_after_chunks=3),) * 3, "reach", asked=3)
    begun = {
        "openai": b'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n',
        "anthropic": b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":'
        b'"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
        b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":'
        b'{"type":"text","text":"half"}}\n\n',
    }
    failing = {
        "overloaded": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
        "server": b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"x"}}\n\n',
    }
    for wire, head in begun.items():
        for name, error in failing.items():
            yield Case("F25", f"{name} behind text", (stream(head, error),), asked=2, wire=wire)
        yield Case("F25", "three times", (stream(head, failing["server"]),) * 3, "reach", asked=3, wire=wire)
        yield Case("F26", "no end", (stream(head),), asked=2, wire=wire)
        yield Case("F26", "no end, three times", (stream(head),) * 3, "reach", asked=3, wire=wire)
        yield Case("F26", "half an event", (stream(head, head[:30]),), asked=2, wire=wire)
    for name, odd in (
        ("CRLF", Reply(OK, crlf=True)),
        ("noise", Reply(OK, noise=True)),
        ("a character a time", Reply(OK, chunk_chars=1)),
        ("both", Reply(OK, crlf=True, noise=True, chunk_chars=1)),
        ("plain JSON", Reply(OK, plain_json=True)),
        ("thoughts", Reply(OK, thinking="Hm.")),
    ):
        yield Case("F27", name, (odd,), asked=1)
    yield Case(
        "F27", "one huge event", (Reply(f"{OK} " + "x" * 300_000, chunk_chars=1_000_000),), "x", asked=1, parts=2
    )
    yield Case("F28", "streamed", (Reply(OK, usage=None),), asked=1)
    yield Case("F28", "whole", (Reply(OK, usage=None, plain_json=True),), asked=1)


def _ends() -> Iterator[Case]:
    cut = [Reply(f"Part {n}. ", finish="length") for n in range(6)]
    yield Case("F29", "once", (cut[0],), asked=2)
    yield Case("F29", "twice", (cut[0], cut[1]), "Part 1. All well.", asked=3)
    yield Case("F29", "four times", (*cut[:4],), "Part 1. Part 2. Part 3. All well.", asked=5)
    yield Case("F29", "for ever", (*cut,), "too long", asked=5)
    yield Case("F29", "the same", (cut[0],) * 6, "circles", asked=4)
    half = Reply(calls=(Call("double", '{"n": 2'),), finish="length", plain_json=True)
    yield Case("F29", "in a call", (half,) * 2, asked=3, wire="openai")
    for finish in ("content_filter",):
        yield Case("F30", finish, (Reply("", finish=finish),), "can't answer that", asked=1)
        yield Case("F30", f"{finish} behind words", (Reply("So far.", finish=finish),), "refused to go on", asked=1)
    yield Case("F30", "pause_turn", (Reply("So far.", finish="pause_turn"),), "")
    for finish in ("some_new_reason", "stop_sequence"):
        yield Case("F30", finish, (Reply("So far.", finish=finish),), "So far.", asked=1)
    for name, said in (
        ("nothing", ""),
        ("blanks", "  \n "),
        ("a thought", "<think>hm</think>"),
        ("open", "<thinking>hm"),
    ):
        number = "F31" if not said else "F32"
        yield Case(number, f"{name} once", (Reply(said),), asked=2)
        yield Case(number, f"{name} twice", (Reply(said),) * 2, asked=3)
        yield Case(number, f"{name} for ever", (Reply(said),) * 3, "" if "hm" in said else "no answer", asked=3)
    for times in (1, 2, 3):
        yield Case("F33", f"{times} times", (Reply("", finish="tool_calls"),) * times, asked=times + 1)
    yield Case("F33", "for ever", brain=lambda _: Reply("I will.", finish="tool_calls"), words="I will.", asked=4)


def _calls() -> Iterator[Case]:
    for name, arguments in (
        ("no JSON", "{oops"),
        ("a comma too many", '{"n": 1,}'),
        ("NaN", '{"n": NaN}'),
        ("a key twice", '{"n": 1, "n": 2}'),
        ("5,000 digits", '{"n": ' + "9" * 5000 + "}"),
        ("nested deep", "[" * 100_000),
        ("a string", '"n"'),
        ("nothing", ""),
        ("a list", "[1]"),
        ("null", "null"),
        ("half", '{"n": '),
    ):
        wire = "openai"  # the other one streams pieces of JSON, or an object
        yield Case("F34", name, (calls(("double", arguments)),), asked=2, wire=wire)
    yield Case("F34", "for ever", brain=_while_tools(calls(("double", "{oops"))), asked=4, words="What I know")
    for name in ("no_such_tool", "Double", "doubel", " double", "double()", "x" * 200):
        yield Case("F35", name[:20], (calls((name, "{}")),), asked=2)
    yield Case("F35", "no name", (calls(("", "{}")),), "", wire="openai")
    twice = (("double", '{"n": 1}'), ("double", '{"n": 2}'))
    yield Case("F36", "twice", (calls(*twice, ids=("a", "a")),), asked=2)
    yield Case("F36", "missing", (calls(*twice, ids=("", "")),), asked=2, wire="openai")
    yield Case("F36", "of the response before", (calls(twice[0], ids=("a",)), calls(twice[1], ids=("a",))), asked=3)
    yield Case("F36", "of a turn before", (calls(twice[0], ids=("old",)), ALL_WELL), before=1)
    for count in (10, 50, 200):
        many = calls(*(("double", f'{{"n": {n}}}') for n in range(count)))
        yield Case("F37", f"{count}", (many,), asked=2)
    for name, arguments in (
        ("a key too many", '{"n": 1, "m": 2}'),
        ("the wrong type", '{"n": "much"}'),
        ("an object", '{"n": {}}'),
        ("a fraction", '{"n": 1.5}'),
        ("null", '{"n": null}'),
    ):
        yield Case("F38", name, (calls(("double", arguments)),), asked=2)
    yield Case("F39", "200 KB", (Reply("word " * 40_000, chunk_chars=20_000),), "word", asked=1, parts=50)
    yield Case("F39", "1.5 MB", (Reply("word " * 300_000, chunk_chars=200_000),), "word", asked=1, parts=50)
    for name, said in (
        ("NUL", "a\0b"),
        ("right to left", "\u202eabc"),
        ("zero width", "a\u200bb\u2060"),
        ("unbalanced", "**a `b [c]( ```"),
        ("controls", "a\x1b[2Jb\x07"),
        ("emoji", "👩‍🎤" * 50),
        ("combining", "e" + "\u0301" * 500),
    ):
        yield Case("F40", name, (Reply(f"{said} end", chunk_chars=3),), "", asked=1)
        yield Case(
            "F40",
            f"{name} in a call",
            (
                calls(
                    ("echo", f'{{"text": "{said!a}"}}'.replace("\\'", "")),
                ),
            ),
            "",
        )
    for n in (1, 2):
        yield Case("F41", f"{n} times", (TOO_LONG,) * n, before=3 * n)
    yield Case("F42", "for ever", brain=lambda _: TOO_LONG, words="too ", before=4)
    yield Case("F43", "alone", (TOO_LONG,) * 9, "too ", asked=1)
    for name, answer in (("fails", TOO_LONG), ("says nothing", Reply("")), ("never answers", Fault(hang=True))):
        yield Case("F44", name, (TOO_LONG, answer), "", before=5)


def _tools() -> Iterator[Case]:
    for how in ("raise", "refuse", "fenceless"):
        yield Case("F46", how, (calls(("act", f'{{"how": "{how}"}}')),), asked=2)
    yield Case("F47", "once", (calls(("act", '{"how": "hang"}')),), asked=2, at_least_s=TOOL_S - 1)
    hang = _while_tools(calls(("act", '{"how": "hang"}')))
    yield Case("F47", "for ever", brain=hang, words="", at_least_s=3 * TOOL_S - 1)
    yield Case("F48", "once", (calls(("act", '{"how": "ignore"}')),), asked=2, at_least_s=TOOL_S - 1)
    for how in ("big", "bytes", "none", "odd", "deep", "nan"):
        yield Case("F49", how, (calls(("act", f'{{"how": "{how}"}}')),), asked=2)
    three = calls(("double", '{"n": 1}'), ("act", '{"how": "raise"}'), ("double", '{"n": 3}'))
    yield Case("F52", "the second", (three,), asked=2)
    three = calls(("act", '{"how": "hang"}'), ("double", '{"n": 1}'), ("double", '{"n": 3}'))
    yield Case("F52", "the first hangs", (three,), asked=2, at_least_s=TOOL_S - 1)
    yield Case("F53", "it fails", (calls(("act", '{"how": "lost"}')),), asked=2)
    for provider in ("gone", "changed", "back"):
        asked = (calls(("act", '{"how": "hang"}')),)
        yield Case("F53", f"{provider}, a read", asked, asked=2, provider=provider)
        for kind in ("note", "send"):
            asked = (calls((kind, '{"how": "hang"}')),)
            words = f"Outcome unknown: {kind}"
            yield Case("F53", f"{provider}, {kind}", asked, words, asked=2, provider=provider)
        three = calls(("double", '{"n": 1}'), ("act", '{"how": "hang"}'), ("double", '{"n": 3}'))
        yield Case("F53", f"{provider}, one of three", (three,), asked=2, provider=provider)
    yield Case("F54", "the same", brain=_while_tools(calls(("double", '{"n": 1}'))), words="circles", asked=9)
    failing = _while_tools(calls(("act", '{"how": "raise"}')))
    yield Case("F54", "the same error", brain=failing, words="circles", asked=7)
    yield Case("F54", "ever new", brain=_ever_new, words="stopped looking further", asked=26)
    told = "all that one answer may cost"  # a call is 110 tokens of the server's, and 11,000 microdollars
    yield Case("F54", "cost cap", brain=_ever_new, words=told, asked=3, caps={"turn_usd": 0.105}, model=DEAR)
    yield Case("F54", "token cap", brain=_ever_new, words=told, asked=3, caps={"turn_tokens": 1050})
    same = _while_tools(calls(("double", '{"n": 1}')))
    yield Case("F54", "the same, cost cap", brain=same, words=told, asked=3, caps={"turn_tokens": 1050})
    yield Case("F54", "the day's cost cap", words="used up", asked=0, before=1, caps={"user_usd": 0.01}, model=DEAR)
    for name, answer in (
        ("before the first byte", Fault(hang=True)),
        ("while it streams", Reply("w " * 50, chunk_chars=1, chunk_delay_s=3.0)),
        ("while it stalls", Reply("words " * 9, stall_after_chunks=4, ping_s=20.0)),
        ("while a tool hangs", calls(("act", '{"how": "hang"}'))),
        ("while it waits to ask again", OVERLOADED),
    ):
        yield Case("F55", name, (answer,), "", stop_at_s=3.0, within_s=30)


def _while_tools(asked: Reply) -> Brain:
    return lambda body: asked if body.get("tools") else Reply("What I know so far.")


def _ever_new(body: dict[str, Any]) -> Answer:
    wanted = calls(("double", f'{{"n": {len(body["messages"])}}}'))
    return wanted if body.get("tools") else Reply("What I know so far.")


CASES = [*_http(), *_bodies(), *_streams(), *_ends(), *_calls(), *_tools()]

ELSEWHERE = {
    "F45": "tests/unit/agent/test_compaction.py",
    "F50": "tests/torture/test_failing_disk.py",
    "F51": "tests/torture/test_failpoints.py",
    "F56": "tests/journeys/test_steering.py",
    "F57": "tests/unit/sessions/test_endings.py",
    "F58": "tests/unit/sessions/test_session.py",
    "F59": "tests/journeys/test_edits.py",
    "F60": "tests/journeys/test_stopping.py",
    "F61": "tests/torture/cases.py",
    "F62": "tests/torture/test_seeded_bugs.py",
    "F63": "tests/torture/test_set_clock.py",
    "F64": "tests/torture/test_failing_disk.py",
}
"""Tests that play the other faults."""


def is_beside(text: str) -> bool:
    """Return True for texts beside a turn's answer: the reply to `/stop`, the note that older talk was condensed."""
    return text == "Stopped." or text.startswith("Our conversation has grown long")
