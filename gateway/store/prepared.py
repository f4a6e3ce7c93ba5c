"""A connection that compiles a statement object once and then gives its text to the driver.

SQLAlchemy executes a statement object the first time. If the same object is executed again, as happens with those that
a module or a cache keeps, the driver's cursor takes its compiled text and the bound values: 8 µs on SQLite for an
UPDATE for which SQLAlchemy takes 25 (November 2026).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.result import SimpleResultMetaData

Values = Mapping[str, Any]
Bound = tuple[object, ...]
Shape = tuple[str, ...]
"""The names of the values that a statement is executed with: an INSERT or UPDATE is compiled for each."""

PREPARED = (sa.Select, sa.Insert, sa.Update, sa.Delete)


_MET: defaultdict[str, WeakKeyDictionary[Any, dict[Shape, "Prepared | None"]]] = defaultdict(WeakKeyDictionary)
"""The statement objects that were executed, by the dialect's name."""


class PreparingConnection(sa.Connection):
    """A connection on which statements that were executed before go to the driver.

    A listener of `before_execute` hears of a statement object once; while anything listens to `before_cursor_execute`,
    SQLAlchemy executes every statement.
    """

    def execute(self, statement: Any, parameters: Any = None, *, execution_options: Any = None) -> Any:
        if execution_options is None and self.in_transaction() and not self.dispatch.before_cursor_execute:
            rows = parameters if isinstance(parameters, list) else [parameters or {}]
            if rows and (found := self._find(statement, rows[0])) is not None and found.takes(rows):
                return self._drive(found, rows)
        return super().execute(statement, parameters, execution_options=execution_options)

    def _find(self, statement: Any, values: Values) -> "Prepared | None":
        """Return the prepared statement; None if it is executed for the first time, or cannot be prepared."""
        met = _MET[self.dialect.name]
        shapes = met.get(statement)
        if shapes is None:
            if isinstance(statement, PREPARED):
                met[statement] = {}
            return None
        shape = tuple(values)
        if shape not in shapes:
            shapes[shape] = prepare(statement, shape, self.dialect)
        return shapes[shape]

    def _drive(self, found: "Prepared", rows: Sequence[Values]) -> "Driven":
        """Execute it with the driver's cursor; an error is the one that SQLAlchemy makes of it."""
        driver: Any = self.connection
        cursor, bound = driver.cursor(), None
        try:
            bound = [found.bind(values) for values in rows]
            if len(bound) > 1:
                cursor.executemany(found.text, bound)
            else:
                cursor.execute(found.text, bound[0])
            described = cursor.description
            read = cursor.fetchall() if described is not None else ()
            rowcount = cursor.rowcount
            cursor.close()
        except BaseException as error:  # also if it was cancelled: SQLAlchemy gives up the connection
            is_refused = bound is None or isinstance(error, self.dialect.loaded_dbapi.Error)
            self._handle_dbapi_exception(error, found.text if is_refused else None, None, cursor, None)
            raise
        return Driven(found.keys, found.process(read, described), rowcount)


def prepare_on(engine: sa.Engine) -> None:
    """Let the connections of an engine prepare statements."""
    engine._connection_cls = PreparingConnection  # noqa: SLF001  AsyncEngine asks its engine for connections, too


class Driven(sa.IteratorResult[Any]):
    """The rows that a prepared statement returned, all read, and the number of those that it found or wrote."""

    def __init__(self, keys: SimpleResultMetaData, rows: Any, rowcount: int) -> None:
        super().__init__(keys, rows)
        self.rowcount = rowcount


class Prepared:
    """A compiled statement with what binds its values and reads its rows."""

    def __init__(self, text: str, bind: Callable[[Values], Bound], columns: Sequence[Any], dialect: sa.Dialect) -> None:
        self.text = text
        self.bind = bind
        self.keys = SimpleResultMetaData([column.keyname for column in columns])
        self._columns = columns
        self._dialect = dialect
        self._readers: list[tuple[int, Callable[[Any], Any]]] | None = None  # of columns that Python has otherwise

    def takes(self, rows: Sequence[Values]) -> bool:
        """Return False for several rows that each return something."""
        return len(rows) == 1 or not self._columns

    def process(self, read: Sequence[Any], described: Sequence[Any]) -> Iterator[Any]:
        """Return the driver's rows with the values that the columns' types make of them."""
        if self._readers is None and read:
            found = [
                column.type.dialect_impl(self._dialect).result_processor(self._dialect, description[1])
                for column, description in zip(self._columns, described, strict=True)
            ]
            self._readers = [(place, reader) for place, reader in enumerate(found) if reader is not None]
        return map(self._convert, read) if self._readers else iter(read)

    def _convert(self, row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for place, reader in self._readers or ():
            values[place] = reader(values[place])
        return tuple(values)


def prepare(statement: Any, shape: Shape, dialect: sa.Dialect) -> Prepared | None:
    """Compile the statement for values of these names; None if only SQLAlchemy can execute it."""
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(shape))
    names = compiled.positiontup  # both drivers bind by position
    fixed = {name: compiled.binds[name] for name in names if name not in shape}
    if (
        compiled.post_compile_params
        or compiled.literal_execute_params
        or compiled.insert_prefetch
        or compiled.update_prefetch
        or statement.get_execution_options()
        or any(bind.required for bind in fixed.values())
    ):
        return None
    made = {name: bind.callable for name, bind in fixed.items() if bind.callable is not None}
    constant = {name: bind.value for name, bind in fixed.items() if bind.callable is None}
    processes = [compiled.binds[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
    processed = [(place, process) for place, process in enumerate(processes) if process is not None]
    take = itemgetter(*names) if len(names) > 1 else lambda given: [given[name] for name in names]

    def bind(values: Values) -> Bound:
        row = list(take({**constant, **{name: make() for name, make in made.items()}, **values}))
        for place, process in processed:
            row[place] = process(row[place])
        return tuple(row)

    return Prepared(compiled.string, bind, compiled._result_columns, dialect)  # noqa: SLF001  it has no other name
