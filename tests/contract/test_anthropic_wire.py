"""Our Anthropic wire beside the official SDK as an oracle, and under every fault of a server."""

import json
from datetime import UTC, datetime

import anthropic
import pytest
from pydantic import SecretStr

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.anthropic import AnthropicModel
from agent.ports import CallStreamed, ModelFailure, ModelRequest, SystemPrompt, TextDelta, ToolSpec
from agent.transcript import AssistantItem, NoteItem, StopReason, ToolCall, ToolItem, Usage, UserItem
from gateway.testing.model import Call, Fault, Reply
from tests.fakes.anthropic_shapes import SIGNATURE
from tests.fakes.model_server import ModelServer

KEY = "sk-ant-test-0123456789abcdef"
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
MARK = {"type": "ephemeral"}
HOUR_MARK = {"type": "ephemeral", "ttl": "1h"}
SPEC = ToolSpec("double", "Doubles.", {"type": "object", "properties": {"n": {"type": "integer"}}})
RESULT = '{"success":true,"data":42,"error":null}'
ITEMS = (
    UserItem("double 21", sender="Ana"),
    AssistantItem("Let me see.", (ToolCall("c1", "double", '{"n": 21}'),)),
    ToolItem("c1", "double", RESULT),
    NoteItem("be brief"),
)
SYSTEM = SystemPrompt("be kind", "Ana speaks")
SAME = {
    "system": [
        {"type": "text", "text": "be kind", "cache_control": HOUR_MARK},
        {"type": "text", "text": "Ana speaks"},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Ana: double 21", "cache_control": MARK}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "double", "input": {"n": 21}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": RESULT},
                {
                    "type": "text",
                    "text": "(A note from the system, not from the person: be brief)",
                    "cache_control": MARK,
                },
            ],
        },
    ],
    "tools": [{"name": "double", "description": "Doubles.", "input_schema": SPEC.schema}],
}
REPLIES = [
    Reply("Hello, señora 👩‍🎤!", chunk_chars=3),
    Reply("x" * 5000, chunk_chars=1000),
    Reply("", (Call("double", '{"n": 21}'), Call("double", '{"n": 1, "why": "because"}', id="toolu_own"))),
    Reply("Let me see.", (Call("double", "{}"),)),
    Reply("An answer.", thinking="First, the doubles …", chunk_chars=5),
    Reply("An answer.", (Call("double", '{"n": 2}'),), thinking="Hm.", redacted="Zm9v+/=="),
    Reply("cut", finish="length"),
    Reply("no", finish="content_filter"),
    Reply("so far", finish="stop_sequence"),
    Reply("cached", cached=(60, 30)),
    Reply("cached for longer", cached=(0, 90), cached_hour=70),
    Reply("carriage", crlf=True),
]


@pytest.fixture
async def server():
    async with ModelServer() as server:
        yield server


def model_of(server, **config):
    settings = ModelConfig(name="anthropic:test", base_url=server.root_url, api_key=SecretStr(KEY), **config)
    return AnthropicModel("test", settings, clock=lambda: NOW)


@pytest.fixture
async def model(server):
    model = model_of(server, first_byte_s=5)
    yield model
    await model.aclose()


async def ask(model, *, stream=True, items=ITEMS, tools=(SPEC,), system=SYSTEM):
    events = []
    response = await model.respond(ModelRequest(system, items, tools, 100, stream), events.append)
    return response, events


async def ask_sdk(server, *, stream):
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.root_url, max_retries=0) as client:
        if not stream:
            return await client.messages.create(model="test", max_tokens=100, stream=False, **SAME)
        async with client.messages.stream(model="test", max_tokens=100, **SAME) as streamed:
            return await streamed.get_final_message()


def texts_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reply", REPLIES)
async def test_the_wire_reads_what_the_sdk_reads(server, model, reply, stream):
    server.answers(reply, reply)
    message = await ask_sdk(server, stream=stream)
    response, events = await ask(model, stream=stream)
    assert texts_of(message) == response.text
    assert response.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert calls == [(call.id, call.name, json.loads(call.arguments)) for call in response.tool_calls]
    assert list(response.tool_calls) == [event.call for event in events if isinstance(event, CallStreamed)]
    thoughts = [block.to_dict() for block in message.content if block.type.endswith("thinking")]
    assert thoughts == [kept["block"] for kept in response.thinking]
    stops = {
        "end_turn": "end",
        "stop_sequence": "end",
        "tool_use": "tools",
        "max_tokens": "length",
        "refusal": "refused",
    }
    assert stops[message.stop_reason] == response.stop.value
    read, written = message.usage.cache_read_input_tokens, message.usage.cache_creation_input_tokens
    whole = message.usage.input_tokens + (read or 0) + (written or 0)
    long = message.usage.cache_creation and message.usage.cache_creation.ephemeral_1h_input_tokens
    counted = Usage(whole, message.usage.output_tokens, read, written, cache_write_hour_tokens=long)
    assert counted == response.usage
    theirs, ours = (received.body for received in server.requests)
    assert {**theirs, "stream": theirs.get("stream", False)} == ours
    for name in ("Authorization", "anthropic-version"):
        assert 1 == len({received.headers[name] for received in server.requests})


ERROR = {"type": "error", "error": {"type": "t", "message": f"no: {KEY}"}}


def error_of(kind, words="no"):
    return {"type": "error", "error": {"type": kind, "message": words}}


def in_stream(kind):
    body = b"event: error\ndata: " + json.dumps(error_of(kind)).encode() + b"\n\n"
    return Fault(200, body, content_type="text/event-stream")


HTML = b"<html><body>Log in to the wifi</body></html>"
K = FailureKind
CASES = [
    ("F01", Fault(429, error_of("rate_limit_error"), {"Retry-After": "5"}), K.RATE_LIMIT, 5.0),
    ("F03", Fault(429, error_of("rate_limit_error", "enforced_spend_limit_reached")), K.QUOTA, None),
    ("F04", Fault(429, ERROR, {"retry-after": "Wed, 04 Mar 2026 12:00:30 GMT"}), K.RATE_LIMIT, 30.0),
    ("F05", Fault(529, error_of("overloaded_error")), K.OVERLOADED, None),
    ("F07", Fault(500, error_of("api_error")), K.SERVER, None),
    ("F07", Fault(502, HTML), K.SERVER, None),
    ("F08", Fault(400, error_of("invalid_request_error")), K.BAD_REQUEST, None),
    ("F09", Fault(401, error_of("authentication_error", f"invalid x-api-key {KEY}")), K.AUTH, None),
    ("F09", Fault(403, error_of("permission_error")), K.AUTH, None),
    ("F10", Fault(400, error_of("invalid_request_error", "Your credit balance is too low")), K.QUOTA, None),
    ("F11", Fault(404, error_of("not_found_error", "model: test")), K.SERVER, None),
    ("F12", Fault(413, error_of("request_too_large")), K.CONTEXT, None),
    ("F15", Fault(reset=True), K.NETWORK, None),
    ("F16", Fault(200, error_of("rate_limit_error")), K.RATE_LIMIT, None),
    ("F17", Fault(200, HTML, content_type="text/html"), K.NETWORK, None),
    ("F18", Fault(200, b""), K.NETWORK, None),
    ("F18", Fault(200, b"", content_type="text/event-stream"), K.NETWORK, None),
    ("F20", Fault(307, b"", {"Location": "http://127.0.0.2:1/v1"}), K.BAD_REQUEST, None),
    ("F24", Reply("one two three four", cut_after_chunks=5), K.NETWORK, None),
    ("F25", in_stream("overloaded_error"), K.OVERLOADED, None),
    ("F25", in_stream("invalid_request_error"), K.BAD_REQUEST, None),
    ("F25", in_stream("authentication_error"), K.AUTH, None),
    ("F25", in_stream("api_error"), K.SERVER, None),
    ("F27", Fault(200, b"data: {oops\n\n", content_type="text/event-stream"), K.NETWORK, None),
    ("F27", Fault(200, b'data: "text"\n\n', content_type="text/event-stream"), K.NETWORK, None),
    (
        "F27",
        Fault(
            200,
            b'data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":3}}\n\n',
            content_type="text/event-stream",
        ),
        K.NETWORK,
        None,
    ),
    (
        "F41",
        Fault(400, error_of("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
        K.CONTEXT,
        None,
    ),
    (
        "F41",
        Fault(400, error_of("invalid_request_error", "input length and `max_tokens` exceed context limit")),
        K.CONTEXT,
        None,
    ),
    ("shape", Fault(200, {"content": None}), K.NETWORK, None),
    ("shape", Fault(200, b"[1]"), K.NETWORK, None),
]
RETRYABLE = {K.RATE_LIMIT, K.OVERLOADED, K.SERVER, K.NETWORK, K.TIMEOUT}


@pytest.mark.parametrize(("case", "fault", "kind", "retry_after_s"), CASES)
async def test_every_fault_has_its_kind(server, model, case, fault, kind, retry_after_s):
    """Cover F01–F41."""
    server.answers(fault)
    with pytest.raises(ModelFailure) as caught:
        await ask(model)
    again = kind in RETRYABLE and case != "F11"  # the same model again is as unknown
    assert (kind, again, retry_after_s) == (
        caught.value.kind,
        caught.value.retryable,
        caught.value.retry_after_s,
    )
    assert KEY not in str(caught.value) + repr(caught.value)
    server.answers(Reply("next"))
    assert "next" == (await ask(model))[0].text, "the next call works"


SDK_ERRORS = {
    400: (anthropic.BadRequestError, K.BAD_REQUEST),
    401: (anthropic.AuthenticationError, K.AUTH),
    403: (anthropic.PermissionDeniedError, K.AUTH),
    404: (anthropic.NotFoundError, K.BAD_REQUEST),
    429: (anthropic.RateLimitError, K.RATE_LIMIT),
    500: (anthropic.InternalServerError, K.SERVER),
    529: (anthropic.InternalServerError, K.OVERLOADED),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("status", SDK_ERRORS)
async def test_what_the_sdk_calls_an_error_is_one_here(server, model, status, stream):
    theirs, ours = SDK_ERRORS[status]
    server.answers(Fault(status, error_of("t")), Fault(status, error_of("t")))
    with pytest.raises(theirs) as raised:
        await ask_sdk(server, stream=stream)
    with pytest.raises(ModelFailure) as caught:
        await ask(model, stream=stream)
    assert (raised.value.status_code, ours) == (caught.value.status, caught.value.kind)


async def test_f26_the_farewell_alone_may_be_missing_and_no_more(server, model):
    server.answers(Reply("whole", done=False))
    assert "whole" == (await ask(model))[0].text
    head = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}}\n\n'
    server.answers(Fault(200, head, content_type="text/event-stream"))
    with pytest.raises(ModelFailure) as caught:
        await ask(model)
    assert K.NETWORK is caught.value.kind


async def test_f29_half_a_call_is_never_told(server, model):
    server.answers(Reply("", (Call("double", '{"n": 1}'), Call("double", '{"n": 1')), finish="length"))
    response, events = await ask(model)
    assert (StopReason.LENGTH, 2) == (response.stop, len(response.tool_calls))
    assert [0] == [event.index for event in events if isinstance(event, CallStreamed)]


@pytest.mark.parametrize("stream", [True, False])
async def test_thoughts_go_back_byte_for_byte(server, model, stream):
    thinking = "Zwei mal 21 …\n\u2028 ist 42? \\u00e9"
    asked = Reply("Hm.", (Call("double", '{"n": 21}', id="c1"),), thinking=thinking, redacted="Zm9v+/==", chunk_chars=4)
    server.answers(asked)
    response, _ = await ask(model, stream=stream)
    said = AssistantItem(response.text, response.tool_calls, response.thinking)
    await ask(model, items=(UserItem("double"), said, ToolItem("c1", "double", RESULT)))
    assert [
        {"type": "thinking", "thinking": thinking, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "Zm9v+/=="},
        {"type": "text", "text": "Hm."},
        {"type": "tool_use", "id": "c1", "name": "double", "input": {"n": 21}},
    ] == server.requests[-1].body["messages"][1]["content"]


async def test_thoughts_between_words_keep_their_places(server, model):
    content = [
        {"type": "thinking", "thinking": "a", "signature": "s1"},
        {"type": "text", "text": "one "},
        {"type": "thinking", "thinking": "b", "signature": "s2"},
        {"type": "text", "text": "two"},
        {"type": "tool_use", "id": "c1", "name": "double", "input": {}},
    ]
    server.answers(Fault(200, {"type": "message", "content": content, "stop_reason": "tool_use"}))
    response, _ = await ask(model)
    said = AssistantItem(response.text, response.tool_calls, response.thinking)
    await ask(model, items=(UserItem("double"), said, ToolItem("c1", "double", RESULT)))
    assert content == server.requests[-1].body["messages"][1]["content"]


@pytest.mark.parametrize(("stop", "kept"), [("max_tokens", ["a"]), ("tool_use", ["a", "b"])])
async def test_a_thought_that_was_cut_is_not_sent_back(server, model, stop, kept):
    """The API refuses a thought without its signature; a server that never signs gets all of its own back."""
    content = [
        {"type": "thinking", "thinking": "a", "signature": "s1"},
        {"type": "text", "text": "one "},
        {"type": "thinking", "thinking": "b", "signature": ""},
    ]
    server.answers(Fault(200, {"type": "message", "content": content, "stop_reason": stop}))
    response, _ = await ask(model)
    assert kept == [thought["block"]["thinking"] for thought in response.thinking]


async def test_another_wires_thoughts_are_not_sent(server, model):
    said = AssistantItem("hi", thinking=({"wire": "openai", "name": "reasoning", "text": "x"}, "old", None))
    await ask(model, items=(UserItem("a"), said, UserItem("b")))
    assert [{"type": "text", "text": "hi"}] == server.requests[0].body["messages"][1]["content"]


async def test_what_the_api_refuses_is_never_sent(server, model):
    items = (
        AssistantItem("hello"),
        UserItem(" "),
        UserItem("two"),
        AssistantItem(" "),
        NoteItem("three"),
        AssistantItem("", (ToolCall("a b/1", "döuble", "[1]"),)),
        ToolItem("a b/1", "döuble", "{}"),
    )
    await ask(model, items=items, system=SystemPrompt(" "), tools=())
    body = server.requests[0].body
    assert not {"system", "tools"} & set(body)
    assert ["user", "assistant", "user", "assistant", "user"] == [message["role"] for message in body["messages"]]
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    call, result = blocks[-2:]
    assert ("a_b_1", "d_uble", {"unreadable": "[1]"}) == (call["id"], call["name"], call["input"])
    assert "a_b_1" == result["tool_use_id"]


async def test_the_marks_stand_behind_what_stays_the_same(server, model):
    items = [one for n in range(5) for one in (UserItem(f"q{n}"), AssistantItem(f"a{n}"))]
    await ask(model, items=(*items, UserItem("last")))
    body = server.requests[0].body
    marked = [
        (place, block["text"])
        for place, blocks in [("system", body["system"]), *((m["role"], m["content"]) for m in body["messages"])]
        for block in blocks
        if "cache_control" in block
    ]
    assert [("system", "be kind"), ("user", "q4"), ("user", "last")] == marked


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({}, {"max_tokens": 100}),
        ({"temperature": 0.5}, {"max_tokens": 100, "temperature": 0.5}),
        ({"max_output_tokens": 60}, {"max_tokens": 60}),
        ({"thinking": "adaptive", "temperature": 0.5}, {"max_tokens": 100, "thinking": {"type": "adaptive"}}),
        ({"thinking": 2000}, {"max_tokens": 2100, "thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ],
)
async def test_settings_are_sent_as_the_api_takes_them(server, config, sent):
    model = model_of(server, **config)
    await ask(model, items=(UserItem("hello"),))
    names = ("max_tokens", "temperature", "thinking")
    assert sent == {name: value for name, value in server.requests[0].body.items() if name in names}
    version = "2023-06-01" if "temperature" in config else "2026-10-21"
    assert version == server.requests[0].headers["anthropic-version"], "the newest takes no temperature at all"
    await model.aclose()


def test_a_missing_key_is_named():
    with pytest.raises(ValueError, match="ANTHROPIC_API_KEY"):
        AnthropicModel("claude", ModelConfig())
