"""Changes of practice data, each applied once per key, and the coach's reader over the store.

`apply` is a plain function over a connection: it belongs into the commit that journals its result. A change that
breaks a rule changes nothing and gives `ChangeRefused`; that is a result too, and kept like one.
"""

import json
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TypeVar

import sqlalchemy as sa

from agent.calendar import today_of
from agent.coach.changes import (
    CHANGE_RESULT,
    ArchiveSkill,
    ChangeRefused,
    ChangeResult,
    CreateSkill,
    DeleteSession,
    EditSession,
    EditSkill,
    EntryChanged,
    LogPractice,
    LogUndone,
    MergeSkills,
    PlanSaved,
    PracticeLogged,
    SaveWeeklyPlan,
    SessionEdited,
    SetWeeklyGoal,
    SkillArchived,
    SkillCreated,
    UndoLastLog,
)
from agent.coach.chart import ChartPlotted, PlotChart, PlottedFile
from agent.coach.chart_picture import MIME
from agent.coach.practice import (
    DAY_MINUTES,
    DayTotal,
    PracticeRefused,
    PracticeSession,
    Refusal,
    Skill,
    WeeklyPlan,
    check_entry,
    clean_notes,
)
from agent.coach.reminder_changes import CancelReminders, SetReminder
from agent.coach.reminders import Reminder
from agent.coach.texts import explain
from agent.coach.timer_changes import (
    ForgetPractice,
    ImportPractice,
    StartTimer,
    StopTimer,
    TimerDiscarded,
)
from agent.language import DEFAULT
from agent.ports import LocalCommand, Principal
from gateway.coach import practice_changes, reminder_rows
from gateway.coach import practice_rows as rows
from gateway.coach.tables import practice_effects, practice_sessions, skills, weekly_plans
from gateway.store.dialect import upsert
from gateway.store.engine import Store
from gateway.store.outbox import file_id, put_file
from gateway.store.tables.base import new_id

Entry = TypeVar("Entry", bound=EntryChanged)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Whom a change is for, when, and what it is known by."""

    connection: sa.Connection
    principal: Principal
    key: str
    now: datetime


def apply(
    connection: sa.Connection, principal: Principal, command: LocalCommand, key: str, now: datetime
) -> ChangeResult:
    """Make one change for one person, once: the same key again changes nothing and gives the first result."""
    mine = rows.own(practice_effects, principal)
    query = sa.select(practice_effects.c.result).where(mine, practice_effects.c.key == key)
    before = connection.execute(query).scalar()
    if before is not None:
        return CHANGE_RESULT.validate_json(before)
    result: ChangeResult
    try:
        result = _change(_Scope(connection, principal, key, now), command)
    except PracticeRefused as refused:  # raised before anything is written
        result = ChangeRefused(refused=refused.refusal.value, detail=refused.detail, message=explain(DEFAULT, refused))
    connection.execute(
        practice_effects.insert(),
        {**_owner(principal), "key": key, "result": result.model_dump_json(), "applied_at": now},
    )
    return result


def _change(scope: _Scope, command: LocalCommand) -> ChangeResult:
    match command:
        case LogPractice():
            return _log(scope, command)
        case CreateSkill():
            return _create(scope, command)
        case UndoLastLog():
            return _undo(scope, rows.last_logged(scope.connection, scope.principal), Refusal.NOTHING_TO_UNDO)
        case DeleteSession(session_id=id_):
            found = rows.find_session(scope.connection, scope.principal, id_)
            return _undo(scope, found, Refusal.UNKNOWN_SESSION)
        case EditSession():
            return _edit(scope, command)
        case SaveWeeklyPlan():
            return _save_plan(scope, command)
        case ArchiveSkill():
            return _archive(scope, command)
    return _change_more(scope, command)


def _change_more(scope: _Scope, command: LocalCommand) -> ChangeResult:
    match command:
        case EditSkill():
            return practice_changes.edit_skill(scope.connection, scope.principal, command)
        case MergeSkills():
            return practice_changes.merge_skills(scope.connection, scope.principal, command)
        case SetWeeklyGoal():
            return practice_changes.set_weekly_goal(scope.connection, scope.principal, command)
        case SetReminder():
            return reminder_rows.set_reminder(scope.connection, scope.principal, command, scope.key, scope.now)
        case CancelReminders():
            return reminder_rows.cancel_reminders(scope.connection, scope.principal, command)
    return _change_rest(scope, command)


def _change_rest(scope: _Scope, command: LocalCommand) -> ChangeResult:
    match command:
        case StartTimer():
            return practice_changes.start_timer(scope.connection, scope.principal, command, scope.now)
        case StopTimer():
            return _stop_timer(scope, command)
        case ImportPractice():
            return practice_changes.import_entries(scope.connection, scope.principal, command, scope.key, scope.now)
        case ForgetPractice():
            return practice_changes.forget_practice(scope.connection, scope.principal, scope.now)
        case PlotChart():
            return _plot(scope, command)
    raise TypeError(f"no practice command: {type(command).__name__}")


def _plot(scope: _Scope, command: PlotChart) -> ChartPlotted:
    """Keep the picture under the call's key, by which the answer finds it."""
    if not command.png:
        return ChartPlotted(file=None, chart=command.chart)
    put_file(scope.connection, scope.principal.tenant, file_id(scope.key), command.png, scope.now)
    file = PlottedFile(name=command.name, mime=MIME, description=command.description)
    return ChartPlotted(file=file, chart=command.chart)


def _log(scope: _Scope, command: LogPractice) -> PracticeLogged:
    _check_day(scope, command.minutes, command.day)
    known, skill = _take_up_skill(scope, command.skill)
    session = PracticeSession(new_id(), skill.id, command.minutes, command.day, clean_notes(command.notes))
    scope.connection.execute(
        practice_sessions.insert().values({
            "tenant_id": scope.principal.tenant, "user_id": rows.holder_of(skill.id),
            "id": session.id, "skill_id": skill.id, "minutes": session.minutes,
            "local_date": session.day, "zone": scope.principal.timezone, "notes": session.notes,
            "effect_key": scope.key, "created_at": scope.now, "undone_at": None,
        })
    )  # fmt: skip
    total = skill.total_minutes + session.minutes
    new, back = known is None, skill.archived
    return _about(PracticeLogged, session, skill, total, created_skill=new, brought_back=back)


def _take_up_skill(scope: _Scope, name_or_id: str) -> tuple[Skill | None, Skill]:
    """The skill as it was known, None where it was not, and as it is practised now: there, and not put away."""
    known = rows.find_skill(scope.connection, scope.principal, name_or_id)
    skill = known or practice_changes.insert_skill(
        scope.connection, scope.principal, CreateSkill(name_or_id), scope.now
    )
    if skill.archived:
        _set_archived(scope, skill, False)
    return known, skill


def _create(scope: _Scope, command: CreateSkill) -> SkillCreated:
    known = rows.find_skill(scope.connection, scope.principal, command.name)
    skill = known or practice_changes.insert_skill(scope.connection, scope.principal, command, scope.now)
    if skill.archived:
        _set_archived(scope, skill, False)
    return SkillCreated(
        skill_id=skill.id,
        skill=skill.name,
        emoji=skill.emoji,
        goal_minutes=skill.goal_minutes,
        created_skill=known is None,
        brought_back=skill.archived,
    )


def _stop_timer(scope: _Scope, command: StopTimer) -> PracticeLogged | TimerDiscarded:
    skill, minutes, day = practice_changes.stop_timer(scope.connection, scope.principal, command, scope.now)
    if command.discards:
        return TimerDiscarded(discarded_minutes=minutes, timer_skill=skill)
    return _log(scope, LogPractice(skill, minutes, day, command.notes))


def _undo(scope: _Scope, session: PracticeSession | None, missing: Refusal) -> LogUndone:
    if session is None:
        raise PracticeRefused(missing)
    skill = _skill_of(scope, session)
    mine = sa.and_(rows.own(practice_sessions, scope.principal), practice_sessions.c.id == session.id)
    scope.connection.execute(sa.update(practice_sessions).where(mine).values(undone_at=scope.now))
    left = skill.total_minutes - session.minutes
    only_for_it = not left and _born_with(scope, session)
    if only_for_it:
        _set_archived(scope, skill, True)
    return _about(LogUndone, session, skill, left, archived_skill=only_for_it)


def _edit(scope: _Scope, command: EditSession) -> SessionEdited:
    connection, principal = scope.connection, scope.principal
    if command.session_id is None:
        session = rows.last_logged(connection, principal)
    else:
        session = rows.find_session(connection, principal, command.session_id)
    if session is None:
        raise PracticeRefused(Refusal.UNKNOWN_SESSION)
    was = _skill_of(scope, session)
    skill = was if command.skill is None else _take_up_skill(scope, command.skill)[1]
    edited = replace(
        session,
        skill_id=skill.id,
        minutes=session.minutes if command.minutes is None else command.minutes,
        day=command.day or session.day,
        notes=session.notes if command.notes is None else clean_notes(command.notes),
    )
    _check_day(scope, edited.minutes, edited.day, beside=session.id)
    if skill.id != was.id and was.total_minutes == session.minutes and _born_with(scope, session):
        _set_archived(scope, was, True)
    connection.execute(
        sa.update(practice_sessions)
        .where(rows.own(practice_sessions, principal), practice_sessions.c.id == session.id)
        .values(
            user_id=rows.holder_of(skill.id),
            skill_id=skill.id,
            minutes=edited.minutes,
            local_date=edited.day,
            notes=edited.notes,
        )
    )
    total = skill.total_minutes + edited.minutes - (session.minutes if skill.id == was.id else 0)
    return _about(SessionEdited, edited, skill, total, minutes_before=session.minutes)


def _save_plan(scope: _Scope, command: SaveWeeklyPlan) -> PlanSaved:
    mine = {skill.id for skill in rows.all_skills(scope.connection, scope.principal, include_archived=True)}
    insights = tuple(
        insight if insight.skill_id in mine else replace(insight, skill_id=None) for insight in command.insights
    )
    replaced = rows.plan_of(scope.connection, scope.principal, command.week) is not None
    scope.connection.execute(
        upsert(scope.connection, weekly_plans, ("content", "insights", "skill_ids", "sessions", "saved_at")),
        {
            **_owner(scope.principal), "week": command.week, "content": command.content,
            "insights": rows.INSIGHTS.dump_json(insights).decode(),
            "skill_ids": json.dumps([skill_id for skill_id in command.skill_ids if skill_id in mine]),
            "sessions": rows.PLANNED.dump_json(command.sessions).decode(),
            "saved_at": scope.now,
        },
    )  # fmt: skip
    return PlanSaved(week=command.week, replaced=replaced, content=command.content, insights=insights)


def _archive(scope: _Scope, command: ArchiveSkill) -> SkillArchived:
    skill = rows.find_skill(scope.connection, scope.principal, command.skill)
    if skill is None:
        raise PracticeRefused(Refusal.UNKNOWN_SKILL, command.skill)
    _set_archived(scope, skill, command.archived)
    return SkillArchived(skill_id=skill.id, skill=skill.name, emoji=skill.emoji, archived=command.archived)


def _check_day(scope: _Scope, minutes: int, day: date, beside: str = "") -> None:
    check_entry(minutes, day, today_of(scope.principal, scope.now))
    if minutes + rows.minutes_on(scope.connection, scope.principal, day, beside) > DAY_MINUTES:
        raise PracticeRefused(Refusal.DAY_FULL, day.isoformat())


def _set_archived(scope: _Scope, skill: Skill, archived: bool) -> None:
    mine = sa.and_(rows.own(skills, scope.principal), skills.c.id == skill.id)
    scope.connection.execute(sa.update(skills).where(mine).values(archived=archived))


def _skill_of(scope: _Scope, session: PracticeSession) -> Skill:
    skill = rows.find_skill(scope.connection, scope.principal, session.skill_id)
    if skill is None:
        raise LookupError("a session's skill is not there, against its foreign key")
    return skill


def _born_with(scope: _Scope, session: PracticeSession) -> bool:
    """Whether the log of this session created the skill."""
    query = sa.select(skills.c.id).join(practice_sessions, practice_sessions.c.skill_id == skills.c.id)
    same = practice_sessions.c.created_at == skills.c.created_at
    mine = rows.own(practice_sessions, scope.principal)
    return scope.connection.execute(query.where(mine, practice_sessions.c.id == session.id, same)).first() is not None


def _owner(principal: Principal) -> dict[str, str]:
    return {"tenant_id": principal.tenant, "user_id": principal.user_id}


def _about(kind: type[Entry], session: PracticeSession, skill: Skill, total_minutes: int, **more: int) -> Entry:
    """A result about this session; `more` are the fields that only this kind has."""
    fields = {
        "session_id": session.id,
        "skill_id": skill.id,
        "skill": skill.name,
        "emoji": skill.emoji,
        "minutes": session.minutes,
        "date": session.day,
        "notes": session.notes,
        "total_minutes": total_minutes,
    }
    return kind.model_validate(fields | more)


class StoredPractice:
    """The coach's `PracticeReader` over the store's readers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def skills(self, principal: Principal, *, include_archived: bool = False) -> tuple[Skill, ...]:
        """The skills, the most practised first, then by name."""
        return await self._store.read(
            lambda connection: rows.all_skills(connection, principal, include_archived), lasting=True
        )

    async def sessions(
        self, principal: Principal, *, skill_id: str | None = None, since: date | None = None, limit: int = 500
    ) -> tuple[PracticeSession, ...]:
        """The newest sessions first, at most `limit`, from `since` on."""
        return await self._store.read(
            lambda connection: rows.sessions(connection, principal, skill_id, since, limit), lasting=True
        )

    async def days(self, principal: Principal) -> tuple[DayTotal, ...]:
        """All practice there is, summed by skill and date, the oldest date first."""
        return await self._store.read(lambda connection: rows.day_totals(connection, principal), lasting=True)

    async def plan(self, principal: Principal, week: date) -> WeeklyPlan | None:
        """The plan of the week that began on this day."""
        return await self._store.read(lambda connection: rows.plan_of(connection, principal, week), lasting=True)

    async def weekly_goal(self, principal: Principal) -> int | None:
        """The minutes a week that they set themselves; None: they set none."""
        return await self._store.read(lambda connection: rows.weekly_goal(connection, principal), lasting=True)

    async def reminders(self, principal: Principal) -> tuple[Reminder, ...]:
        """Those that are to come, the next first."""
        return await self._store.read(
            lambda connection: reminder_rows.all_reminders(connection, principal), lasting=True
        )
