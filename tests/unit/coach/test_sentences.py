"""Which sentences the offline coach writes down, and which it never does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.coach.offline import OfflineCoach
from agent.coach.reports import SkillsReport
from agent.coach.request_view import CHANGES
from agent.coach.sentences import MAX_CHARS, Reading, read_sentence
from agent.ports import ModelRequest, RequestContext, SystemPrompt, ToolSpec
from agent.tools.results import success_result
from agent.transcript import AssistantItem, ToolCall, ToolItem, UserItem

GOLDEN = Path(__file__).parents[2] / "golden"
SKILLS = {"en": ("guitar", "piano"), "es": ("guitarra", "piano")}
CONTEXT = RequestContext(None, datetime(2026, 11, 21, 12, tzinfo=UTC))  # a Saturday
WRITES = {*CHANGES, "save_weekly_plan"}


def _corpus(name: str) -> list[tuple[str, str]]:
    lines = {language: (GOLDEN / f"{name}.{language}.txt").read_text("utf-8").splitlines() for language in SKILLS}
    return [(language, sentence) for language, sentences in lines.items() for sentence in sentences]


def _report(names: tuple[str, ...]) -> str:
    reports = tuple(
        {
            "id": name, "name": name, "emoji": "🎵", "archived": False, "total_minutes": 60, "total": "1 h",
            "level": "seed", "minutes_to_next_level": 5_940, "next_level": "apprentice", "goal_minutes": 600_000,
            "percent_of_goal": 0.01,
        }
        for name in names
    )  # fmt: skip
    return success_result(SkillsReport.model_validate({"skills": reports}).model_dump(mode="json"))


def _calls(text: str, names: tuple[str, ...]) -> list[str]:
    """The calls the coach makes about one message, once it knows the person's skills."""
    tools = tuple(ToolSpec(name, "", {}) for name in sorted({*WRITES, "get_user_skills"}))
    items = (
        UserItem(text),
        AssistantItem("", (ToolCall("c1", "get_user_skills", "{}"),)),
        ToolItem("c1", "get_user_skills", _report(names)),
    )
    answer = OfflineCoach().answer(ModelRequest(SystemPrompt(), items, tools, context=CONTEXT))
    return [call.name for call in answer.calls]


class TestCorpora:
    def test_there_are_two_hundred_sentences_a_language(self):
        """So that one rule for one sentence does not get far."""
        counts = [sum(language == wanted for language, _ in _corpus("logs_nothing")) for wanted in SKILLS]
        assert min(counts) >= 200

    @pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.gate)])
    @pytest.mark.parametrize("names", ["known", "none"])
    def test_nothing_is_written_that_is_not_surely_practice(self, names: str, every: int):
        """Asked, denied, planned, wished, of others, of timers and lessons: not one write."""
        wrong = [
            (sentence, calls)
            for language, sentence in _corpus("logs_nothing")[::every]
            if WRITES & set(calls := _calls(sentence, SKILLS[language] if names == "known" else ()))
        ]
        assert [] == wrong

    def test_what_is_surely_practice_is_logged(self):
        """At once, without asking back."""
        missed = [
            sentence
            for language, sentence in _corpus("logs_practice")
            if _calls(sentence, SKILLS[language]) != ["log_practice"]
        ]
        assert [] == missed


class TestShapes:
    def test_a_word_that_no_shape_has_a_place_for_makes_a_correction_unsure(self):
        """Whatever the word is, and wherever it stands."""
        words = ["actually", "it", "was", "60", "minutes"]
        assert Reading.CORRECTION == read_sentence(" ".join(words), ("guitar",))
        sentences = (
            " ".join([*words[:at], word, *words[at:]])
            for word in ("if", "tomorrow", "brother", "never", "want", "lesson", "said", "kidding", "late")
            for at in range(len(words) + 1)
        )
        assert [] == [said for said in sentences if read_sentence(said, ("guitar",)) is Reading.CORRECTION]

    @given(st.text(max_size=60), st.text(max_size=60))
    def test_any_text_can_be_read(self, before: str, after: str):
        """Nothing raises."""
        assert isinstance(read_sentence(f"{before}45m{after}", ("guitar", before, "")), Reading)

    def test_a_long_message_is_no_correction(self):
        """It says more than one thing."""
        assert Reading.OTHER == read_sentence("actually it was 45m guitar " + "scales " * MAX_CHARS, ("guitar",))
