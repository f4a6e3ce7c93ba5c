"""Actions that pause and resume the agents of one tenant, or of all."""

from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import PauseChange
from gateway.store.engine import Connection
from gateway.store.pauses import PAUSES, AgentPause


class PauseActions(OperatorsBase):
    """The actions about pauses."""

    @action(Rank.OPERATOR, audit="paused")
    async def pause(self, call: ActionCall) -> PauseChange:
        """Pause the agents: no turn begins until they are resumed; messages wait, and running turns end."""
        wanted = AgentPause(self.store.home_tenant, self.store.tenant is None, call.now, call.by)

        def job(connection: Connection) -> bool:
            lasting = PAUSES.get(connection, tenant=wanted.tenant)
            if lasting is not None and lasting.whole >= wanted.whole:
                return False
            call.record(connection, wanted.tenant, "agents")
            PAUSES.put(connection, wanted)
            return True

        changed = await call.commit(job)
        await self.process.reload_pauses(wanted.tenant)
        return PauseChange(changed=changed)

    @action(Rank.OPERATOR, audit="resumed")
    async def resume(self, call: ActionCall) -> PauseChange:
        """Resume the agents: what waited is answered now.

        Raises:
            OperationRefused: one tenant is to be resumed, and all are paused.
        """
        tenant = self.store.home_tenant

        def job(connection: Connection) -> bool:
            if not PAUSES.delete(connection):
                return False
            call.record(connection, tenant, "agents")
            return True

        changed = await call.commit(job)
        if await self.process.reload_pauses(tenant):
            raise OperationRefused("all tenants are paused: `tenk resume` without --tenant resumes them")
        return PauseChange(changed=changed)
