"""Keeps which models are left alone, and until when, as rows; `agent.models` decides why."""

from collections.abc import Mapping

import sqlalchemy as sa

from agent.errors import FailureKind
from agent.models.health import Gate, Rest
from gateway.store.dialect import upsert
from gateway.store.tables.turns import model_rests

MAX_MODEL_CHARS = 255


def load(connection: sa.Connection) -> list[Rest]:
    """All that were kept; of kinds that this version does not know none."""
    known = sa.and_(model_rests.c.gate.in_(list(Gate)), model_rests.c.why.in_(list(FailureKind)))
    return [
        Rest(row.model, Gate(row.gate), FailureKind(row.why), row.until, row.strikes, row.mark)
        for row in connection.execute(sa.select(model_rests).where(known))
    ]


def keep_all(connection: sa.Connection, changes: Mapping[tuple[str, Gate], Rest | None]) -> None:
    """How each model stands at a gate now; None: it is well."""
    for (model, gate), rest in changes.items():
        _keep(connection, model[:MAX_MODEL_CHARS], gate, rest)


def _keep(connection: sa.Connection, model: str, gate: Gate, rest: Rest | None) -> None:
    if rest is None:
        at = sa.and_(model_rests.c.model == model, model_rests.c.gate == gate.value)
        connection.execute(sa.delete(model_rests).where(at))
        return
    row = {
        "model": model, "gate": rest.gate.value, "why": rest.why.value,
        "until": rest.until, "strikes": rest.strikes, "mark": rest.mark,
    }  # fmt: skip
    connection.execute(upsert(connection, model_rests, ["why", "until", "strikes", "mark"]), row)
