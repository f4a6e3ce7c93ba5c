"""The tool `schedule`, by which a model makes, lists, pauses, resumes and deletes schedules of its person."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

from agent.calendar import is_zone
from agent.ports import Change, LocalEffect, Principal
from agent.schedules.missed import Missed
from agent.schedules.rules import BadTiming, Every, Once, Rule, check_interval, exists, next_slot, read_cron
from agent.tools.base import Effect, Tool, ToolContext, ToolError, tool, tools_of
from agent.wellformed import clean

MAX_PROMPT_CHARS = 300
"""The question to the person shows as much of an argument."""

NAME = r"^\w[\w '.,-]{0,59}$"


class ScheduleAction(StrEnum):
    """The actions of the tool."""

    CREATE = "create"
    LIST = "list"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"


class KeptPolicy(StrEnum):
    """The policies for missed times that a model can choose."""

    SKIP = Missed.SKIP
    ONCE = Missed.ONCE
    ALL = Missed.ALL


class ScheduleCall(BaseModel):
    """The arguments of `schedule`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    action: ScheduleAction
    name: str | None = Field(None, pattern=NAME, description="Short name, as the person would say it; not for list.")
    prompt: str | None = Field(
        None,
        max_length=MAX_PROMPT_CHARS,
        description="The work of each run, complete: you will read it without this conversation in mind.",
    )
    cron: str | None = Field(
        None, max_length=100, description='Five fields, in the person\'s zone: "0 8 * * 1-5" is 8:00 on working days.'
    )
    at: str | None = Field(None, max_length=40, description='Once instead, in the person\'s zone: "2026-12-24 18:30".')
    every_minutes: int | None = Field(
        None,
        ge=1,
        le=1_440,
        description="A heartbeat instead: look every so many minutes, and write only if there is something to say.",
    )
    between: str | None = Field(None, max_length=11, description='Hours of a heartbeat: "09:00-21:00". None: all day.')
    missed: KeptPolicy = Field(
        KeptPolicy.ONCE, description="Times that passed while the bot did not run: skip, once for all, or all of them."
    )


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule to be made."""

    name: str
    prompt: str
    rule: Rule
    missed: Missed


class ScheduleDesk(Protocol):
    """The schedules of a tenant. Its changes are local effects, which raise ToolError if they are refused."""

    @property
    def min_interval(self) -> timedelta:
        """Return how far apart two times of a schedule have to be."""
        ...

    async def works_unasked(self, call_key: str) -> bool:
        """Return True if a schedule or a task makes this call, and no person has begun its turn."""
        ...

    async def list_schedules(self, principal: Principal) -> Sequence[Mapping[str, object]]:
        """Return the schedules of a person as data for the model."""
        ...

    def create(self, change: Change, new: NewSchedule) -> Mapping[str, object]:
        """Make a schedule for the direct chat of the change."""
        ...

    def pause(self, change: Change, name: str) -> Mapping[str, object]:
        """Pause the schedule of this name."""
        ...

    def resume(self, change: Change, name: str) -> Mapping[str, object]:
        """Resume the schedule of this name."""
        ...

    def delete(self, change: Change, name: str) -> Mapping[str, object]:
        """Delete the schedule of this name."""
        ...


def _only_lists(arguments: object) -> bool:
    return isinstance(arguments, ScheduleCall) and arguments.action is ScheduleAction.LIST


class ScheduleTools:
    """The tool of one tenant."""

    def __init__(self, desk: ScheduleDesk) -> None:
        self._desk = desk

    async def _check(self, context: ToolContext, arguments: ScheduleCall) -> None:
        """Refuse a call that cannot work, before the person is asked."""
        if arguments.action is ScheduleAction.LIST:
            return
        if arguments.name is None:
            raise ToolError(f"{arguments.action} needs the name of a schedule.")
        if arguments.action is ScheduleAction.CREATE:
            self._read(context.principal, context.now, arguments)
            if await self._desk.works_unasked(context.call_key):
                raise ToolError("A schedule or a task makes no schedules: only the person does, in their chat.")

    def _read(self, principal: Principal, now: datetime, arguments: ScheduleCall) -> NewSchedule:
        if principal.in_group:
            raise ToolError("Schedules are made in a direct chat only: ask the person to say it there.")
        prompt = clean(arguments.prompt or "").strip()
        if not prompt:
            raise ToolError("create needs a prompt: the work of each run.")
        if not is_zone(principal.timezone):
            raise ToolError(f"The person's zone {principal.timezone!r} is unknown: ask them to set it with /timezone.")
        try:
            rule = read_rule(arguments, principal.timezone, now)
            check_interval(rule, principal.timezone, now, self._desk.min_interval)
        except BadTiming as bad:
            raise ToolError(f"This cannot be scheduled: {bad}.") from None
        return NewSchedule(arguments.name or "", prompt, rule, Missed(arguments.missed.value))

    def _permit(self, context: ToolContext, arguments: ScheduleCall) -> str:
        """Ask the person before anything will be done in their name later."""
        return "ask" if arguments.action in (ScheduleAction.CREATE, ScheduleAction.RESUME) else "passthrough"

    @tool(
        ScheduleCall,
        effect=Effect.LOCAL,
        read_only=_only_lists,
        says="tool.schedule",
        asks_each_time=True,
        validate=_check,
        permission=_permit,
    )
    async def schedule(self, context: ToolContext, arguments: ScheduleCall) -> object:
        """Do work for this person later, by yourself: at times of a cron expression, once, or as a heartbeat that looks
        every so many minutes and writes only if there is something to say. At each time you get the prompt in this
        chat, and your answer is sent. Only if the person asks for it.
        """
        if arguments.action is ScheduleAction.LIST:
            return {"schedules": list(await self._desk.list_schedules(context.principal))}
        if arguments.action is ScheduleAction.CREATE:
            return LocalEffect(self._desk.create, self._read(context.principal, context.now, arguments))
        act = {
            ScheduleAction.PAUSE: self._desk.pause,
            ScheduleAction.RESUME: self._desk.resume,
            ScheduleAction.DELETE: self._desk.delete,
        }[arguments.action]
        return LocalEffect(act, arguments.name or "")


def schedule_tools(desk: ScheduleDesk) -> Sequence[Tool]:
    """Return the tool."""
    return tools_of(ScheduleTools(desk))


_BETWEEN = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\Z")


def read_rule(call: ScheduleCall, zone: str, now: datetime) -> Rule:
    """Return the rule of a call.

    Raises:
        BadTiming: it names no time, several, or one that does not exist or has passed.
    """
    given = [each for each in (call.cron, call.at, call.every_minutes) if each is not None]
    if len(given) != 1:
        raise BadTiming("give one of cron, at and every_minutes")
    if call.between is not None and call.every_minutes is None:
        raise BadTiming("between belongs to every_minutes; in a cron expression write the hours themselves")
    if call.cron is not None:
        return read_cron(call.cron)
    if call.at is not None:
        return _read_once(call.at, zone, now)
    begin, end = _read_hours(call.between) if call.between is not None else (time(0), time(0))
    return Every(minutes=call.every_minutes or 0, begin=begin, end=end)


def _read_once(said: str, zone: str, now: datetime) -> Once:
    try:
        wall = datetime.fromisoformat(said.strip())
    except ValueError:
        raise BadTiming(f"{said!r} is no date and time like 2026-12-24 18:30") from None
    if wall.tzinfo is not None or len(said.strip()) < len("2026-12-24 18:30"):
        raise BadTiming(f"{said!r} is no date and time like 2026-12-24 18:30, in the person's zone")
    rule = Once(day=wall.date(), at=wall.time().replace(second=0, microsecond=0))
    if not exists(rule.day, rule.at, zone):
        raise BadTiming(f"that day has no {rule.at:%H:%M} in {zone}: the clocks go forward")
    if next_slot(rule, zone, now) is None:
        raise BadTiming(f"{wall:%Y-%m-%d %H:%M} has passed")
    return rule


def _read_hours(said: str) -> tuple[time, time]:
    found = _BETWEEN.match(said.strip())
    hours = None if found is None else [int(each) for each in found.groups()]
    if hours is None or max(hours[0], hours[2]) > 24 or max(hours[1], hours[3]) > 59:
        raise BadTiming(f"{said!r} are no hours like 09:00-21:00")
    return time(hours[0] % 24, hours[1]), time(hours[2] % 24, hours[3])
