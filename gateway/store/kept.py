"""How much of what was never meant for the bot is kept: of refused rows nothing, of what was read along the last few.

The row itself, with the key by which a redelivery is recognised, stays until `gateway.store.retention` takes it.
"""

import sqlalchemy as sa

from gateway.store.tables.traffic import inbox

NOTHING = ""
"""The payload of a row of which nothing is kept."""

LAST = {"context": 30, "quarantined": 100}
"""Rows whose payload is kept, by outcome: of a chat's talk, and of what an account could not read."""

_IS_READ_ALONG = sa.and_(
    inbox.c.outcome.in_([sa.literal_column(f"'{outcome}'") for outcome in LAST]),
    inbox.c.payload != sa.literal_column("''"),
)
"""Written out, because an index with a condition serves no query that binds it."""

_place = sa.select(inbox.c.channel, inbox.c.account, inbox.c.chat, inbox.c.outcome).where(
    inbox.c.id == sa.bindparam("b_id")
)


def forget_older(connection: sa.Connection, id_: int) -> None:
    """Blank what was read along in the chat of this row so long ago that it is not among the last."""
    place = connection.execute(_place, {"b_id": id_}).first()
    if place is None or place.outcome not in LAST:
        return
    older = (
        sa.select(inbox.c.id)
        .where(
            inbox.c.channel == place.channel, inbox.c.account == place.account, inbox.c.chat == place.chat,
            inbox.c.outcome == place.outcome, _IS_READ_ALONG,
        )
        .order_by(inbox.c.id.desc())
        .offset(LAST[place.outcome])
    )  # fmt: skip
    connection.execute(sa.update(inbox).where(inbox.c.id.in_(older)).values(payload=NOTHING))
