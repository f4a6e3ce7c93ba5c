"""What the offline coach takes a message for, and what it can read at all."""

import pytest

from agent.coach.intents import Intent, read_request
from agent.coach.request_view import listen
from agent.ports import ModelRequest, SystemPrompt
from agent.transcript import AssistantItem, ToolCall, ToolItem, UserItem


class TestIntents:
    @pytest.mark.parametrize(
        ("text", "intent"),
        [
            ("45m guitar", Intent.TIMED),
            ("should I do 45m guitar?", Intent.TIMED),
            ("undo that", Intent.UNDO),
            ("deshaz eso", Intent.UNDO),
            ("how do I undo this?", Intent.MAYBE_UNDO),
            ("make me a plan", Intent.PLAN),
            ("/plan", Intent.PLAN),
            ("hazme un plan", Intent.PLAN),
            ("what was my plan this week?", Intent.MAYBE_PLAN),
            ("mis estadísticas", Intent.STATS),
            ("how is it going?", Intent.STATS),
            ("what skills do I have", Intent.SKILLS),
            ("historial", Intent.HISTORY),
            ("any tips?", Intent.GUIDE),
            ("how should I practise?", Intent.GUIDE),
            ("help", Intent.HELP),
            ("¿qué puedes hacer?", Intent.HELP),
            ("gracias por todo", Intent.THANKS),
            ("hola", Intent.GREETING),
            ("create a skill called Bass guitar", Intent.CREATE),
            ("Sí, claro", Intent.YES),
            ("no, thanks", Intent.NO),
            ("what did you log?", Intent.HISTORY),
            ("¿qué anotaste?", Intent.HISTORY),
            ("any tips for lip stamina?", Intent.UNKNOWN),
            ("any tips for practising?", Intent.GUIDE),
            ("put together a schedule for me", Intent.MAYBE_PLAN),
            ("forget it", Intent.NO),
            ("lorem ipsum", Intent.UNKNOWN),
            ("", Intent.UNKNOWN),
        ],
    )
    def test_words_have_an_intent(self, text, intent):
        """English and Spanish; what is unclear is unknown."""
        assert intent == read_request(text).intent


def test_f34_results_and_arguments_nested_without_end_are_read_as_nothing() -> None:
    """The rules go on from what they can read."""
    deep = "[" * 100_000
    items = (
        UserItem("stats"),
        AssistantItem("", (ToolCall("c", "get_journey_stats", deep),)),
        ToolItem("c", "a", deep),
    )
    assert listen(ModelRequest(SystemPrompt(), items)).returned[0].data == {}
