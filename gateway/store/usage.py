"""What the models cost in tokens, summed by day, person and model. The rows are written with the journal."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa

from gateway.store.tables.base import EPOCH
from gateway.store.tables.turns import usage

DAY_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The calls of one person to one model on one UTC day; tokens are None where the provider never counted them."""

    day: date
    user_id: str
    model: str
    calls: int
    input_tokens: int | None  # all input, cached included
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None


def usage_sums(
    connection: sa.Connection, tenant: str, since: datetime, until: datetime, user_id: str | None = None
) -> list[UsageSum]:
    """The sums of a tenant, or of one person, with `since` <= instant < `until`; oldest day first."""
    day = (sa.type_coerce(usage.c.at, sa.BigInteger) // DAY_MICROSECONDS).label("day")
    counted = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    query = (
        sa.select(
            day, usage.c.user_id, usage.c.model, sa.func.count(), *(sa.func.sum(usage.c[name]) for name in counted)
        )
        .where(usage.c.tenant_id == tenant, usage.c.at >= since, usage.c.at < until)
        .group_by(day, usage.c.user_id, usage.c.model)
        .order_by(day, usage.c.user_id, usage.c.model)
    )
    if user_id is not None:
        query = query.where(usage.c.user_id == user_id)
    return [UsageSum((EPOCH + timedelta(days=days)).date(), *rest) for days, *rest in connection.execute(query)]
