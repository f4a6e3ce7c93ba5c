"""The offline model."""

from agent.models.offline import OfflineModel, RuleAnswer
from agent.ports import ModelRequest, SystemPrompt, TextDelta
from agent.transcript import SuggestedReply, UserItem

REQUEST = ModelRequest(SystemPrompt(), (UserItem("hello"),))


class Rules:
    def __init__(self, answer: RuleAnswer) -> None:
        self._answer = answer

    def answer(self, request: ModelRequest) -> RuleAnswer:
        return self._answer


async def respond(answer: RuleAnswer, words_per_s: float | None = None):
    events, pauses = [], []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    model = OfflineModel(Rules(answer), words_per_s, pause)
    return await model.respond(REQUEST, events.append), events, pauses


class TestOfflineModel:
    async def test_words_come_at_the_pace_that_is_set(self):
        text = "**Hello** there,\n\n- one\n- two"
        response, events, pauses = await respond(RuleAnswer(text), words_per_s=20)
        assert text == response.text == "".join(event.text for event in events)
        assert [0.05] * len(events) == pauses
        assert len(events) > 3

    async def test_without_a_pace_it_says_all_at_once(self):
        _, events, pauses = await respond(RuleAnswer("Hello there"))
        assert [TextDelta("Hello there")] == events
        assert [] == pauses

    async def test_what_the_rules_suggest_is_part_of_the_response(self):
        response, events, _ = await respond(RuleAnswer("Shall I?", replies=(SuggestedReply("Yes", "yes"),)))
        assert (SuggestedReply("Yes", "yes"),) == response.replies
        assert [TextDelta("Shall I?")] == events

    async def test_it_costs_nothing_and_says_what_it_is(self):
        response, _, _ = await respond(RuleAnswer("Hello"))
        assert (None, None) == (response.usage.input_tokens, response.usage.output_tokens)
        assert "offline:rules" == response.model
