"""`/schedules`: people see their schedules, and pause, resume or delete them; and the news of one that was paused."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from agent.catalogue import escape
from agent.schedules.rules import Every, as_daily, describe_rule
from channels.base import CommandOption
from channels.messages import Button, ButtonStyle
from gateway.access.buttons import SealedButtons, long_id, short_id
from gateway.commands.base import Command, Handle, HelpGroup, Invocation, Reply, Write
from gateway.commands.decisions import VOID
from gateway.store import schedules
from gateway.store.engine import Connection
from gateway.store.schedules import PAUSED, SCHEDULES, Pause, StoredSchedule

MOST_BUTTONS = 5
"""Schedules that have buttons; the others are named by their numbers."""

HOLDS = timedelta(days=1)
PAUSE, RESUME, DELETE = "sched_pause", "sched_resume", "sched_delete"
"""Words of the buttons."""

VERBS = {
    **dict.fromkeys(("pause", "pausar", "pausa"), PAUSE),
    **dict.fromkeys(("resume", "reanudar", "seguir"), RESUME),
    **dict.fromkeys(("delete", "remove", "borrar", "eliminar"), DELETE),
}


class ScheduleCommands:
    """The commands of one tenant, and their buttons."""

    def __init__(self, seals: SealedButtons) -> None:
        self._seals = seals

    def commands(self) -> Sequence[Command]:
        what = CommandOption("what", "menu.schedules.what")
        return (
            Command("schedules", "menu.schedules", self.schedules, options=(what,), group=HelpGroup.CHAT),
            Command("schedule", "menu.schedules", self.schedules, hidden=True),
            Command(PAUSED, "menu.schedules", _tell_paused, system=True),
        )

    def buttons(self) -> Mapping[str, Handle]:
        return dict.fromkeys((PAUSE, RESUME, DELETE), self._press)

    async def schedules(self, asked: Invocation) -> Reply | Write:
        """List schedules, or pause, resume or delete one by its number or name."""
        if asked.principal.in_group:
            return Reply(asked.say("schedules.only_direct"))
        verb, _, which = asked.arguments.strip().partition(" ")
        mine = await asked.store.read(partial(schedules.list_prompts, principal=asked.principal), lasting=True)
        word = VERBS.get(verb.casefold())
        if word is None:
            return self._list(asked, mine)
        row = _find(mine, which.strip())
        if row is None:
            return Reply(asked.say("schedules.unknown"))
        return Write(self._change, asked, row.id, word)

    async def _press(self, asked: Invocation) -> Reply | Write:
        id_ = long_id(asked.arguments)
        return Write(self._change, asked, id_, asked.name) if id_ else Reply(asked.say(VOID))

    def _change(self, connection: Connection, asked: Invocation, id_: str, word: str) -> Reply:
        row = SCHEDULES.get(connection, schedules.is_mine(asked.principal), id=id_)
        if row is None:
            return Reply(asked.say("schedules.gone"))
        name = escape(row.name)
        if word == DELETE:
            SCHEDULES.delete(connection, id=row.id, tenant=row.tenant)
            return Reply(asked.say("schedules.deleted", name=name))
        if word == PAUSE:
            schedules.set_pause(connection, row, Pause.PERSON, asked.now)
            return Reply(asked.say("schedules.paused", name=name), buttons=self._buttons_of(asked, row, 0, RESUME))
        if not schedules.set_pause(connection, row, Pause.NO, asked.now):
            return Reply(asked.say("schedules.past", name=name))
        new = SCHEDULES.get(connection, id=row.id) or row
        return Reply(asked.say("schedules.resumed", name=name, next=_moment(new)))

    def _list(self, asked: Invocation, mine: Sequence[StoredSchedule]) -> Reply:
        if not mine:
            return Reply(asked.say("schedules.none"))
        lines = [_line(asked, number, row) for number, row in enumerate(mine, 1)]
        text = "\n\n".join(
            (
                asked.say("schedules.title", zone=escape(asked.principal.timezone)),
                "\n".join(lines),
                asked.say("schedules.how"),
            )
        )
        buttons = [
            button
            for number, row in enumerate(mine[:MOST_BUTTONS], 1)
            for word in (PAUSE if row.paused is Pause.NO else RESUME, DELETE)
            for button in self._buttons_of(asked, row, number, word)
        ]
        return Reply(text, buttons=tuple(buttons))

    def _buttons_of(self, asked: Invocation, row: StoredSchedule, number: int, word: str) -> tuple[Button, ...]:
        account = f"{asked.address.channel}:{asked.address.account}"
        data = self._seals.seal(word, short_id(row.id), asked.principal.user_id, account, asked.clock() + HOLDS)
        label = asked.say(f"schedules.button_{word.removeprefix('sched_')}")
        label = f"{label} {number}" if number else label
        return (Button(label, data, ButtonStyle.DANGER if word == DELETE else ButtonStyle.SECONDARY),)


def _find(mine: Sequence[StoredSchedule], which: str) -> StoredSchedule | None:
    if which.isdecimal() and len(which) < 4 and 1 <= int(which) <= len(mine):
        return mine[int(which) - 1]
    return next((row for row in mine if row.name.casefold() == which.casefold()), None)


def _moment(row: StoredSchedule) -> str:
    return row.next_wall.replace("T", " ")


def _line(asked: Invocation, number: int, row: StoredSchedule) -> str:
    rule = row.parsed
    when, daily = escape(describe_rule(rule)), as_daily(rule)
    if daily is not None:
        when = f"{daily.at:%H:%M}, {weekdays_text(asked, daily.weekdays)}"
    when = asked.say("schedules.when_every", when=when) if isinstance(rule, Every) else when
    state = (
        asked.say("schedules.next", at=_moment(row))
        if row.paused is Pause.NO
        else asked.say(f"schedules.paused_{row.paused.value}")
    )
    return f"{number}. **{escape(row.name)}** ({when}). {state} {escape(row.prompt)}"


def weekdays_text(asked: Invocation, weekdays: Sequence[int]) -> str:
    """Return weekdays in short: "Mon–Fri", "Mon, Wed", "every day"."""
    names = asked.say("schedules.weekdays").split()
    if len(weekdays) == len(names):
        return asked.say("schedules.every_day")
    if len(weekdays) > 2 and weekdays[-1] - weekdays[0] == len(weekdays) - 1:
        return f"{names[weekdays[0]]}–{names[weekdays[-1]]}"
    return ", ".join(names[day] for day in weekdays)


async def _tell_paused(asked: Invocation) -> Reply:
    return Reply(asked.say("schedules.failed", name=escape(asked.arguments)))
