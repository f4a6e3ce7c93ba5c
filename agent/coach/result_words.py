"""A tool's result in the words that the rules have for it, for turns whose model cannot say it any more."""

from collections.abc import Callable, Mapping
from datetime import date

from pydantic import BaseModel, ValidationError

from agent.coach.changes import PlanSaved, change_text, read_change
from agent.coach.kept_plan import kept_plan_text
from agent.coach.prose import entries_text, history_text, skills_text, stats_text
from agent.coach.reports import EntriesReport, JourneyReport, PlanReport, SessionsReport, SkillsReport
from agent.language import language_of

_REPORTS: dict[str, tuple[type[BaseModel], Callable[..., str]]] = {
    "get_user_skills": (SkillsReport, lambda language, report, _today: skills_text(language, report)),
    "get_journey_stats": (JourneyReport, lambda language, report, _today: stats_text(language, report)),
    "get_practice_sessions": (SessionsReport, lambda language, report, today: history_text(language, [report], today)),
    "get_entries": (EntriesReport, entries_text),
    "show_plan": (PlanReport, lambda language, report, _today: kept_plan_text(language, report)),
}


def tell_result(tool: str, data: object, locale: str | None, today: date) -> str | None:
    """What this result says to the person; None where the rules have no words for it."""
    if not isinstance(data, Mapping):
        return None
    language = language_of(locale)
    if tool in _REPORTS:
        report, words = _REPORTS[tool]
        try:
            return words(language, report.model_validate(data), today)
        except ValidationError:  # a shortened result
            return None
    change = read_change(data)
    if isinstance(change, PlanSaved):
        return change.content
    return (change_text(language, change, today) or None) if change is not None else None
