"""Whose rows a job or a query sees: those of one tenant, or everybody's. No query lives here.

In a tenant's name no statement reaches the database without the filter: it is put in where statements are compiled,
once for each and not with every run. On PostgreSQL the rows' own policies stand behind it.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.util import LRUCache

from channels.tenant import DEFAULT_TENANT

P = ParamSpec("P")
T = TypeVar("T")

EVERYBODY = "*"
"""What the session setting holds where all rows are seen; no tenant has this name."""

SETTING = "tenk.tenant"
POLICY = "of_its_tenant"
COMPILED_STATEMENTS = 500

_ACTING: ContextVar[str | None] = ContextVar("acting_tenant", default=None)
OWNER = "acting_tenant"
"""The parameter that names whose rows a statement is to see."""
_IS_ACTING = sa.bindparam(OWNER, callable_=_ACTING.get, type_=sa.String(64))


class _Compiled(MutableMapping[Any, Any]):
    """Statements as they were compiled, those with the filter apart from those without."""

    def __init__(self) -> None:
        self._caches = {named: LRUCache[Any, Any](COMPILED_STATEMENTS) for named in (False, True)}

    @property
    def _now(self) -> LRUCache[Any, Any]:
        return self._caches[_ACTING.get() is not None]

    def __getitem__(self, key: object) -> Any:
        return self._now[key]

    def __setitem__(self, key: object, compiled: object) -> None:
        self._now[key] = compiled

    def __delitem__(self, key: object) -> None:
        del self._now[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._now)

    def __len__(self) -> int:
        return len(self._now)


_COMPILED = _Compiled()


acting_tenant: Callable[[], str | None] = _ACTING.get
"""In whose name this job or query runs; None: in nobody's, it sees everybody's rows. Asked with every row written."""


def whose_rows() -> str:
    """The acting tenant, where everybody's rows are seen the installation's own: whose rows a report is of."""
    return _ACTING.get() or DEFAULT_TENANT


def named_tenant() -> str:
    """Return the acting tenant, for queries that open a person's data.

    Raises:
        RuntimeError: the query sees everybody's rows.
    """
    tenant = _ACTING.get()
    if tenant is None:
        raise RuntimeError("a person's data is opened in the name of one tenant: use Store.of")
    return tenant


def run_as(
    tenant: str | None,
    job: Callable[Concatenate[sa.Connection, P], T],
    connection: sa.Connection,
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a job or a query that sees only this tenant's rows; None: the rows of all tenants."""
    if connection.get_execution_options().get("compiled_cache") is not _COMPILED:
        connection.execution_options(compiled_cache=_COMPILED)
    token = _ACTING.set(tenant)
    try:
        return job(connection, *args, **kwargs)
    finally:
        _ACTING.reset(token)


@contextmanager
def acting_for(tenant: str | None) -> Iterator[None]:
    """Statements that are compiled within have the filter, and it names this tenant."""
    token = _ACTING.set(tenant)
    try:
        yield
    finally:
        _ACTING.reset(token)


def forget_setting(connection: sa.Connection) -> None:
    """A transaction begins: what the one before set ended with it."""
    connection.info[SETTING] = EVERYBODY


def raise_wall(connection: sa.Connection, tables: Iterable[sa.Table]) -> None:
    """On PostgreSQL: who sets no tenant sees no row of these, not even the tables' owner. Done twice, it is once."""
    if connection.dialect.name != "postgresql":
        return
    walled = set(connection.execute(_WALLED).scalars())
    may = f"current_setting('{SETTING}', true)"
    for table in tables:
        if "tenant_id" in table.c and table.name not in walled:
            for statement in (
                f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY",
                f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY",
                f"CREATE POLICY {POLICY} ON {table.name} USING (tenant_id = {may} OR {may} = '{EVERYBODY}')",
            ):
                connection.exec_driver_sql(statement)


_policies = sa.table("pg_policies", sa.column("tablename"), sa.column("policyname"), sa.column("schemaname"))
_WALLED = sa.select(_policies.c.tablename).where(
    _policies.c.policyname == POLICY, _policies.c.schemaname == sa.func.current_schema()
)


# ------------------------------------------------------------ the filter


def own_rows(selected: sa.FromClause) -> Iterator[sa.ColumnElement[bool]]:
    """A condition for each table in this that has tenants' rows; the rows that an outer join did not find stay."""
    if isinstance(selected, sa.Join):
        yield from own_rows(selected.left)
        yield from own_rows(selected.right)
        return
    table = selected.element if isinstance(selected, sa.Alias) else selected
    if isinstance(table, sa.Table) and "tenant_id" in table.c:
        yield sa.func.coalesce(selected.c.tenant_id == _IS_ACTING, sa.true())


@compiles(sa.Select)
def _compile_select(select: sa.Select[Any], compiler: Any, **options: Any) -> Any:
    if _ACTING.get() is not None:
        state: Any = select._compile_state_factory(select, compiler)  # noqa: SLF001  `get_final_froms` compiles it anew
        froms = state._get_display_froms()  # noqa: SLF001  the same
        select = select.where(*(own for selected in froms for own in own_rows(selected)))
    return compiler.visit_select(select, **options)


@compiles(sa.Update)
def _compile_update(update: sa.Update, compiler: Any, **options: Any) -> Any:
    if _ACTING.get() is not None:
        update = update.where(*own_rows(update.table))
    return compiler.visit_update(update, **options)


@compiles(sa.Delete)
def _compile_delete(delete: sa.Delete, compiler: Any, **options: Any) -> Any:
    if _ACTING.get() is not None:
        delete = delete.where(*own_rows(delete.table))
    return compiler.visit_delete(delete, **options)
