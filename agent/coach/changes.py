"""Texts about changes of practice data, made from the JSON object that the gateway's writer returns."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from agent.catalogue import escape
from agent.coach.chart import ChartReport, caption_text, chart_text
from agent.coach.check_ins import beginning_of_week
from agent.coach.durations import spell_minutes
from agent.coach.plan_conditions import PlanConditions, conditions_text
from agent.coach.practice import GOAL_MINUTES, level_of, say_level
from agent.coach.reminders import say_when
from agent.coach.texts import COACH_TEXTS, say, say_colour, say_date

ChangeResult = Mapping[str, Any]
"""`change` is what was done, a key of `_TEXTS`; the other fields are those of its writer function. Dates are ISO."""


def read_change(data: Mapping[str, object]) -> ChangeResult | None:
    """Return a tool's data if it is the result of a change, refused or made."""
    return data if data.get("change") in _TEXTS else None


def change_text(language: str, result: ChangeResult, today: date) -> str:
    """Return one short paragraph: the change, and the total it led to; "" for a plan, whose text is the answer."""
    return _TEXTS[result["change"]](language, result, today)


def _spell(language: str, result: ChangeResult, today: date) -> dict[str, str]:
    """Return the fields as a sentence has them: `total_minutes` is spelled out as `total`, names are literal."""
    spelled: dict[str, str] = {}
    for name, value in result.items():
        if name.endswith("minutes"):
            spelled[name.removesuffix("_minutes")] = spell_minutes(value or 0)
        elif name == "date":
            spelled[name] = say_date(language, date.fromisoformat(value), today)
        elif name == "colour":
            spelled[name] = say_colour(language, value)
        elif isinstance(value, str):
            spelled[name] = value if name == "emoji" else escape(value)
    return spelled


def _says(key: str) -> Callable[[str, ChangeResult, date], str]:
    """Return a text that is one sentence of the catalogue, over the result's fields."""
    return lambda language, result, today: say(language, key, **_spell(language, result, today))


def _counts(key: str, field: str) -> Callable[[str, ChangeResult, date], str]:
    """Return a text that is one sentence of the catalogue, in the plural of this field."""
    return lambda language, result, today: COACH_TEXTS.plural(
        language, key, result[field], **_spell(language, result, today)
    )


def _logged_text(language: str, result: ChangeResult, today: date) -> str:
    values, level = _spell(language, result, today), level_of(result["total_minutes"])
    day, on = date.fromisoformat(result["date"]), ""
    if day == today - timedelta(days=1):
        on = f" ({values['date']})"
    elif day != today:
        on = say(language, "day.on", date=values["date"])
    notes = f" ({values['notes']})" if result["notes"] else ""
    spelled = say_level(language, level)
    sentences = [say(language, "change.logged", **(values | {"day": on, "notes": notes, "level": spelled}))]
    if level_of(result["total_minutes"] - result["minutes"]) != level:
        sentences.append(say(language, "change.level_up", level=spelled))
    if result["created_skill"]:
        goal = spell_minutes(GOAL_MINUTES)
        sentences.append(say(language, "change.new_skill", skill=values["skill"], goal=goal))
    elif result["brought_back"]:
        sentences.append(say(language, "change.brought_back", skill=values["skill"]))
    return " ".join(sentences)


def _edited_text(language: str, result: ChangeResult, today: date) -> str:
    key = "change.edited_else" if result["before_minutes"] == result["minutes"] else "change.edited"
    return say(language, key, **_spell(language, result, today))


def _undone_text(language: str, result: ChangeResult, today: date) -> str:
    text = say(language, "change.undone", **_spell(language, result, today))
    return f"{text} {say(language, 'change.undone_skill')}" if result["archived_skill"] else text


def _created_text(language: str, result: ChangeResult, today: date) -> str:
    key = "change.brought_back" if result["brought_back"] else "change.already_there"
    key = "change.created" if result["created_skill"] else key
    return say(language, key, **_spell(language, result, today))


def _skill_edited_text(language: str, result: ChangeResult, today: date) -> str:
    """Return a sentence for each thing that was changed."""
    values = _spell(language, result, today)
    keys = {
        "archived": "change.archived" if result["archived"] else "change.restored",
        "weekly_minutes": "change.skill_weekly_minutes" if result["weekly_minutes"] else "change.skill_weekly_off",
    }
    return " ".join(say(language, keys.get(field, f"change.skill_{field}"), **values) for field in result["changed"])


def _week_goal_text(language: str, result: ChangeResult, today: date) -> str:
    key = "change.week_goal" if result["goal_minutes"] else "change.week_goal_off"
    return say(language, key, **_spell(language, result, today))


def _plan_conditions_text(language: str, result: ChangeResult, _today: date) -> str:
    conditions = PlanConditions(tuple(result["weekdays_off"]), result["most_day_minutes"])
    key = "change.plan_conditions" if (kept := conditions_text(language, conditions)) else "change.plan_conditions_off"
    return say(language, key, conditions=kept)


def _check_in_text(language: str, result: ChangeResult, _today: date) -> str:
    key = f"check_in.{result['kind']}_{'on' if result['on'] else 'off'}"
    return say(language, key, **beginning_of_week(language, result["week_start"]))


def _reminder_set_text(language: str, result: ChangeResult, today: date) -> str:
    day = None if result["day"] is None else date.fromisoformat(result["day"])
    values = _spell(language, result, today) | {
        "when": say_when(language, result["weekdays"], day, today),
        "about": say(language, "remind.about", about=escape(result["about"])) if result["about"] else "",
        "next": say_when(language, (), date.fromisoformat(result["next_day"]), today),
        "time": result["at"],
        "now": result["now"],
    }
    text = say(language, "remind.set" if day is None else "remind.set_once", **values)
    return f"{text} {say(language, 'remind.zone_unsure')}" if result["zone"] == "UTC" else text


def _imported_text(language: str, result: ChangeResult, _today: date) -> str:
    said = [COACH_TEXTS.plural(language, "import.done", result["imported"])]
    if result["new_skills"]:
        said.append(say(language, "import.new_skills", skills=", ".join(map(escape, result["new_skills"]))))
    if result["already_there"]:
        said.append(COACH_TEXTS.plural(language, "import.already", result["already_there"]))
    if result["over_a_day"]:
        said.append(COACH_TEXTS.plural(language, "import.over_a_day", result["over_a_day"]))
    return " ".join(said)


_TEXTS: dict[object, Callable[[str, ChangeResult, date], str]] = {
    "refused": lambda language, result, today: _says(f"problem.{result['refused']}")(language, result, today),
    "logged": _logged_text,
    "edited": _edited_text,
    "undone": _undone_text,
    "restored": _says("change.restored_entry"),
    "created": _created_text,
    "skill_edited": _skill_edited_text,
    "merged": _counts("change.merged", "sessions_moved"),
    "week_goal": _week_goal_text,
    "check_in": _check_in_text,
    "plan_conditions": _plan_conditions_text,
    "plan_saved": lambda _language, _result, _today: "",
    "reminder_set": _reminder_set_text,
    "reminders_cancelled": _counts("remind.cancelled", "count"),
    "timer_started": _says("timer.started"),
    "timer_discarded": _says("timer.discarded"),
    "timer_too_short": _says("timer.too_short"),
    "imported": _imported_text,
    "forgotten": _counts("forget.done", "sessions_deleted"),
    "chart_sent": lambda language, result, _today: (caption_text if result["file"] else chart_text)(
        language, ChartReport.model_validate(result["chart"])
    ),
}
