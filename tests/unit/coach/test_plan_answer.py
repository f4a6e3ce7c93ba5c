"""A written plan, parsed."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.coach.plan_answer import FENCE, PlanStream, plan_block, read_plan
from agent.coach.plan_data import PlanFrame
from agent.coach.practice import Insight, InsightType, PlannedSession
from agent.coach.reports import skill_report
from tests.fakes.practice_reader import TODAY, a_skill

DAYS = tuple(TODAY + timedelta(days=ahead) for ahead in range(5))
FRAME = PlanFrame(week=TODAY, days=DAYS, is_next=False, most_minutes={"guitar": 60}, minutes_done=0)
SKILLS = (skill_report(a_skill("Guitar", "g1")),)
BLOCK = f"""{FENCE}
{{"insights": [{{"type": "progress", "title": "Bars 5 to 8", "description": "They hold.", "skill": "guitar"}},
 {{"type": "nonsense", "title": "x"}}, "no object"],
 "sessions": [{{"date": "{DAYS[1]}", "skill": "GUITAR", "minutes": 45}},
 {{"date": "{DAYS[0]}", "skill": "Oboe", "minutes": 90}},
 {{"date": "{TODAY - timedelta(days=1)}", "skill": "Guitar", "minutes": 30}}, {{"date": "soon"}}]}}
```"""


class TestReading:
    def test_the_models_own_findings_and_sessions_are_read(self):
        plan = read_plan(f"## Plan\n\nPlay.\n\n{BLOCK}\n", SKILLS, FRAME)
        assert "## Plan\n\nPlay." == plan.text
        assert (Insight(InsightType.PROGRESS, "Bars 5 to 8", "They hold.", "g1"),) == plan.insights
        assert (PlannedSession(DAYS[0], "Oboe", 30), PlannedSession(DAYS[1], "Guitar", 45)) == plan.sessions
        assert ("Oboe",) == plan.cut

    def test_words_alone_are_a_plan(self):
        for text in ("Play.", f"Play.\n\n{FENCE}\n{{broken\n```", f"Play.\n\n{FENCE}\n[1]\n```", f"Play.\n\n{FENCE}\n"):
            plan = read_plan(text, SKILLS, FRAME)
            assert ("Play.", (), (), ()) == (plan.text, plan.insights, plan.sessions, plan.cut)

    def test_the_rules_write_what_is_read_back(self):
        sessions = (PlannedSession(DAYS[0], "Guitar", 30),)
        assert sessions == read_plan(f"Play.\n\n{plan_block(sessions)}", SKILLS, FRAME).sessions


class TestStream:
    @given(st.text("a `pln\n", max_size=40), st.lists(st.integers(1, 9), max_size=30))
    def test_the_block_is_never_shown_and_all_else_is(self, words: str, cuts: list[int]):
        for text in (words, f"{words}{FENCE}\n{{}}\n```"):
            stream, shown, at = PlanStream(), "", 0
            for length in (*cuts, len(text)):
                shown += stream.feed(text[at : at + length])
                at += length
            shown += stream.rest()
            expected = text[: text.find(FENCE)].rstrip() if FENCE in text else text
            assert expected.rstrip() == shown.rstrip()
