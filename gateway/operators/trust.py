"""Actions about what operators trust."""

from functools import partial

from gateway.access.ranks import Rank
from gateway.operators.actions import ActionCall, OperationRefused, action
from gateway.operators.base import OperatorsBase
from gateway.operators.models import TrustedThing, TrustedThings, TrustName, TrustTerms
from gateway.store.engine import Connection
from gateway.store.trusted import TRUSTED, TrustedRow


class TrustActions(OperatorsBase):
    """The actions about trusted things of one tenant, or of all."""

    @action(Rank.MACHINE)
    async def list_trusted(self, _call: ActionCall) -> TrustedThings:
        """Return all trusted things."""
        return TrustedThings(trusted=tuple(map(_to_thing, await self.store.read(TRUSTED.find))))

    @action(Rank.MACHINE, audit="trusted")
    async def trust(self, call: ActionCall, wanted: TrustTerms) -> TrustedThing:
        """Trust a thing as it was when the operator looked at it, and no longer as it was before."""
        row = TrustedRow(self.store.home_tenant, wanted.kind, wanted.name, wanted.digest, call.now, call.by)

        def job(connection: Connection) -> None:
            TRUSTED.put(connection, row)
            call.record(connection, row.tenant, _subject_of(wanted), row.digest)

        await call.commit(job)
        await self.process.reload_trust()
        return _to_thing(row)

    @action(Rank.MACHINE, audit="distrusted")
    async def distrust(self, call: ActionCall, wanted: TrustName) -> TrustedThing:
        """Stop trusting a thing.

        Raises:
            OperationRefused: it is not trusted.
        """
        find = partial(TRUSTED.get, tenant=self.store.home_tenant, kind=wanted.kind, name=wanted.name)

        def job(connection: Connection) -> TrustedRow | OperationRefused:
            row = find(connection)
            if row is None:
                return OperationRefused(f"{wanted.kind}:{wanted.name} is not trusted; see `tenk trust list`")
            TRUSTED.delete(connection, tenant=row.tenant, kind=row.kind, name=row.name)
            call.record(connection, row.tenant, _subject_of(wanted), row.digest)
            return row

        row = await call.commit(job)
        await self.process.reload_trust()
        return _to_thing(row)


def _subject_of(wanted: TrustName) -> str:
    return f"{wanted.kind}:{wanted.name}"


def _to_thing(row: TrustedRow) -> TrustedThing:
    return TrustedThing(
        tenant=row.tenant,
        kind=row.kind,
        name=row.name,
        digest=row.digest,
        trusted_at=row.trusted_at,
        trusted_by=row.trusted_by,
    )
