"""Schedules: the tool by which a model makes them, and the commands by which people look after theirs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from agent.ports import Change, Principal
from agent.schedules.rules import describe_rule, dump_rule, next_slot
from agent.schedules.schedules_config import SchedulesConfig
from agent.schedules.tools import NewSchedule, schedule_tools
from agent.tools.base import Tool, ToolError
from channels.chat.probing import Finding
from gateway.capabilities.base import Capability, CapabilityDeps
from gateway.capabilities.schedule_commands import ScheduleCommands
from gateway.commands.base import Command, Handle
from gateway.config.settings import Settings
from gateway.inbound.session_key import agent_of
from gateway.store import schedules
from gateway.store.engine import Store
from gateway.store.schedules import SCHEDULES, Pause, StoredSchedule
from gateway.store.tables.base import new_id


@dataclass(slots=True)
class StoredSchedules:
    """The schedules of a tenant as rows."""

    store: Store
    config: SchedulesConfig

    @property
    def min_interval(self) -> timedelta:
        return timedelta(minutes=self.config.min_interval_min)

    async def works_unasked(self, call_key: str) -> bool:
        return await self.store.read(partial(schedules.starts_itself, key=call_key), lasting=True)

    async def list_schedules(self, principal: Principal) -> Sequence[Mapping[str, object]]:
        found = await self.store.read(partial(schedules.list_prompts, principal=principal), lasting=True)
        return [_to_data(row) for row in found]

    def create(self, change: Change, new: NewSchedule) -> Mapping[str, object]:
        principal, zone = change.principal, change.principal.timezone
        mine = schedules.list_prompts(change.tx, principal)
        if len(mine) >= self.config.max_per_person:
            most = self.config.max_per_person
            raise ToolError(f"The person has {most} schedules, the most that are allowed: delete one first.")
        if any(row.name.casefold() == new.name.casefold() for row in mine):
            raise ToolError(f"There is a schedule {new.name!r} already: delete it, or take another name.")
        origin, slot = schedules.direct_origin(change.tx, change.key), next_slot(new.rule, zone, change.now)
        if origin is None or slot is None:
            raise ToolError("Schedules are made in a direct chat only: ask the person to say it there.")
        row = StoredSchedule(
            id=new_id(),
            tenant=principal.tenant,
            user_id=principal.user_id,
            agent=agent_of(origin.session_key),
            name=new.name,
            prompt=new.prompt,
            rule=dump_rule(new.rule),
            missed=new.missed,
            address=json.dumps(schedules.to_json(origin.address)),
            session_key=origin.session_key,
            zone=zone,
            next_at=slot.at,
            next_wall=schedules.to_wall_text(slot.wall),
            created_at=change.now,
        )
        SCHEDULES.add(change.tx, row)
        return {"created": _to_data(row)}

    def pause(self, change: Change, name: str) -> Mapping[str, object]:
        schedules.set_pause(change.tx, _find(change, name), Pause.PERSON, change.now)
        return {"paused": name}

    def resume(self, change: Change, name: str) -> Mapping[str, object]:
        if not schedules.set_pause(change.tx, _find(change, name), Pause.NO, change.now):
            raise ToolError("Its time has passed: delete it.")
        return {"resumed": _to_data(_find(change, name))}

    def delete(self, change: Change, name: str) -> Mapping[str, object]:
        row = _find(change, name)
        SCHEDULES.delete(change.tx, id=row.id, tenant=row.tenant)
        return {"deleted": name}


def _find(change: Change, name: str) -> StoredSchedule:
    mine = schedules.list_prompts(change.tx, change.principal)
    for row in mine:
        if row.name.casefold() == name.casefold():
            return row
    names = ", ".join(repr(row.name) for row in mine) or "none"
    raise ToolError(f"There is no schedule {name!r}. There are: {names}.")


def _to_data(row: StoredSchedule) -> Mapping[str, object]:
    """Return a schedule as data for the model."""
    when = {"name": row.name, "prompt": row.prompt, "when": describe_rule(row.parsed), "zone": row.zone}
    return when | ({"next": row.next_wall} if row.paused is Pause.NO else {"paused_by": row.paused.value})


class Schedules(Capability):
    """The schedules of one tenant's people."""

    def __init__(self, config: SchedulesConfig, deps: CapabilityDeps, *, has_model: bool) -> None:
        """Without a model none are made: rules do not answer prompts."""
        self._desk = StoredSchedules(deps.store, config)
        self._commands = ScheduleCommands(deps.seals)
        self._tools = schedule_tools(self._desk) if has_model else ()

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def commands(self) -> Sequence[Command]:
        return self._commands.commands()

    def buttons(self) -> Mapping[str, Handle]:
        return self._commands.buttons()

    async def check(self) -> Sequence[Finding]:
        if not self._tools:
            return (Finding("schedules", "there is no model to answer them", "set model.name, or remove [schedules]"),)
        config = self._desk.config
        bounds = f"{config.max_per_person} a person, {config.min_interval_min} min apart"
        return (Finding("schedules", f"at most {bounds}"),)

    def reconfigure(self, settings: Settings) -> None:
        if settings.schedules is not None:
            self._desk.config = settings.schedules


def make_schedules(settings: Settings, config: SchedulesConfig, deps: CapabilityDeps) -> Schedules:
    """Make the schedules of a tenant."""
    return Schedules(config, deps, has_model=settings.model.name != "offline")
