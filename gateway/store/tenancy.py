"""The tenant filter: a job or a query meets the rows of one tenant, or those of the whole store.

SQLAlchemy compiles each SELECT, UPDATE and DELETE with the condition `own_rows` for every table in it that has a column
`tenant_id`, subqueries included. `Store.of` decides which tenant that is, and `run_as` names it for the time of a run.
"""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from channels.tenant import DEFAULT_TENANT

P = ParamSpec("P")
T = TypeVar("T")

TENANT = "tenant_id"
"""The column that names the tenant of a row."""

OWNER = "acting_tenant"
"""The parameter of a statement that holds the tenant whose rows it meets; NULL: the rows of all."""

_ACTING: ContextVar[str | None] = ContextVar(OWNER, default=None)

acting_tenant: Callable[[], str | None] = _ACTING.get
"""Return the tenant that this job or query runs for; None: for the whole store."""


def whose_rows() -> str:
    """Return the acting tenant, or the installation's own for the whole store: the tenant that a report is about."""
    return _ACTING.get() or DEFAULT_TENANT


def named_tenant() -> str:
    """Return the acting tenant, for queries that open a person's data.

    Raises:
        RuntimeError: the query runs for the whole store.
    """
    tenant = _ACTING.get()
    if tenant is None:
        raise RuntimeError("a person's data is opened in the name of one tenant: use Store.of")
    return tenant


def refuse_other(tenant: object, table: sa.Table) -> None:
    """Check the tenant that a job is about to write into a row.

    Raises:
        RuntimeError: the job acts for another tenant.
    """
    if acting_tenant() not in (None, tenant):
        raise RuntimeError(f"a job for tenant {acting_tenant()!r} writes a row of {table.name} of another")


def run_as(
    tenant: str | None,
    job: Callable[Concatenate[sa.Connection, P], T],
    connection: sa.Connection,
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a job or a query that meets only this tenant's rows; None: the rows of all tenants."""
    token = _ACTING.set(tenant)
    try:
        return job(connection, *args, **kwargs)
    finally:
        _ACTING.reset(token)


_OWNER = sa.bindparam(OWNER, callable_=_ACTING.get, type_=sa.String(64))


def own_rows(selected: sa.FromClause) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the tenant condition of each table in a FROM that has tenants.

    It is true for every row if no tenant acts (the parameter is NULL), and for a row that an outer join did not find.
    """
    if isinstance(selected, sa.Join):
        yield from own_rows(selected.left)
        yield from own_rows(selected.right)
        return
    table = selected.element if isinstance(selected, sa.Alias) else selected
    if isinstance(table, sa.Table) and TENANT in table.c:
        yield sa.func.coalesce(selected.c[TENANT] == _OWNER, sa.true())


@compiles(sa.Select)
def _compile_select(select: sa.Select[Any], compiler: Any, **options: Any) -> Any:
    state: Any = select._compile_state_factory(select, compiler)  # noqa: SLF001  `get_final_froms` would come back here
    froms = state._get_display_froms()  # noqa: SLF001  as above
    return compiler.visit_select(select.where(*(own for each in froms for own in own_rows(each))), **options)


@compiles(sa.Update)
def _compile_update(update: sa.Update, compiler: Any, **options: Any) -> Any:
    return compiler.visit_update(update.where(*own_rows(update.table)), **options)


@compiles(sa.Delete)
def _compile_delete(delete: sa.Delete, compiler: Any, **options: Any) -> Any:
    return compiler.visit_delete(delete.where(*own_rows(delete.table)), **options)
