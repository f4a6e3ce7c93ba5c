"""The coach's tools, each through its declared schema."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from pydantic import ValidationError

from agent.coach.practice import Insight, InsightType, WeeklyPlan
from agent.coach.texts import say
from agent.coach.tools import CoachTools
from agent.ports import LocalEffect
from agent.tools.base import Effect, ToolContext, ToolError, tools_of
from gateway.coach import writer
from tests.fakes.practice_reader import ANA, BEA, NOW, TODAY, FakePractice, a_skill


def some_practice() -> FakePractice:
    practice = FakePractice()
    practice.log("Guitar", TODAY - timedelta(days=40), 60)
    practice.log("Guitar", TODAY - timedelta(days=1), 30, "scales")
    practice.log("Guitar", TODAY, 45)
    practice.known.append(a_skill("Chess", archived=True))
    return practice


async def call(name: str, arguments: dict[str, object], reader: FakePractice | None = None, principal=ANA):
    """Run one tool as the pipeline does: arguments through the schema, the person from the context."""
    tools = {tool.name: tool for tool in tools_of(CoachTools(reader or some_practice(), writer))}
    tool = tools[name]
    return await tool.run(ToolContext(principal, NOW, "turn/0/0"), tool.arguments.model_validate(arguments))


LIMA = replace(ANA, timezone="America/Lima")


class TestDeclarations:
    def test_reads_may_run_together_and_changes_are_commands(self):
        for tool in tools_of(CoachTools(FakePractice(), writer)):
            assert tool.effect in {Effect.NONE, Effect.LOCAL}
            assert (tool.effect is Effect.NONE) == tool.concurrency_safe

    def test_what_is_shown_while_a_tool_runs_has_no_fields(self):
        shown = [say("en", tool.says) for tool in tools_of(CoachTools(FakePractice(), writer)) if tool.says]
        assert "Writing it down" in shown
        assert [] == [text for text in shown if "{" in text], "nothing fills them"

    def test_no_tool_has_an_argument_that_names_a_person(self):
        """Cover A49."""
        for tool in tools_of(CoachTools(FakePractice(), writer)):
            names = set(tool.spec.schema.get("properties", {}))
            assert not {name for name in names if "user" in name or "tenant" in name or "person" in name}


class TestReads:
    async def test_a_made_up_user_id_is_refused(self):
        """Cover A49."""
        with pytest.raises(ValidationError, match="user_id"):
            await call("get_user_skills", {"user_id": "u1"}, principal=BEA)
        assert {"skills": []} == await call("get_user_skills", {}, principal=BEA)
        assert all(
            one.spec.schema["additionalProperties"] is False for one in tools_of(CoachTools(FakePractice(), writer))
        )

    async def test_skills_come_with_their_numbers(self):
        answer = await call("get_user_skills", {})
        (guitar,) = answer["skills"]
        assert (135, "2 h 15 min", "Seed", 100 * 60 - 135) == (
            guitar["total_minutes"],
            guitar["total"],
            guitar["level"],
            guitar["minutes_to_next_level"],
        )

    async def test_archived_skills_are_listed_when_asked_for(self):
        answer = await call("get_user_skills", {"include_archived": True})
        assert ["Guitar", "Chess"] == [skill["name"] for skill in answer["skills"]]

    @pytest.mark.parametrize("skill", ["guitar", "GUITAR", " Guitar "])
    async def test_sessions_of_the_last_days_by_id_or_name(self, skill):
        answer = await call("get_practice_sessions", {"skill_id": skill})
        assert [("2026-03-04", 45, ""), ("2026-03-03", 30, "scales")] == [
            (row["date"], row["minutes"], row["notes"]) for row in answer["sessions"]
        ]
        assert (75, 2) == (answer["total_minutes"], answer["found"])

    async def test_an_unknown_skill_is_named_with_the_known_ones(self):
        with pytest.raises(ToolError, match=r"no skill 'violin'.*Guitar, Chess"):
            await call("get_practice_sessions", {"skill_id": "violin"})

    async def test_sql_in_a_skill_id_is_literal(self):
        """Cover A50."""
        with pytest.raises(ToolError, match="no skill"):
            await call("get_practice_sessions", {"skill_id": "' OR 1=1 --"})

    async def test_entries_are_totals_of_a_range_or_a_weekday(self):
        month = {"since": str(TODAY - timedelta(days=30)), "until": "today", "totals_only": True}
        answer = await call("get_entries", {"skill": "guitar", **month})
        assert (75, 2, {"Guitar": 75}, []) == tuple(
            answer[name] for name in ("total_minutes", "days", "minutes_by_skill", "entries")
        )
        answer = await call("get_entries", {"weekday": TODAY.weekday()})
        assert (45, [45]) == (answer["total_minutes"], [row["minutes"] for row in answer["entries"]])

    async def test_a_chart_of_more_weeks_than_are_drawn_says_what_was_asked(self):
        effect = await call("plot_progress", {"weeks": 104})
        assert 104 == effect.arguments[0]["wanted_weeks"] and 7 == len(effect.arguments[0]["weeks"])

    async def test_the_journey_knows_streaks_bests_and_the_goal(self):
        answer = await call("get_journey_stats", {})
        assert (135, 2, 60) == (
            answer["overall"]["total_minutes"],
            answer["overall"]["current_streak_days"],
            answer["overall"]["best_day"]["minutes"],
        )
        (guitar,) = answer["skills"]
        assert 600_000 - 135 == guitar["goal"]["minutes_left"]

    async def test_patterns_are_of_all_practice_or_one_skill(self):
        practice = some_practice()
        practice.log("Piano", TODAY, 15)
        overall = await call("analyze_practice_patterns", {}, practice)
        piano = await call("analyze_practice_patterns", {"skill_id": "piano"}, practice)
        assert (4, 1) == (overall["sessions_analysed"], piano["sessions_analysed"])

    async def test_only_500_sessions_are_analysed(self):
        practice = FakePractice()
        for day in range(600):
            practice.log("Guitar", TODAY - timedelta(days=day % 300), 5)
        assert 500 == (await call("analyze_practice_patterns", {}, practice))["sessions_analysed"]


class TestChanges:
    async def test_a_log_uses_the_known_skill(self):
        assert LocalEffect(writer.log, "chess", 30, TODAY, "endgames") == await call(
            "log_practice", {"skill": "CHESS", "minutes": 30, "notes": "endgames"}
        )

    @pytest.mark.parametrize(
        ("said", "day"),
        [(None, TODAY), ("today", TODAY), ("Yesterday", TODAY - timedelta(days=1)), ("2026-01-02", date(2026, 1, 2))],
    )
    async def test_a_day_is_said_in_words_or_iso(self, said, day):
        assert LocalEffect(writer.log, "Violin", 30, day, "") == await call(
            "log_practice", {"skill": "Violin", "minutes": 30, "date": said}
        )

    @pytest.mark.parametrize(
        ("said", "zone", "day"),
        [
            ("2026-02-20T18:30:00Z", "UTC", date(2026, 2, 20)),
            ("2026-02-20t18:30:00z", "UTC", date(2026, 2, 20)),
            ("2026-02-20T23:30:00Z", "Europe/Madrid", date(2026, 2, 21)),
            ("2026-02-20T01:30:00.123+09:00", "America/Lima", date(2026, 2, 19)),
            ("2026-02-20T23:30:00", "Asia/Tokyo", date(2026, 2, 20)),
            ("2026-02-20 07:15", "Asia/Tokyo", date(2026, 2, 20)),
        ],
    )
    async def test_an_instant_is_a_day_of_the_persons(self, said, zone, day):
        principal = replace(ANA, timezone=zone)
        command = await call("log_practice", {"skill": "Violin", "minutes": 30, "date": said}, principal=principal)
        assert LocalEffect(writer.log, "Violin", 30, day, "") == command
        changed = await call("edit_session", {"date": said}, principal=principal)
        assert day == changed.arguments[2]

    @pytest.mark.parametrize("said", ["0001-01-01T00:00:00+14:00", "2026-02-30T00:00:00Z", "2026-02-20T25:00Z", "T"])
    async def test_an_impossible_instant_is_no_date(self, said):
        with pytest.raises(ToolError, match="is no date"):
            await call("log_practice", {"skill": "Violin", "minutes": 30, "date": said}, principal=LIMA)

    async def test_the_date_is_that_of_the_persons_zone(self):
        principal = replace(ANA, timezone="Pacific/Kiritimati")
        command = await call("log_practice", {"skill": "Violin", "minutes": 30}, principal=principal)
        assert LocalEffect(writer.log, "Violin", 30, TODAY + timedelta(days=1), "") == command

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"skill": "Violin", "minutes": 30, "date": "2026-03-05"}, "has not come yet"),
            ({"skill": "Violin", "minutes": 30, "date": "soon"}, "is no date"),
            ({"skill": "🎻", "minutes": 30}, "letters"),
            ({"skill": "v" * 65, "minutes": 30}, "too long"),
        ],
    )
    async def test_an_impossible_log_says_why(self, arguments, words):
        with pytest.raises(ToolError, match=words):
            await call("log_practice", arguments)

    @pytest.mark.parametrize("minutes", [0, -1, 1441, "many", None])
    async def test_minutes_out_of_range_are_refused_by_the_schema(self, minutes):
        with pytest.raises(ValidationError):
            await call("log_practice", {"skill": "Violin", "minutes": minutes})

    async def test_an_edit_names_what_changes(self):
        changed = await call("edit_session", {"minutes": 60})
        assert LocalEffect(writer.edit_session, None, 60, None, None, None) == changed
        with pytest.raises(ToolError, match="what to change"):
            await call("edit_session", {"session_id": "s1"})

    async def test_undo_and_create_are_commands(self):
        assert LocalEffect(writer.undo_last_log) == await call("undo_last_log", {})
        assert LocalEffect(writer.create_skill, "Bass guitar", None, None, 600_000) == await call(
            "create_skill", {"name": " Bass  guitar"}
        )

    async def test_a_plan_is_of_the_persons_own_week(self):
        principal = replace(ANA, week_start=6)
        insight = {"type": "streak", "title": "Two days", "description": "in a row"}
        command = await call("save_weekly_plan", {"content": "# Plan", "insights": [insight]}, principal=principal)
        expected = (Insight(InsightType.STREAK, "Two days", "in a row"),)
        assert LocalEffect(writer.save_plan, WeeklyPlan(date(2026, 3, 1), "# Plan", expected, ("guitar",))) == command
