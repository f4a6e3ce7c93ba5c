"""The operators' service: all actions of operators, on one tenant or on all."""

from collections.abc import Mapping

from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, action
from gateway.operators.boards import BoardActions
from gateway.operators.cases import CaseActions
from gateway.operators.conversations import ConversationActions
from gateway.operators.invites import InviteActions
from gateway.operators.keys import KeyActions
from gateway.operators.memories import MemoryActions
from gateway.operators.messages import MessageActions
from gateway.operators.models import (
    ClosedConsoles,
    ConsoleLink,
    ModelName,
    Reloaded,
    SettingChange,
    Status,
    Stopping,
    TriedModel,
)
from gateway.operators.pauses import PauseActions
from gateway.operators.people import PeopleActions
from gateway.operators.replays import ReplayActions
from gateway.operators.schedules import ScheduleActions
from gateway.operators.trust import TrustActions
from gateway.operators.usage import UsageActions
from gateway.store import inbox, outbox, tickets
from gateway.store.engine import Connection
from gateway.store.pauses import PAUSES


class Operators(
    PeopleActions,
    InviteActions,
    KeyActions,
    TrustActions,
    MessageActions,
    ConversationActions,
    ReplayActions,
    CaseActions,
    BoardActions,
    ScheduleActions,
    MemoryActions,
    UsageActions,
    PauseActions,
):
    """The service. Each method is an action; its first argument is the actor."""

    @action(Rank.OPERATOR)
    async def status(self, _call: ActionCall) -> Status:
        """Return the running gateway's status; if none runs, what the database tells."""
        found = await self.process.status(self.store.tenant)
        if found is not None:
            return found
        parts = await self.store.read(outbox.depths)
        waiting = await self.store.read(tickets.pending_counts)
        inbox_open = await self.store.read(inbox.open_count)
        pause = await self.store.read(PAUSES.get)
        paused = None if pause is None else pause.words
        return Status(running=False, paused=paused, inbox_open=inbox_open, outbox=parts, pairing_requests=waiting)

    @action(Rank.MACHINE, audit="configuration_reloaded")
    async def reload(self, call: ActionCall) -> Reloaded:
        """Read the configuration and apply it. The audit log gets each changed key without its value.

        Raises:
            GatewayError: it is invalid; the old one stays in force, and owners are told.
        """
        await call.check()
        done = await self.process.reload()
        keys = dict.fromkeys(done.in_force, "") | dict.fromkeys(done.next_start, "at the next start")
        await self._record_keys(call, keys or {"configuration": "nothing changed"})
        return done

    @action(Rank.MACHINE, audit="setting_changed")
    async def change_setting(self, call: ActionCall, wanted: SettingChange) -> Reloaded:
        """Change a setting in its file, as `tenk config set`, and apply it.

        Raises:
            GatewayError: it cannot be changed while the gateway runs, or the value is invalid; nothing was changed.
        """
        await call.check()
        changed = await self.process.change_setting(wanted.key, wanted.value)
        others = [key for key in changed.in_force if not wanted.key.startswith(key)]  # edited in the file before
        how = "" if wanted.value else "removed"  # no value: it may be a secret
        await self._record_keys(call, {wanted.key: how} | dict.fromkeys(others, "from the file"))
        return changed

    async def _record_keys(self, call: ActionCall, keys: Mapping[str, str]) -> None:
        def job(connection: Connection) -> None:
            for key, detail in keys.items():
                call.record(connection, self.store.home_tenant, key, detail)

        await call.commit(job)

    @action(Rank.MACHINE)
    async def stop(self, _call: ActionCall) -> Stopping:
        """Stop the gateway as SIGTERM does: running turns have some time to end, the rest waits for the next start."""
        return self.process.stop()

    @action(Rank.MACHINE)
    async def try_model(self, _call: ActionCall, wanted: ModelName) -> TriedModel:
        """Ask a configured model a short question; if it answers, its cooldown ends.

        Raises:
            GatewayError: no such model is configured.
        """
        return await self.process.try_model(wanted.model)

    @action(Rank.OPERATOR)
    async def console_link(self, call: ActionCall) -> ConsoleLink:
        """Return a link that opens the console once for the actor."""
        return await self.process.console_link(call.by)

    @action(Rank.MACHINE, audit="consoles_closed")
    async def close_consoles(self, call: ActionCall) -> ClosedConsoles:
        """End every session of the console, and every link that was not opened yet."""

        def job(connection: Connection) -> int:
            ended = tickets.end_consoles(connection, call.by, call.now)
            call.record(connection, self.store.home_tenant, "console", str(ended))
            return ended

        return ClosedConsoles(sessions=await call.commit(job))
