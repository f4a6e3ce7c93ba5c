"""Hot statements: the same by the driver and by SQLAlchemy; a failure fails the transaction."""

import sqlite3
from collections.abc import Iterator, Mapping

import pytest
import sqlalchemy as sa

from gateway.store.dialect import HotStatement, insert_new_in
from gateway.store.engine import VALUE_REFUSED
from gateway.store.looking import is_outage
from gateway.store.tables.base import Instant
from gateway.store.writer import commit_group, mark_errors
from tests.fakes.people import NOON

NOTES = sa.Table(
    "notes",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("text", sa.Text, unique=True),
    sa.Column("at", Instant),
    sa.Column("told", sa.Boolean),
    sa.Column("attempts", sa.Integer, default=7),
)
ADD = HotStatement(lambda dialect: insert_new_in(dialect, NOTES).returning(NOTES.c.id))
INSERT = HotStatement(sa.insert(NOTES))
TELL = HotStatement(
    sa.update(NOTES).where(NOTES.c.id == sa.bindparam("b_id")).values(told=sa.true(), text=sa.bindparam("b_text"))
)
FIND = HotStatement(sa.select(NOTES.c.id, NOTES.c.at, NOTES.c.told, NOTES.c.text).order_by(NOTES.c.id))


def note(text: object) -> Mapping[str, object]:
    return {"text": text, "at": NOON, "told": False, "attempts": 0}


@pytest.fixture(params=["driven", "listened to"])
def connection(request: pytest.FixtureRequest) -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    mark_errors(engine)
    if request.param == "listened to":
        sa.event.listen(engine, "before_cursor_execute", lambda *_: None)
    with engine.connect() as made:
        NOTES.create(made)
        made.commit()
        yield made
    engine.dispose()


def test_both_ways_write_and_find_the_same(connection):
    with connection.begin():
        assert [(1,)] == [tuple(row) for row in ADD.rows(connection, note("a"))]
        assert [] == list(ADD.rows(connection, note("a")))
        INSERT.write_all(connection, [note("b"), note("c")])
        assert 1 == TELL.count(connection, {"b_id": 2, "b_text": "d"})
        assert 0 == TELL.count(connection, {"b_id": 9, "b_text": "e"})
        assert ["a", "d", "c"] == [row[3] for row in FIND.rows(connection, {})]
    found = connection.execute(sa.select(NOTES).order_by(NOTES.c.id)).all()
    assert [(1, "a", NOON, False), (2, "d", NOON, True), (3, "c", NOON, False)] == [tuple(row)[:4] for row in found]


def test_refused_value_is_its_jobs_error_with_the_drivers_own_behind_it(connection):
    outcomes = commit_group(
        connection,
        [
            lambda c: INSERT.count(c, note("a")),
            lambda c: INSERT.count(c, note("a")),
            lambda c: INSERT.count(c, note("\ud800")),
            lambda c: INSERT.count(c, note("b") | {"at": NOON.replace(tzinfo=None)}),
            lambda c: INSERT.count(c, note("b")),
        ],
        is_outage,
    )
    errors = [error for _, error in outcomes]
    assert [None, sa.exc.IntegrityError] == [errors[0], type(errors[1])]
    assert isinstance(errors[1].orig, sqlite3.IntegrityError)
    assert all(isinstance(error, VALUE_REFUSED) for error in errors[1:4])
    assert errors[4] is None
    assert ["a", "b"] == list(connection.execute(sa.select(NOTES.c.text)).scalars())


def test_default_that_python_makes_is_not_left_out_unseen():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        NOTES.create(connection)
        with pytest.raises(ValueError, match="name the column"):
            HotStatement(sa.insert(NOTES)).count(connection, {"text": "a"})
    engine.dispose()


def test_outside_a_transaction_it_begins_one(connection):
    INSERT.count(connection, note("a"))
    connection.rollback()
    assert [] == connection.execute(sa.select(NOTES)).all()
