"""Our openai wire beside the official SDK as an oracle, and under every fault of a server."""

import gzip
import json
from datetime import UTC, datetime

import pytest
from openai import AsyncOpenAI
from pydantic import SecretStr

from agent.config import ModelConfig
from agent.errors import FailureKind
from agent.models.link import ModelLink
from agent.models.openai import OpenAIModel
from agent.ports import CallStreamed, ModelAtWork, ModelFailure, ModelRequest, SystemPrompt, TextDelta, ToolSpec
from agent.transcript import AssistantItem, NoteItem, StopReason, ToolCall, ToolItem, Usage, UserItem
from agent.wellformed import read_object
from gateway.testing.model import Call, Fault, Reply
from tests.fakes.model_server import ModelServer

KEY = "sk-test-0123456789abcdef"
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
SPEC = ToolSpec("double", "Doubles.", {"type": "object", "properties": {"n": {"type": "integer"}}})
ITEMS = (
    UserItem("double 21", sender="Ana"),
    AssistantItem("", (ToolCall("c1", "double", '{"n": 21}'),)),
    ToolItem("c1", "double", '{"success":true,"data":42,"error":null}'),
    NoteItem("be brief"),
)
SAME = {
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "Ana: double 21"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "double", "arguments": '{"n": 21}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"success":true,"data":42,"error":null}'},
        {"role": "user", "content": "(A note from the system, not from the person: be brief)"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "double", "description": "Doubles.", "parameters": SPEC.schema}}
    ],
}
REPLIES = [
    Reply("Hello, señora 👩‍🎤!", chunk_chars=3),
    Reply("x" * 5000, chunk_chars=1000, usage=None),
    Reply("", (Call("double", '{"n": 21}'), Call("double", '{"n": 1, "why": "because"}', id="own"))),
    Reply("Let me see.", (Call("double", "{}"),)),
    Reply("cut", finish="length"),
    Reply("", finish="content_filter"),
    Reply("carriage", crlf=True),
]


@pytest.fixture
async def server():
    async with ModelServer() as server:
        yield server


@pytest.fixture
async def model(server):
    config = ModelConfig(name="openai:test", base_url=server.base_url, api_key=SecretStr(KEY), first_byte_s=5)
    model = OpenAIModel("test", config, clock=lambda: NOW)
    yield model
    await model.aclose()


async def ask(model, *, stream=True, items=ITEMS, tools=(SPEC,)):
    events = []
    response = await model.respond(ModelRequest(SystemPrompt("be kind"), items, tools, 100, stream), events.append)
    return response, events


async def ask_sdk(server, *, stream):
    async with AsyncOpenAI(api_key=KEY, base_url=server.base_url, max_retries=0) as client:
        options = {"stream_options": {"include_usage": True}} if stream else {}
        got = await client.chat.completions.create(model="test", max_tokens=100, stream=stream, **SAME, **options)
        if not stream:
            choice = got.choices[0]
            calls = [(one.id, one.function.name, one.function.arguments) for one in choice.message.tool_calls or ()]
            return choice.message.content or "", calls, choice.finish_reason, got.usage
        text, calls, finish, usage = "", {}, None, None
        async for chunk in got:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    id_, name, arguments = calls.get(part.index, ("", "", ""))
                    calls[part.index] = (
                        id_ + (part.id or ""),
                        name + (part.function.name or ""),
                        arguments + part.function.arguments,
                    )
        return text, list(calls.values()), finish, usage


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reply", REPLIES)
async def test_the_wire_reads_what_the_sdk_reads(server, model, reply, stream):
    server.answers(reply, reply)
    text, calls, finish, usage = await ask_sdk(server, stream=stream)
    response, events = await ask(model, stream=stream)
    assert text == response.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert calls == [(call.id, call.name, call.arguments) for call in response.tool_calls]
    stops = {"stop": "end", "tool_calls": "tools", "length": "length", "content_filter": "refused"}
    assert stops[finish] == response.stop.value
    expected = Usage(usage.prompt_tokens, usage.completion_tokens) if usage else Usage()
    assert expected == response.usage
    theirs, ours = (received.body for received in server.requests)
    assert theirs == {**ours, "stream": theirs.get("stream", False)}
    assert f"Bearer {KEY}" == server.requests[1].headers["Authorization"]


async def test_calls_are_told_as_soon_as_they_are_whole(server, model):
    """Cover F29."""
    server.answers(Reply("", (Call("double", '{"n": 1}'), Call("double", '{"n": 2}'))))
    response, events = await ask(model)
    told = [event for event in events if isinstance(event, CallStreamed)]
    assert list(response.tool_calls) == [event.call for event in told]
    server.answers(Reply("", (Call("double", '{"n": 1'),), finish="length"))
    response, events = await ask(model)
    assert StopReason.LENGTH is response.stop
    assert [] == [event for event in events if isinstance(event, CallStreamed)]


async def test_a_stream_under_a_wrong_label_is_read(server, model):
    body = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    server.answers(Fault(body=body, content_type="text/plain"))
    assert "hi" == (await ask(model))[0].text


ERROR = {"error": {"message": f"no: {KEY}", "type": "t", "code": "c"}}
HTML = b"<html><body>Log in to the wifi</body></html>"
CASES = [
    ("F01", Fault(429, ERROR, {"Retry-After": "5"}), FailureKind.RATE_LIMIT, True, 5.0),
    ("F03", Fault(429, {"error": {"code": "enforced_spend_limit_reached"}}), FailureKind.QUOTA, False, None),
    ("F03", Fault(429, {"error": {"code": "insufficient_quota"}}), FailureKind.QUOTA, False, None),
    ("F04", Fault(429, ERROR, {"Retry-After": "Wed, 04 Mar 2026 12:00:30 GMT"}), FailureKind.RATE_LIMIT, True, 30.0),
    ("F04", Fault(429, ERROR, {"Retry-After": "-7"}), FailureKind.RATE_LIMIT, True, 0.0),
    ("F04", Fault(429, ERROR, {"Retry-After": "abc"}), FailureKind.RATE_LIMIT, True, None),
    ("F04", Fault(429, ERROR, {"Retry-After": "nan"}), FailureKind.RATE_LIMIT, True, None),
    ("F04", Fault(429, ERROR, {"Retry-After": "1e9"}), FailureKind.RATE_LIMIT, True, 86_400.0),
    ("F05", Fault(529, ERROR), FailureKind.OVERLOADED, True, None),
    ("F05", Fault(503, {"error": "Overloaded"}), FailureKind.OVERLOADED, True, None),
    ("F07", Fault(500, HTML), FailureKind.SERVER, True, None),
    ("F07", Fault(502, b""), FailureKind.SERVER, True, None),
    ("F07", Fault(503, b"\xff"), FailureKind.SERVER, True, None),
    ("F07", Fault(504, b"[]"), FailureKind.SERVER, True, None),
    ("F08", Fault(400, ERROR), FailureKind.BAD_REQUEST, False, None),
    ("F09", Fault(401, ERROR), FailureKind.AUTH, False, None),
    ("F09", Fault(403, ERROR), FailureKind.AUTH, False, None),
    ("F10", Fault(402, ERROR), FailureKind.QUOTA, False, None),
    ("F11", Fault(404, ERROR), FailureKind.BAD_REQUEST, False, None),
    ("F11", Fault(404, {"error": {"code": "model_not_found"}}), FailureKind.SERVER, False, None),
    ("F12", Fault(413, ERROR), FailureKind.CONTEXT, False, None),
    ("F13", Fault(408, ERROR), FailureKind.TIMEOUT, True, None),
    ("F13", Fault(409, ERROR), FailureKind.SERVER, True, None),
    ("F15", Fault(reset=True), FailureKind.NETWORK, True, None),
    ("F16", Fault(200, ERROR), FailureKind.SERVER, True, None),
    ("F16", Fault(200, {"error": {"code": 429, "message": "busy"}}), FailureKind.RATE_LIMIT, True, None),
    ("F16", Fault(200, {"error": "model overloaded"}), FailureKind.OVERLOADED, True, None),
    ("F17", Fault(200, HTML, content_type="text/html"), FailureKind.NETWORK, True, None),
    ("F18", Fault(200, b""), FailureKind.NETWORK, True, None),
    ("F18", Fault(200, b"", content_type="text/event-stream"), FailureKind.NETWORK, True, None),
    ("F19", Fault(200, b"garbage", {"Content-Encoding": "gzip"}), FailureKind.NETWORK, True, None),
    ("F20", Fault(307, b"", {"Location": "http://127.0.0.2:1/v1"}), FailureKind.BAD_REQUEST, False, None),
    ("F24", Reply("one two three four", cut_after_chunks=2), FailureKind.NETWORK, True, None),
    (
        "F25",
        Fault(200, b'event: error\ndata: {"type":"overloaded_error"}\n\n', content_type="text/event-stream"),
        FailureKind.OVERLOADED,
        True,
        None,
    ),
    (
        "F26",
        Fault(200, b'data: {"choices":[{"delta":{"content":"half"}}]}\n\n', content_type="text/event-stream"),
        FailureKind.NETWORK,
        True,
        None,
    ),
    ("F27", Fault(200, b"data: {oops\n\n", content_type="text/event-stream"), FailureKind.NETWORK, True, None),
    ("F27", Fault(200, b'data: "text"\n\n', content_type="text/event-stream"), FailureKind.NETWORK, True, None),
    ("F41", Fault(400, {"error": {"code": "context_length_exceeded"}}), FailureKind.CONTEXT, False, None),
    ("shape", Fault(200, {"choices": []}), FailureKind.NETWORK, True, None),
    ("shape", Fault(200, {"choices": [{"message": None}]}), FailureKind.NETWORK, True, None),
    ("shape", Fault(200, b"[1]"), FailureKind.NETWORK, True, None),
]


@pytest.mark.parametrize(("case", "fault", "kind", "retryable", "retry_after_s"), CASES)
async def test_every_fault_has_its_kind(server, model, case, fault, kind, retryable, retry_after_s):
    """Cover F01–F27."""
    server.answers(fault)
    with pytest.raises(ModelFailure) as caught:
        await ask(model)
    assert (kind, retryable, retry_after_s) == (
        caught.value.kind,
        caught.value.retryable,
        caught.value.retry_after_s,
    )
    assert KEY not in str(caught.value) + repr(caught.value)
    server.answers(Reply("next"))
    assert "next" == (await ask(model))[0].text, "the next call works"


async def test_f26_the_farewell_alone_may_be_missing(server, model):
    server.answers(Reply("whole", done=False))
    assert "whole" == (await ask(model))[0].text


async def test_f34_malformed_calls_of_the_past_are_sent_back_as_json(server, model):
    items = (UserItem("go"), AssistantItem("", (ToolCall("c", "double", "{oops"),)), ToolItem("c", "double", "{}"))
    await ask(model, items=items)
    sent = server.requests[0].body["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert {"unreadable": "{oops"} == json.loads(sent)


async def test_f39_a_text_beyond_measure_is_cut(server, model):
    server.answers(Reply("x" * 10_000_000, chunk_chars=100_000))
    response, _ = await ask(model)
    assert StopReason.LENGTH is response.stop
    assert 2_000_000 < len(response.text) < 2_200_000


async def test_f40_lone_surrogates_and_nul_are_mended_both_ways(server, model):
    body = b'{"choices":[{"message":{"content":"a\\ud800b\\u0000c"},"finish_reason":"stop"}]}'
    server.answers(Fault(body=body))
    response, _ = await ask(model, items=(UserItem("hi \ud800!"),))
    assert "a\ufffdbc" == response.text
    assert "hi \ufffd!" == server.requests[0].body["messages"][1]["content"]


async def test_gzip_that_is_gzip_is_read(server, model):
    whole = b'{"choices":[{"message":{"content":"zipped"}}]}'
    server.answers(Fault(body=gzip.compress(whole), headers={"Content-Encoding": "gzip"}))
    assert "zipped" == (await ask(model))[0].text


async def test_calls_without_number_or_with_object_arguments_are_read(server, model):
    fragment = [
        {"id": "a", "function": {"name": "double", "arguments": {"n": 1}}},
        {"id": "b", "function": {"name": "x"}},
    ]
    chunk = {"choices": [{"delta": {"tool_calls": fragment}, "finish_reason": "stop"}]}
    server.answers(Fault(body=b"data: " + json.dumps(chunk).encode() + b"\n\n", content_type="text/event-stream"))
    response, _ = await ask(model)
    assert [ToolCall("a", "double", '{"n": 1}'), ToolCall("b", "x", "")] == list(response.tool_calls)
    assert StopReason.TOOLS is response.stop


async def test_calls_that_a_server_gives_the_same_number_are_several(server, model):
    cut = [("a", "double", '{"n"'), ("b", "", ":"), ("c", "", "2}")]
    whole = [(id_, "double", '{"n":1}') for id_ in "abc"]
    for pieces, expected in ((whole, ["a", "b", "c"]), (cut, ["a"])):
        fragments = [{"index": 0, "id": id_, "function": {"name": name, "arguments": n}} for id_, name, n in pieces]
        chunks = [{"choices": [{"delta": {"tool_calls": [fragment]}}]} for fragment in fragments]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        server.answers(Fault(body=body, content_type="text/event-stream"))
        response, events = await ask(model)
        assert expected == [call.id for call in response.tool_calls if read_object(call.arguments)]
        assert [*range(len(expected))] == [event.index for event in events if isinstance(event, CallStreamed)]


async def test_one_connection_serves_call_after_call(server, model):
    seen = set()
    server.brain = lambda _body: Reply("hi")
    for _ in range(3):
        await ask(model)
        seen |= {id(conn) for conns in model._wire._session.connector._conns.values() for conn, _ in conns}  # noqa: SLF001  the pool is what is looked at
    assert 1 == len(seen)


async def test_the_output_cap_is_named_as_the_server_knows_it(server):
    config = ModelConfig(base_url=server.base_url, output_tokens_field="max_completion_tokens", usage_in_stream=False)
    model = OpenAIModel("m", config)
    await ask(model)
    assert 100 == server.requests[0].body["max_completion_tokens"]
    assert not {"max_tokens", "stream_options"} & set(server.requests[0].body)
    assert "Authorization" not in server.requests[0].headers
    await model.aclose()


@pytest.mark.parametrize("key", ["", "sk-bad\nX-Evil: 1", "sk-ñandú"])
def test_a_key_that_cannot_work_is_refused_without_being_shown(key):
    with pytest.raises(ValueError, match="key") as caught:
        OpenAIModel("m", ModelConfig(api_key=SecretStr(key)))
    assert not key or key not in str(caught.value)


SIGNS = {
    "comments": (b": PROCESSING",),
    "empty deltas": (b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}',),
    "progress": (b'data: {"choices":[],"prompt_progress":{"total":2864,"processed":512}}',),
    "events": (b"event: ping", b'event: ping\ndata: {"choices":[]}'),
}


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
async def test_a_server_that_says_it_works_is_not_cut(server, signs):
    config = ModelConfig(name="openai:test", base_url=server.base_url, local=False, first_byte_s=0.6)
    model = ModelLink(OpenAIModel("test", config), config)
    server.answers(Reply("at last", prefill=signs, prefill_s=1.0), Reply("never"))
    response, events = await ask(model)
    assert ("at last", 1) == (response.text, len(server.requests))
    assert [True, False] == [event.on for event in events if isinstance(event, ModelAtWork)]
    await model.aclose()


async def test_a_server_that_is_silent_is_cut_and_a_local_one_not_asked_again(server):
    """Cover F21."""
    for local, requests in ((False, 2), (True, 1)):
        config = ModelConfig(name="openai:test", base_url=server.base_url, local=local, first_byte_s=0.5)
        model = ModelLink(OpenAIModel("test", config), config)
        server.forget()
        server.requests.clear()
        server.answers(Fault(hang=True), Reply("whole"))
        if local:
            with pytest.raises(ModelFailure):
                await ask(model)
        else:
            assert "whole" == (await ask(model))[0].text
        assert requests == len(server.requests)
        await model.aclose()


@pytest.mark.parametrize("temperature", [None, 0, 0.7])
async def test_temperature_is_sent_where_it_is_set(server, temperature):
    model = OpenAIModel("test", ModelConfig(base_url=server.base_url, temperature=temperature))
    await ask(model)
    assert temperature == server.requests[0].body.get("temperature")
    assert (temperature is None) == ("temperature" not in server.requests[0].body)
    await model.aclose()


@pytest.mark.parametrize("tokens", [10**18, 2**63, -1, True, 1.5])
async def test_a_count_of_tokens_that_cannot_be_is_not_kept(server, model, tokens):
    server.answers(Reply("Hello.", usage=(tokens, tokens)))
    response, _ = await ask(model)
    assert ("Hello.", None, None) == (response.text, response.usage.input_tokens, response.usage.output_tokens)
