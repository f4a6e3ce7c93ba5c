"""OpenAI's own client as a client of the agent: chat completions."""

from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from gateway.testing.model import Call, Fault, Reply
from tests.fakes.api import ApiHouse, api_house


def client_of(here: ApiHouse, key: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{here.url}/v1", api_key=key, timeout=30.0)


async def test_a_completion_is_the_agents_answer(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.answers(Reply("Begin with *scales*."))
        answer = await client.chat.completions.create(
            model="gpt-5-mini", messages=[{"role": "user", "content": "how do I begin?"}], temperature=0.2
        )
        models = [model.id async for model in client.models.list()]
        model = await client.models.retrieve("coach")
    assert ("Begin with *scales*.", "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)
    assert answer.usage is not None
    assert (100, 10, "gpt-5-mini") == (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.model)
    assert (["coach"], "coach") == (models, model.id)


async def test_a_question_is_answered_by_its_number_and_the_answer_comes_to_that(tmp_path: Path) -> None:
    asks = '[permissions]\nask = ["get_user_skills"]\n'
    looks = Reply(calls=(Call("get_user_skills", "{}", id="one"),))
    talk: list[ChatCompletionMessageParam] = []
    async with api_house(tmp_path, config=asks) as here, client_of(here, await here.key()) as client:

        async def say(words: str) -> str:
            talk.append({"role": "user", "content": words})
            answer = await client.chat.completions.create(model="coach", messages=talk)
            talk.append({"role": "assistant", "content": answer.choices[0].message.content})
            return str(answer.choices[0].message.content)

        here.model.answers(looks, Reply("Nothing yet."), looks, Reply("As you like."))
        assert "1. Allow once\n2. Deny" in await say("what can I do?")
        assert "Nothing yet." == await say("1")
        assert "May I do this" in await say("and now?")
        talk.append({"role": "user", "content": "2"})
        stream = await client.chat.completions.create(model="coach", messages=talk, stream=True)
        said = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
        assert "As you like." == "".join(said)


async def test_a_stream_is_the_same_answer_in_pieces(tmp_path: Path) -> None:
    text = "A little every day. " * 12
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.answers(Reply(text, chunk_chars=9, chunk_delay_s=0.02))
        stream = await client.chat.completions.create(
            model="coach",
            messages=[{"role": "user", "content": "tell me more"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    pieces = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    sent = [choice.model_dump(exclude_unset=True) for chunk in chunks for choice in chunk.choices]
    assert all("finish_reason" in choice for choice in sent), "clients look for null"
    assert text.strip() == "".join(pieces)
    assert len([piece for piece in pieces if piece]) > 2
    assert (["stop"], 110) == (reasons, chunks[-1].usage.total_tokens if chunks[-1].usage else None)


async def test_a_conversation_goes_on_where_it_was(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.answers(Reply("Noted: 4711."), Reply("4711."), Reply("I know of none."))
        talk: list[ChatCompletionMessageParam] = [{"role": "user", "content": "my number is 4711"}]
        first = await client.chat.completions.create(model="coach", messages=talk)
        talk += [
            {"role": "assistant", "content": first.choices[0].message.content},
            {"role": "user", "content": [{"type": "text", "text": "which number?"}]},
        ]
        second = await client.chat.completions.create(model="coach", messages=talk)
        other = await client.chat.completions.create(
            model="coach", messages=[{"role": "user", "content": "do you know a number of mine?"}]
        )
        prompts = [str(request.body["messages"]) for request in here.model.requests]
    assert ("4711.", "I know of none.") == (second.choices[0].message.content, other.choices[0].message.content)
    assert 1 == prompts[1].count("my number is 4711")
    assert "4711" not in prompts[2]


async def test_what_it_cannot_do_is_the_clients_own_error(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        hello: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]
        async with client_of(here, "tenk-aaaaaaaa-" + "0" * 32) as stranger:
            with pytest.raises(openai.AuthenticationError, match="this key does not exist"):
                await stranger.chat.completions.create(model="coach", messages=hello)
        async with client_of(here, await here.key("read")) as reader:
            with pytest.raises(openai.PermissionDeniedError, match="lacks the scope"):
                await reader.chat.completions.create(model="coach", messages=hello)
        async with client_of(here, await here.key()) as client:
            tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
            with pytest.raises(openai.BadRequestError, match="its own tools"):
                await client.chat.completions.create(model="coach", messages=hello, tools=[tool])  # type: ignore[list-item]  a tool as JSON
            with pytest.raises(openai.UnprocessableEntityError, match="the last message is not the user"):
                await client.chat.completions.create(
                    model="coach", messages=[*hello, {"role": "assistant", "content": "Hi."}]
                )
            here.model.answers(*[Fault(status=400, body={"error": {"message": "no"}})] * 4)
            with pytest.raises(openai.InternalServerError) as failed:
                await client.chat.completions.create(model="coach", messages=hello)
            asked = len(here.model.requests)
            here.model.answers(*[Fault(status=400, body={"error": {"message": "no"}})] * 4)
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(model="coach", messages=hello, stream=True)
    assert (502, True) == (failed.value.status_code, asked >= 1)


async def test_a_busy_model_is_the_clients_rate_limit_also_where_it_streams(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        once = client.with_options(max_retries=0)
        for stream in (False, True):
            busy = Fault(status=429, headers={"Retry-After": "400"}, body={"error": {"message": "slow down"}})
            here.model.answers(busy)
            with pytest.raises(openai.RateLimitError) as refused:
                await once.chat.completions.create(
                    model="coach", messages=[{"role": "user", "content": f"hello {stream}"}], stream=stream
                )
            assert isinstance(refused.value.body, dict)
            assert ("model_busy", 7) == (refused.value.body["code"], refused.value.body["retry_after_minutes"])


async def test_the_clients_own_retry_is_said_once(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here:
        program = await here.program()
        body = {"model": "coach", "messages": [{"role": "user", "content": "hello"}]}
        _, first = await program.ask("POST", "/v1/chat/completions", json=body)
        retry = {"X-Stainless-Retry-Count": "1"}
        _, again = await program.ask("POST", "/v1/chat/completions", json=body, headers=retry)
        _, third = await program.ask("POST", "/v1/chat/completions", json=body)
        asked = len(here.model.requests)
    assert first["id"] == again["id"] != third["id"]
    assert 2 == asked


async def test_the_clients_own_retry_of_a_busy_model_gets_the_answer(tmp_path: Path) -> None:
    busy = Fault(status=429, headers={"Retry-After": "1"}, body={"error": {"message": "slow down"}})
    async with api_house(tmp_path, config="[model]\ntries = 1\n") as here, client_of(here, await here.key()) as client:
        here.model.answers(busy, busy, Reply("Begin with scales."))
        answer = await client.chat.completions.create(
            model="coach", messages=[{"role": "user", "content": "how do I begin?"}]
        )
        asked = [str(request.body["messages"]).count("how do I begin?") for request in here.model.requests]
    assert "Begin with scales." == answer.choices[0].message.content
    assert [1, 1, 1] == asked


async def test_a_conversation_that_is_too_long_is_the_clients_own_error(tmp_path: Path) -> None:
    """OpenAI's clients look for this code with status 400, and shorten their request."""
    full = Fault(status=400, body={"error": {"message": "maximum context length", "code": "context_length_exceeded"}})
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.brain = lambda _body: full
        with pytest.raises(openai.BadRequestError) as refused:
            await client.chat.completions.create(model="coach", messages=[{"role": "user", "content": "hello"}])
    assert "context_length_exceeded" == refused.value.code


SHAPE = {
    "type": "object",
    "properties": {"skill": {"type": "string"}, "minutes": {"type": "integer"}},
    "required": ["skill", "minutes"],
    "additionalProperties": False,
}


async def test_an_answer_has_the_form_that_is_asked_for_or_is_refused(tmp_path: Path) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "entry", "schema": SHAPE}}
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:

        async def ask(written: str, stream: bool) -> str:
            here.model.answers(Reply(written))
            answer = await client.chat.completions.create(
                model="coach",
                messages=[{"role": "user", "content": "what did I do?"}],
                response_format=wanted,
                stream=stream,
            )  # type: ignore[call-overload]  a schema as JSON
            if stream:
                return "".join([choice.delta.content or "" async for chunk in answer for choice in chunk.choices])
            return str(answer.choices[0].message.content)

        for stream in (False, True):
            fenced = await ask('```json\n{"skill": "cello", "minutes": 30}\n```', stream)
            assert '{"skill": "cello", "minutes": 30}' == fenced
            for written in ('{"skill": "cello", "minutes": "30"}', "Thirty minutes."):
                with pytest.raises(openai.BadRequestError, match="did not write its answer in this format"):
                    await ask(written, stream)
        assert all("additionalProperties" in str(each.body["messages"][-1]) for each in here.model.requests)


async def test_a_form_that_there_is_not_is_refused(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        with pytest.raises(openai.BadRequestError, match="the format 'grammar' is not supported"):
            await client.chat.completions.create(
                model="coach", messages=[{"role": "user", "content": "hi"}], response_format={"type": "grammar"}
            )  # type: ignore[call-overload]  as above
        assert not here.model.requests


async def test_a_form_that_takes_too_long_to_check_is_refused(tmp_path: Path) -> None:
    levels = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(40)}
    endless = {"$ref": "#/$defs/d0", "$defs": {**levels, "d40": {"type": "null"}}}
    odd = {"enum": 5, "required": 5, "properties": [1]}
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:

        async def ask(schema: dict[str, object]) -> str | None:
            here.model.answers(Reply('{"minutes": 30}'))
            answer = await client.chat.completions.create(
                model="coach",
                messages=[{"role": "user", "content": f"what did I do? {len(str(schema))}"}],
                response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
            )
            return answer.choices[0].message.content

        assert '{"minutes": 30}' == await ask(odd)
        with pytest.raises(openai.BadRequestError, match="did not write its answer in this format"):
            await ask(endless)
