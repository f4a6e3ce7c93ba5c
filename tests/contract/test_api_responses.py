"""OpenAI's own client as a client of the agent: responses."""

from pathlib import Path

import openai
import pytest

from gateway.testing.model import Fault, Reply
from tests.contract.test_api_openai import client_of
from tests.fakes.api import api_house


async def test_a_response_is_the_agents_answer_and_can_be_gone_on_from(tmp_path: Path) -> None:
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.answers(Reply("Noted: 4711."), Reply("4711."), Reply("Still 4711."))
        first = await client.responses.create(model="coach", input="my number is 4711", temperature=0.2)
        second = await client.responses.create(
            model="coach", input="which number?", previous_response_id=first.id, instructions="be brief"
        )
        talk = [
            {"role": "user", "content": "my number is 4711"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Noted: 4711."}]},
            {"role": "user", "content": "which number?"},
            {"role": "assistant", "content": "4711."},
            {"role": "user", "content": [{"type": "input_text", "text": "are you sure?"}]},
        ]
        third = await client.responses.create(model="coach", input=talk)  # type: ignore[arg-type]  as JSON
        prompts = [str(request.body["messages"]) for request in here.model.requests]
    assert ["Noted: 4711.", "4711.", "Still 4711."] == [first.output_text, second.output_text, third.output_text]
    assert first.usage is not None
    assert ("completed", 110) == (first.status, first.usage.total_tokens)
    assert [1, 1] == [prompt.count("my number is 4711") for prompt in prompts[1:]]


async def test_a_streamed_response_is_the_same_in_pieces(tmp_path: Path) -> None:
    text = "A little every day. " * 12
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        here.model.answers(Reply(text, chunk_chars=9, chunk_delay_s=0.02), Reply("So."))
        stream = await client.responses.create(model="coach", input="tell me more", stream=True)
        events = [event async for event in stream]
        async with client.responses.stream(model="coach", input="and now?") as managed:
            final = await managed.get_final_response()
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert text.strip() == "".join(pieces)
    assert len(pieces) > 2
    assert list(range(len(events))) == [event.sequence_number for event in events]
    last = events[-1]
    assert last.type == "response.completed"
    assert (text.strip(), "So.") == (last.response.output_text, final.output_text)


async def test_an_answer_that_begins_anew_stands_once_under_the_first(tmp_path: Path) -> None:
    text = "Another answer, of many words. " * 8
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        cut = Reply("This one is cut. " * 10, chunk_chars=9, chunk_delay_s=0.05, cut_after_chunks=12)
        here.model.answers(cut, Reply(text, chunk_chars=9, chunk_delay_s=0.05))
        stream = await client.responses.create(model="coach", input="tell me more", stream=True)
        events = [event async for event in stream]
    said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    first, _, second = said.partition("\n\n")
    assert first.startswith("This one is cut.")
    assert text.strip() == second.strip()


async def test_what_it_cannot_do_is_the_clients_own_error(tmp_path: Path) -> None:
    busy = Fault(status=429, headers={"Retry-After": "400"}, body={"error": {"message": "slow down"}})
    async with api_house(tmp_path) as here, client_of(here, await here.key()) as client:
        once = client.with_options(max_retries=0)
        for stream in (False, True):
            here.model.answers(busy)
            with pytest.raises(openai.RateLimitError):
                await once.responses.create(model="coach", input=f"hello {stream}", stream=stream)
        with pytest.raises(openai.BadRequestError, match="its own tools"):
            await client.responses.create(model="coach", input="hi", tools=[{"type": "web_search"}])
        with pytest.raises(openai.BadRequestError, match="no such response"):
            await client.responses.create(model="coach", input="hi", previous_response_id="resp_1")
