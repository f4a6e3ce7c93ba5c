"""How long each page of the console takes, over a database with a million rows in each table that grows.

The rows are made by SQL from their numbers alone, the same in every run: 20,000 people and conversations, 90 days, and
calls spread so thinly that nobody's day has two to one model. Both databases are asked in turn.
"""

import asyncio
import re
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import aiohttp
import sqlalchemy as sa

from gateway.config.settings import load
from gateway.ops import control_client
from gateway.store import usage
from gateway.store.engine import Store
from tests.bench.subject import gateway
from tests.fakes.postgres import PostgresServer

ROWS = 1_000_000
GOAL_MS = 200
TRIES = 5
STARTED_S = 60.0
PAGES = (
    "", "people", "people?q=19999", "sessions", "sessions?person=u77", "session", "inbox", "inbox?outcome=open",
    "outbox", "outbox?state=ready", "outbox?state=unknown", "outbox?state=dead", "outbox?state=sent",
    "outbox?state=discarded", "usage?days=7", "usage", "usage?days=30", "usage?days=90", "audit", "config", "logs",
)  # fmt: skip

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)"
FEW = {"users": 50, "identities": 50, "grants": 50, "sessions": 50}
"""Of these there is one for so many of the others."""

FILL = {
    "users": (
        "INSERT INTO users (id, tenant_id, role, display_name, timezone, week_start, created_at) {n} SELECT 'u' || i, "
        "'default', CASE WHEN i % 500 = 0 THEN 'operator' ELSE 'member' END, 'Person ' || i, 'UTC', 0, {at} FROM n"
    ),
    "identities": (
        "INSERT INTO identities (tenant_id, channel, scope, sender, user_id, linked_at) {n} "
        "SELECT 'default', 'telegram', '', '' || i, 'u' || i, {at} FROM n"
    ),
    "grants": (
        "INSERT INTO grants (tenant_id, user_id, channel, account, granted_by, granted_at) {n} "
        "SELECT 'default', 'u' || i, 'telegram', 'main', 'cli', {at} FROM n"
    ),
    "sessions": (
        "INSERT INTO sessions (id, tenant_id, key, generation, mode, title, created_at) {n} SELECT {id}i, 'default', "
        "'agent:coach:telegram:main:direct:' || i, 1, 'steer', 'Scales', {at} FROM n"
    ),
    "turns": (
        "INSERT INTO turns (id, tenant_id, session_id, user_id, kind, address, started_at, attempts, end_reason, "
        "ended_at) {n} SELECT 't' || i, 'default', {id}{session}, 'u' || {person}, 'chat', "
        "'telegram' || {sep} || 'main' || {sep} || '1' || {sep}, {at}, 1, 'completed', {at} FROM n"
    ),
    "events": (
        "INSERT INTO events (session_id, seq, tenant_id, turn_id, step, kind, version, payload, at) {n} SELECT {id}"
        "{session}, i / {sessions}, 'default', 't' || i, 0, 'turn_ended', 1, "
        "'{{\"kind\":\"turn_ended\",\"reason\":\"completed\",\"text\":\"\"}}', {at} FROM n"
    ),
    "inbox": (
        "INSERT INTO inbox (tenant_id, channel, account, event_id, kind, chat, message_id, sender, user_id, "
        "session_key, payload, received_at, admitted_at, turn_id, attempts, outcome, done_at) {n} SELECT 'default', "
        "'telegram', 'main', 'old:' || i, 'message', '' || {person}, 'm' || i, 'telegram:' || {person}, "
        "'u' || {person}, 'agent:coach:telegram:main:direct:' || {session}, '{{}}', {at}, {at}, 't' || i, 1, "
        "'answered', {at} FROM n"
    ),
    "outbox": (
        "INSERT INTO outbox (tenant_id, cause, part, op, action, lane, channel, account, chat, rendered, plain, "
        "idem_key, state, attempts, platform_id, marked, created_at, done_at) {n} SELECT 'default', 't' || i, 0, 0, "
        "'send', 'telegram:main:' || {person}, 'telegram', 'main', '' || {person}, 'x', 'x', 'k', CASE "
        "WHEN i % 20000 = 1 THEN 'dead' WHEN i % 20000 = 2 THEN 'unknown' WHEN i % 20000 = 3 THEN 'discarded' ELSE "
        "'sent' END, 1, '7', false, {at}, {at} FROM n"
    ),
    "usage": (
        'INSERT INTO "usage" (tenant_id, user_id, session_id, turn_id, model, input_tokens, output_tokens, at, step, '
        "discarded, estimated, cost_microusd) {n} SELECT 'default', 'u' || {person}, {id}{session}, 't' || i, "
        "'openai:m' || (i % 3), 900, 90, {at}, 0, 0, false, 1000 FROM n"
    ),
    "audit": (
        "INSERT INTO audit (tenant_id, at, actor, action, subject, detail) {n} "
        "SELECT 'default', {at}, 'cli', 'role_changed', 'u' || {person}, 'member to operator' FROM n"
    ),
}  # fmt: skip

DAYS = (
    "INSERT INTO usage_days (tenant_id, day, user_id, model, calls, input_tokens, output_tokens, discarded, estimated, "
    "cost_microusd, unpriced) SELECT tenant_id, at / 86400000000, user_id, model, count(*), sum(input_tokens), "
    'sum(output_tokens), 0, 0, sum(cost_microusd), 0 FROM "usage" GROUP BY 1, 2, 3, 4'
)
"""As each call's commit adds them."""


async def run() -> dict[str, object]:
    """Milliseconds a page on SQLite and on PostgreSQL: the median, and the slowest, of a few tries."""
    found: dict[str, object] = {}
    for name in ("sqlite", "postgresql"):
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenk-bench-")))
            url = f"sqlite:///{home / 'tenk.db'}"
            if name == "postgresql":
                url = await stack.enter_context(PostgresServer()).create()
            print(f"\nconsole on {name}: {ROWS:,} rows a table; median and slowest of {TRIES}, ms (goal {GOAL_MS})")
            begun_s = time.perf_counter()
            await _fill(url)
            print(f"  made in {time.perf_counter() - begun_s:.0f} s")
            found[name] = await _measure(home, url)
    return found


async def _fill(url: str) -> None:
    now_us = time.time_ns() // 1_000
    store = await Store.open(url)
    for table, statement in FILL.items():
        count = ROWS // FEW.get(table, 1)
        instant = f"({now_us} - 90 * 86400000000 + i * CAST({90 * 86_400_000_000 // count} AS BIGINT))"
        each = {
            "id": "'a0000000-' || ",
            "person": f"(1 + i % {ROWS // 50})",
            "session": f"(1 + i % {ROWS // 50})",
            "sep": "chr(31)",
        }
        if url.startswith("sqlite"):
            each["sep"] = "char(31)"
        await _execute(store, statement.format(n=NUMBERS, at=instant, sessions=ROWS // 50, **each), count=count)
    await _execute(store, DAYS)
    await store.commit(lambda connection: usage.total_days(connection, datetime.now(UTC)))
    await _execute(store, "ANALYZE")
    await store.aclose()


async def _execute(store: Store, statement: str, **values: int) -> None:
    def job(connection: sa.Connection) -> None:
        connection.execute(sa.text(statement), values)

    await store.commit(job)


async def _measure(home: Path, url: str) -> dict[str, tuple[float, float]]:
    environment = {"DATABASE_URL": url}
    async with gateway(home, environment) as subject:
        settings = load(home / "gateway.toml", {"TENK_HOME": str(home), **environment})
        async with asyncio.timeout(STARTED_S):
            while (link := await _link(settings.control_path)) is None and subject.pid:
                await asyncio.sleep(0.1)
        base, _, secret = str(link).partition("#")
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
            await http.post(f"{base}/login", data={"secret": secret})
            listed = await (await http.get(f"{base}/sessions")).text()
            shown = re.search(r"session\?id=[^\"]+", listed)
            assert shown is not None, listed
            return {page: await _time(http, f"{base}/{page}", page, shown[0]) for page in PAGES}


async def _link(path: Path) -> str | None:
    try:
        answer = await control_client.call(path, "console.link", {})
    except control_client.NobodyAnswers:
        return None
    return str(answer["link"]) if isinstance(answer, dict) else None


async def _time(http: aiohttp.ClientSession, address: str, page: str, session: str) -> tuple[float, float]:
    address = address.removesuffix("session") + session if page == "session" else address.rstrip("/")
    took = []
    for _ in range(TRIES):
        begun_s = time.perf_counter()
        async with http.get(address) as answer:
            text = await answer.text()
        took.append(1000 * (time.perf_counter() - begun_s))
        assert answer.status == 200, text
        assert 'id="login"' not in text
    print(f"  {page or 'overview':24} {median(took):6.0f} {max(took):6.0f}   {len(text) // 1024} KiB")
    return round(median(took), 1), round(max(took), 1)
