"""The coach's `PracticeWriter`: functions that change one person's practice data within a transaction.

Each raises PracticeRefused before it writes anything, and returns its result as a JSON object. Each change reaches the
rows of every user id of the person.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time
from typing import Any

import sqlalchemy as sa

from agent.calendar import local_date, today_of, zone_of
from agent.coach.chart_picture import MIME
from agent.coach.plan_conditions import PlanConditions
from agent.coach.practice import (
    DAY_MINUTES,
    GOAL_MINUTES,
    MAX_GOAL_MINUTES,
    MAX_TIMER_MINUTES,
    WEEK_MINUTES,
    PracticeRefused,
    PracticeSession,
    Refusal,
    Result,
    Skill,
    SkillEdit,
    WeeklyPlan,
    check_entry,
    clean_name,
    clean_notes,
    colour_for,
    emoji_for,
    name_key,
)
from agent.coach.practice_file import FileRow
from agent.ports import Change, LocalEffect
from agent.schedules.missed import Missed
from agent.schedules.rules import Daily, Once, dump_rule, exists, next_slot
from agent.wellformed import clean
from gateway.coach import practice_rows as rows
from gateway.coach.check_ins import may_ask_for_plans, watch_gap
from gateway.coach.reminder_rows import MAX_REMINDERS, all_reminders
from gateway.coach.reminder_rows import NAME as REMINDER
from gateway.coach.tables import (
    practice_check_ins,
    practice_effects,
    practice_sessions,
    practice_settings,
    practice_timers,
    skills,
    weekly_plans,
)
from gateway.inbound.session_key import agent_of
from gateway.store import people
from gateway.store.dialect import insert_new, upsert
from gateway.store.outbox import file_id, put_file
from gateway.store.people import AuditRow
from gateway.store.schedules import SCHEDULES, StoredSchedule, direct_origin, is_mine, to_json, to_wall_text
from gateway.store.tables.base import new_id

_COLOUR = re.compile(r"#[0-9a-f]{6}")
EMOJI_CHARS = 16
MAX_THERE = 100_000
"""Entries compared with those of an import."""


def once(change: Change, effect: LocalEffect) -> Result:
    """Make a change once per key, also without a journal: a repeated request gets the first result."""
    mine = rows.own(practice_effects, change.principal)
    query = sa.select(practice_effects.c.result).where(mine, practice_effects.c.key == change.key)
    before: str | None = change.tx.execute(query).scalar()
    if before is None:
        before = json.dumps(effect.run(change))
        values = {**_owner(change), "key": change.key, "result": before, "applied_at": change.now}
        change.tx.execute(practice_effects.insert(), values)
    result: Result = json.loads(before)
    return result


# ---------------------------------------------------------------- entries


def log(change: Change, skill: str, minutes: int, day: date, notes: str = "") -> Result:
    """Add a session of a skill by name or id; an unknown one is created, an archived one comes back."""
    _check_day(change, minutes, day)
    known, found = _take_up_skill(change, skill)
    session = PracticeSession(new_id(), found.id, minutes, day, clean_notes(notes))
    change.tx.execute(
        practice_sessions.insert().values({
            "tenant_id": change.principal.tenant, "user_id": rows.holder_of(found.id),
            "id": session.id, "skill_id": found.id, "minutes": minutes,
            "local_date": day, "zone": change.principal.timezone, "notes": session.notes,
            "effect_key": change.key, "created_at": change.now, "undone_at": None,
        })
    )  # fmt: skip
    watch_gap(change)
    more = {"created_skill": known is None, "brought_back": found.archived}
    return {"change": "logged", **_entry(session, found, found.total_minutes + minutes), **more}


def edit_session(
    change: Change,
    session_id: str | None = None,
    minutes: int | None = None,
    day: date | None = None,
    notes: str | None = None,
    skill: str | None = None,
) -> Result:
    """Correct a session, by default the one logged last; None leaves a field as it is."""
    if session_id is None:
        session = rows.last_logged(change.tx, change.principal)
    else:
        session = rows.find_session(change.tx, change.principal, session_id)
    if session is None:
        raise PracticeRefused(Refusal.UNKNOWN_SESSION)
    edited = replace(
        session,
        minutes=session.minutes if minutes is None else minutes,
        day=day or session.day,
        notes=session.notes if notes is None else clean_notes(notes),
    )
    _check_day(change, edited.minutes, edited.day, beside=session.id)
    was = _find_skill(change, session.skill_id)
    now = was if skill is None else _take_up_skill(change, skill)[1]
    if now.id != was.id and was.total_minutes == session.minutes and _created_skill(change, session):
        _set_archived(change, was, True)
    change.tx.execute(
        sa.update(practice_sessions)
        .where(rows.own(practice_sessions, change.principal), practice_sessions.c.id == session.id)
        .values(
            user_id=rows.holder_of(now.id),
            skill_id=now.id,
            minutes=edited.minutes,
            local_date=edited.day,
            notes=edited.notes,
        )
    )
    total = now.total_minutes + edited.minutes - (session.minutes if now.id == was.id else 0)
    return {"change": "edited", **_entry(edited, now, total), "before_minutes": session.minutes}


def undo_last_log(change: Change) -> Result:
    """Take out the session logged last, or restore the one deleted since."""
    deleted = rows.deleted_last(change.tx, change.principal)
    if deleted is not None:
        return _restore(change, deleted)
    session = rows.last_logged(change.tx, change.principal)
    if session is None:
        raise PracticeRefused(Refusal.NOTHING_TO_UNDO)
    result = _take_out(change, session)
    change.tx.execute(sa.delete(practice_sessions).where(_this(change, session)))  # a further undo does not restore it
    return result


def delete_session(change: Change, session_id: str) -> Result:
    """Delete any session; archive a skill that only it had created."""
    session = rows.find_session(change.tx, change.principal, session_id)
    if session is None:
        raise PracticeRefused(Refusal.UNKNOWN_SESSION)
    result = _take_out(change, session)
    change.tx.execute(sa.update(practice_sessions).where(_this(change, session)).values(undone_at=change.now))
    return result


def _this(change: Change, session: PracticeSession) -> sa.ColumnElement[bool]:
    return sa.and_(rows.own(practice_sessions, change.principal), practice_sessions.c.id == session.id)


def _restore(change: Change, session: PracticeSession) -> Result:
    _check_day(change, session.minutes, session.day)
    change.tx.execute(sa.update(practice_sessions).where(_this(change, session)).values(undone_at=None))
    skill = _take_up_skill(change, session.skill_id)[1]
    return {"change": "restored", **_entry(session, skill, skill.total_minutes)}


def _take_out(change: Change, session: PracticeSession) -> Result:
    """Archive a skill that only this session had created; return what is left without it."""
    skill = _find_skill(change, session.skill_id)
    left = skill.total_minutes - session.minutes
    only_for_it = not left and _created_skill(change, session)
    if only_for_it:
        _set_archived(change, skill, True)
    return {"change": "undone", **_entry(session, skill, left), "archived_skill": only_for_it}


def import_entries(change: Change, entries: Sequence[FileRow], looks: Sequence[tuple[str, SkillEdit]] = ()) -> Result:
    """Log each entry that is not there already; `looks` gives the emoji and colour of new skills."""
    by_id = {skill.id: skill for skill in rows.all_skills(change.tx, change.principal, include_archived=True)}
    by_name = {name_key(skill.name): skill for skill in by_id.values()}
    there = Counter(
        (each.day, name_key(by_id[each.skill_id].name), each.minutes, each.notes)
        for each in rows.sessions(change.tx, change.principal, None, None, MAX_THERE)
    )
    full = Counter[date]()
    for total in rows.day_totals(change.tx, change.principal):
        full[total.day] += total.minutes
    values: list[dict[str, Any]] = []
    new: list[str] = []
    already = over = 0
    for entry in entries:
        same = (entry.day, name_key(entry.skill), entry.minutes, entry.notes)
        if there[same]:
            there[same] -= 1
            already += 1
        elif full[entry.day] + entry.minutes > DAY_MINUTES:
            over += 1
        else:
            if same[1] not in by_name:
                by_name[same[1]] = _insert_skill(change, entry.skill)
                new.append(entry.skill)
            full[entry.day] += entry.minutes
            values.append(
                {
                    "tenant_id": change.principal.tenant, "id": new_id(),
                    "skill_id": by_name[same[1]].id, "minutes": entry.minutes, "local_date": entry.day,
                    "zone": change.principal.timezone, "notes": entry.notes,
                    "effect_key": f"{change.key}#{len(values)}"[-64:], "created_at": change.now, "undone_at": None,
                }
            )  # fmt: skip
    query = sa.select(skills.c.id, skills.c.user_id).where(rows.own(skills, change.principal))
    holders = {row.id: row.user_id for row in change.tx.execute(query)}
    if values:
        change.tx.execute(
            practice_sessions.insert(), [each | {"user_id": holders[each["skill_id"]]} for each in values]
        )
    added = {name_key(name) for name in new}
    for name, edit in looks:
        if name_key(name) in added:
            edit_skill(change, by_name[name_key(name)].id, edit)
    counts = {"imported": len(values), "already_there": already, "over_a_day": over}
    return {"change": "imported", **counts, "new_skills": new}


def forget_practice(change: Change) -> Result:
    """Delete all rows of the person, with a record that it was done."""
    tx, principal = change.tx, change.principal
    for table in (weekly_plans, practice_settings, practice_check_ins, practice_timers, practice_effects):
        tx.execute(sa.delete(table).where(rows.own(table, principal)))
    SCHEDULES.delete(tx, is_mine(principal), command=REMINDER)
    undone = sa.and_(rows.own(practice_sessions, principal), practice_sessions.c.undone_at.is_not(None))
    tx.execute(sa.delete(practice_sessions).where(undone))  # the person does not know them any more
    sessions = tx.execute(sa.delete(practice_sessions).where(rows.own(practice_sessions, principal))).rowcount
    gone = tx.execute(sa.delete(skills).where(rows.own(skills, principal))).rowcount
    who, what = principal.user_id, f"{sessions} entries, {gone} skills"
    people.record(tx, principal.tenant, AuditRow(change.now, who, "practice_forgotten", who, what))
    return {"change": "forgotten", "sessions_deleted": sessions, "skills_deleted": gone}


# ---------------------------------------------------------------- skills and goals


def create_skill(
    change: Change,
    name: str,
    emoji: str | None = None,
    colour: str | None = None,
    goal_minutes: int = GOAL_MINUTES,
) -> Result:
    """Add a skill; keep one of that name, restore an archived one."""
    known = rows.find_skill(change.tx, change.principal, name)
    skill = known or _insert_skill(change, name, emoji, colour, goal_minutes)
    if skill.archived:
        _set_archived(change, skill, False)
    more = {"goal_minutes": skill.goal_minutes, "created_skill": known is None, "brought_back": skill.archived}
    return {"change": "created", **_name_fields(skill), **more}


def edit_skill(change: Change, skill: str, edit: SkillEdit) -> Result:
    """Change a skill by name or id."""
    before = _find_skill(change, skill)
    values = _columns(change, before, edit)
    if values:
        mine = sa.and_(rows.own(skills, change.principal), skills.c.id == before.id)
        change.tx.execute(sa.update(skills).where(mine).values(values))
    now = _find_skill(change, before.id)
    said = [field for field in SkillEdit.__slots__ if getattr(edit, field) is not None]
    return {
        "change": "skill_edited", **_name_fields(now), "colour": now.colour, "archived": now.archived,
        "goal_minutes": now.goal_minutes, "weekly_minutes": now.weekly_minutes, "before": before.name, "changed": said,
    }  # fmt: skip


def _columns(change: Change, skill: Skill, edit: SkillEdit) -> dict[str, str | int | bool | None]:
    """Return the columns to write."""
    values: dict[str, str | int | bool | None] = {}
    if edit.name is not None:
        name = clean_name(edit.name)
        taken = rows.find_skill(change.tx, change.principal, name)
        if taken is not None and taken.id != skill.id:
            raise PracticeRefused(Refusal.NAME_TAKEN, taken.name)
        values |= {"name": name, "name_key": name_key(name)}
    if edit.archived is not None:
        values["archived"] = edit.archived
    if edit.colour is not None:
        if not _COLOUR.fullmatch(edit.colour.lower()):
            raise PracticeRefused(Refusal.BAD_COLOUR, edit.colour[:32])
        values["colour"] = edit.colour.lower()
    if edit.emoji is not None:
        values["emoji"] = clean(edit.emoji)[:EMOJI_CHARS] or skill.emoji
    if edit.goal_minutes is not None:
        if not 0 < edit.goal_minutes <= MAX_GOAL_MINUTES:
            raise PracticeRefused(Refusal.BAD_GOAL)
        values["goal_minutes"] = edit.goal_minutes
    if edit.weekly_minutes is not None:
        values["weekly_minutes"] = _check_week(edit.weekly_minutes) or None
    return values


def merge_skills(change: Change, skill: str, into: str) -> Result:
    """Give all sessions of a skill, undone ones too, to another skill, and delete the first."""
    gone, stays = _find_skill(change, skill), _find_skill(change, into)
    if gone.id == stays.id:  # a linked user may have a skill of this name, too
        named = rows.find_named(change.tx, change.principal, stays.name)
        twin = next((each for each in named if each.id != stays.id), None)
        if twin is None:
            raise PracticeRefused(Refusal.SAME_SKILL, stays.name)
        gone = twin
    of_gone = sa.and_(rows.own(practice_sessions, change.principal), practice_sessions.c.skill_id == gone.id)
    given = {"skill_id": stays.id, "user_id": rows.holder_of(stays.id)}
    change.tx.execute(sa.update(practice_sessions).where(of_gone).values(given))
    change.tx.execute(sa.delete(skills).where(rows.own(skills, change.principal), skills.c.id == gone.id))
    if stays.archived:
        _set_archived(change, stays, False)
    total = gone.total_minutes + stays.total_minutes
    moved = {"merged": gone.name, "sessions_moved": gone.session_count, "total_minutes": total}
    return {"change": "merged", **_name_fields(stays), **moved}


def set_weekly_goal(change: Change, minutes: int) -> Result:
    """Save a weekly goal over all skills; 0 removes it."""
    goal = _check_week(minutes)
    change.tx.execute(
        upsert(change.tx, practice_settings, ("weekly_goal_minutes",)),
        {**_owner(change), "weekly_goal_minutes": goal or None},
    )
    return {"change": "week_goal", "goal_minutes": goal}


def set_plan_conditions(change: Change, conditions: PlanConditions) -> Result:
    """Keep these conditions for coming plans; delete plans of coming weeks that were made under others."""
    if conditions != rows.plan_conditions(change.tx, change.principal):
        coming = weekly_plans.c.week > today_of(change.principal, change.now)
        change.tx.execute(sa.delete(weekly_plans).where(rows.own(weekly_plans, change.principal), coming))
    kept = rows.CONDITIONS.dump_json(conditions).decode()
    upserting = upsert(change.tx, practice_settings, ("plan_conditions",))
    change.tx.execute(upserting, {**_owner(change), "plan_conditions": kept})
    return {"change": "plan_conditions", **rows.CONDITIONS.dump_python(conditions, mode="json")}


def _check_week(minutes: int) -> int:
    if not 0 <= minutes <= WEEK_MINUTES:
        raise PracticeRefused(Refusal.BAD_WEEK)
    return minutes


# ---------------------------------------------------------------- plans, charts, reminders, the clock


def save_plan(change: Change, plan: WeeklyPlan, *, asks: bool = False) -> Result:
    """Save the plan of a week, in place of an earlier one.

    With `asks`, the result says if the person is to be asked, for the only time, whether each week may begin so.
    """
    mine = {skill.id for skill in rows.all_skills(change.tx, change.principal, include_archived=True)}
    insights = tuple(each if each.skill_id in mine else replace(each, skill_id=None) for each in plan.insights)
    replaced = rows.plan_of(change.tx, change.principal, plan.week) is not None
    if plan.conditions is not None:
        set_plan_conditions(change, plan.conditions)
    change.tx.execute(
        upsert(change.tx, weekly_plans, ("content", "insights", "skill_ids", "sessions", "saved_at")),
        {
            **_owner(change), "week": plan.week, "content": plan.content,
            "insights": rows.INSIGHTS.dump_json(insights).decode(),
            "skill_ids": json.dumps([skill_id for skill_id in plan.skill_ids if skill_id in mine]),
            "sessions": rows.PLANNED.dump_json(plan.sessions).decode(),
            "saved_at": change.now,
        },
    )  # fmt: skip
    found = rows.INSIGHTS.dump_python(insights, mode="json")
    return {
        "change": "plan_saved", "week": plan.week.isoformat(), "replaced": replaced, "content": plan.content,
        "insights": found, "asks_weekly": asks and may_ask_for_plans(change),
    }  # fmt: skip


def keep_chart(change: Change, chart: Result, png: bytes, name: str, description: str) -> Result:
    """Save the picture of a chart, so that the turn's answer sends it; b"" for none."""
    if not png:
        return {"change": "chart_sent", "file": None, "chart": chart}
    put_file(change.tx, change.principal.tenant, file_id(change.key), png, change.now)
    return {"change": "chart_sent", "file": {"name": name, "mime": MIME, "description": description}, "chart": chart}


def set_reminder(
    change: Change, at: time, weekdays: tuple[int, ...], day: date | None = None, about: str = ""
) -> Result:
    """Save a reminder on these weekdays or on one day, in place of an equal one for the same chat."""
    principal, zone = change.principal, change.principal.timezone
    if day is not None and not exists(day, at, zone):
        raise PracticeRefused(Refusal.NO_SUCH_TIME, f"{at:%H:%M}")
    rule = Daily(at=at, weekdays=weekdays) if day is None else Once(day=day, at=at)
    slot = next_slot(rule, zone, change.now)
    if slot is None:
        raise PracticeRefused(Refusal.REMINDER_PAST)
    if len(all_reminders(change.tx, principal)) >= MAX_REMINDERS:
        raise PracticeRefused(Refusal.TOO_MANY_REMINDERS, str(MAX_REMINDERS))
    origin = direct_origin(change.tx, change.key)
    if origin is None:
        raise PracticeRefused(Refusal.ONLY_DIRECT)
    address, written = json.dumps(to_json(origin.address)), dump_rule(rule)
    SCHEDULES.delete(change.tx, is_mine(principal), command=REMINDER, rule=written, name=about, address=address)
    reminder = StoredSchedule(
        id=new_id(), tenant=principal.tenant, user_id=principal.user_id, agent=agent_of(origin.session_key),
        name=about, command=REMINDER, rule=written, missed=Missed.RECENT, address=address,
        session_key=origin.session_key, zone=zone, next_at=slot.at, next_wall=to_wall_text(slot.wall),
        created_at=change.now,
    )  # fmt: skip
    SCHEDULES.add(change.tx, reminder)
    return {
        "change": "reminder_set", "reminder_id": reminder.id, "at": f"{at:%H:%M}", "weekdays": list(weekdays),
        "day": None if day is None else day.isoformat(), "about": about, "next_day": slot.wall.date().isoformat(),
        "zone": zone, "now": f"{change.now.astimezone(zone_of(zone)):%H:%M}",
    }  # fmt: skip


def cancel_reminders(change: Change, reminder_id: str | None = None) -> Result:
    """Cancel one reminder, or all."""
    which = {} if reminder_id is None else {"id": reminder_id}
    gone = SCHEDULES.delete(change.tx, is_mine(change.principal), command=REMINDER, **which)
    if reminder_id is not None and not gone:
        raise PracticeRefused(Refusal.UNKNOWN_REMINDER)
    return {"change": "reminders_cancelled", "count": gone}


def start_timer(change: Change, skill: str) -> Result:
    """Start the person's clock for a skill."""
    running = _running(change)
    if running is not None:
        raise PracticeRefused(Refusal.TIMER_RUNS, running[0])
    known = rows.find_skill(change.tx, change.principal, skill)
    name = clean_name(skill) if known is None else known.name
    change.tx.execute(practice_timers.insert(), {**_owner(change), "skill": name, "started_at": change.now})
    emoji = emoji_for(name) if known is None else known.emoji
    return {"change": "timer_started", "skill": name, "emoji": emoji}


def stop_timer(change: Change, minutes: int | None = None, notes: str = "", *, discards: bool = False) -> Result:
    """Stop the clock and log `minutes`, or what it counted; or log nothing."""
    running = _running(change)
    if running is None:
        raise PracticeRefused(Refusal.NO_TIMER)
    skill, started_at = running
    counted = round((change.now - started_at).total_seconds() / 60)
    if counted > MAX_TIMER_MINUTES and minutes is None and not discards:
        raise PracticeRefused(Refusal.TIMER_LONG, str(counted // 60))
    practised, day = minutes or counted, local_date(started_at, change.principal.timezone)
    result: Result
    if not practised:
        result = {"change": "timer_too_short", "skill": skill}
    elif discards:
        result = {"change": "timer_discarded", "minutes": practised, "skill": skill}
    else:
        result = log(change, skill, practised, day, notes)
    this = practice_timers.c.started_at == started_at
    change.tx.execute(sa.delete(practice_timers).where(rows.own(practice_timers, change.principal), this))
    return result


def _running(change: Change) -> tuple[str, datetime] | None:
    mine = rows.own(practice_timers, change.principal)
    query = sa.select(practice_timers.c.skill, practice_timers.c.started_at).where(mine)
    row = change.tx.execute(query.order_by(rows.own_first(practice_timers, change.principal))).first()
    return None if row is None else (row.skill, row.started_at)


# ---------------------------------------------------------------- shared


def _check_day(change: Change, minutes: int, day: date, beside: str = "") -> None:
    check_entry(minutes, day, today_of(change.principal, change.now))
    if minutes + rows.minutes_on(change.tx, change.principal, day, beside) > DAY_MINUTES:
        raise PracticeRefused(Refusal.DAY_FULL, day.isoformat())


def _find_skill(change: Change, name_or_id: str) -> Skill:
    skill = rows.find_skill(change.tx, change.principal, name_or_id)
    if skill is None:
        raise PracticeRefused(Refusal.UNKNOWN_SKILL, name_or_id[:64])
    return skill


def _take_up_skill(change: Change, name_or_id: str) -> tuple[Skill | None, Skill]:
    """Return the skill as it was before (None: unknown) and after it is created or restored."""
    known = rows.find_skill(change.tx, change.principal, name_or_id)
    skill = known or _insert_skill(change, name_or_id)
    if skill.archived:
        _set_archived(change, skill, False)
    return known, skill


def _insert_skill(
    change: Change,
    name: str,
    emoji: str | None = None,
    colour: str | None = None,
    goal_minutes: int = GOAL_MINUTES,
) -> Skill:
    """Add a skill that is not there yet."""
    name = clean_name(name)
    if not 0 < goal_minutes <= MAX_GOAL_MINUTES:
        raise PracticeRefused(Refusal.BAD_GOAL)
    count = sa.select(sa.func.count()).select_from(skills).where(rows.own(skills, change.principal))
    values = {
        **_owner(change), "id": new_id(), "name": name, "name_key": name_key(name),
        "emoji": emoji or emoji_for(name), "colour": colour or colour_for(int(change.tx.execute(count).scalar_one())),
        "goal_minutes": goal_minutes, "archived": False, "created_at": change.now,
    }  # fmt: skip
    change.tx.execute(insert_new(change.tx, skills), values)
    return _find_skill(change, name)


def _set_archived(change: Change, skill: Skill, archived: bool) -> None:
    mine = sa.and_(rows.own(skills, change.principal), skills.c.id == skill.id)
    change.tx.execute(sa.update(skills).where(mine).values(archived=archived))


def _created_skill(change: Change, session: PracticeSession) -> bool:
    """Return whether the log of this session created its skill."""
    query = sa.select(skills.c.id).join(practice_sessions, practice_sessions.c.skill_id == skills.c.id)
    same = practice_sessions.c.created_at == skills.c.created_at
    mine = rows.own(practice_sessions, change.principal)
    return change.tx.execute(query.where(mine, practice_sessions.c.id == session.id, same)).first() is not None


def _owner(change: Change) -> dict[str, str]:
    return {"tenant_id": change.principal.tenant, "user_id": change.principal.user_id}


def _name_fields(skill: Skill) -> Result:
    return {"skill_id": skill.id, "skill": skill.name, "emoji": skill.emoji}


def _entry(session: PracticeSession, skill: Skill, total_minutes: int) -> Result:
    """Return the result of a change of a session."""
    return {
        "session_id": session.id, **_name_fields(skill), "minutes": session.minutes, "date": session.day.isoformat(),
        "notes": session.notes, "total_minutes": total_minutes,
    }  # fmt: skip
