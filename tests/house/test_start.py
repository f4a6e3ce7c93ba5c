"""Help comes at once, and heavy things are loaded only when they are used."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.store.engine import Store
from tests.house.tree import ROOT

HEAVY = {"pydantic", "aiohttp", "sqlalchemy", "alembic", "structlog", "prometheus_client", "aiogram", "asyncio"}


def loaded_by(code: str, **environ: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`."""
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=15,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_click_only() -> None:
    """`tenk --help` loads nothing that is not needed to print a table (it takes under 300 ms)."""
    code = "from gateway.cli.root import root\nroot(['--help'], standalone_mode=False)"
    assert set() == loaded_by(code) & HEAVY


def test_a_list_of_conversations_loads_tables_and_no_settings(tmp_path: Path) -> None:
    """`tenk sessions list` is waited for: without a gateway it asks the file, with one its socket."""
    ours = "gateway.config.settings", "gateway.store.writer", "gateway.app", "agent.transcript", "channels.messages"
    code = "from gateway.cli.root import root\nroot(['sessions', 'list'], standalone_mode=False)"
    asyncio.run(_make_database(tmp_path))
    loaded = loaded_by(code, TENK_HOME=str(tmp_path))
    assert {"sqlalchemy", "asyncio"} == loaded & {*HEAVY, *ours}  # the second comes with the first
    assert set() == loaded_by("import gateway.cli.sessions, gateway.cli.users, gateway.cli.messages") & {*HEAVY, *ours}


def test_no_list_loads_settings_or_a_server(tmp_path: Path) -> None:
    """Without a gateway each asks the file by what it shows alone, in half the time that settings take."""
    asyncio.run(_make_database(tmp_path))
    asked = ["users list", "audit", "pairing list", "invite list", "keys list", "inbox", "outbox list", "usage"]
    asked += ["sessions list --person telegram:1", "trace ana"]
    code = (
        "import contextlib, gateway.cli.root\nfrom gateway.errors import GatewayError\n"
        f"for words in {asked}:\n    with contextlib.suppress(GatewayError):\n"
        "        gateway.cli.root.root(words.split(), standalone_mode=False)"
    )
    unasked = {"aiohttp", "alembic", "gateway.config.settings", "gateway.product", "gateway.app", "gateway.ops.status"}
    loaded = loaded_by(code, TENK_HOME=str(tmp_path))
    assert {"gateway.ops.trace", "gateway.ops.usage_report"} < loaded and not loaded & unasked


def test_the_status_of_a_gateway_that_does_not_run_loads_no_library(tmp_path: Path) -> None:
    """`tenk status` takes under 300 ms also where it reads the file itself."""
    asyncio.run(_make_database(tmp_path))
    code = (
        "import contextlib, gateway.cli.root\nwith contextlib.suppress(SystemExit): gateway.cli.root.root(['status'])"
    )
    assert set() == loaded_by(code, TENK_HOME=str(tmp_path)) & HEAVY


async def _make_database(home: Path) -> None:
    await (await Store.open(f"sqlite:///{home / 'tenk.db'}")).aclose()


UNASKED = {"aiogram", "discord", "slack_bolt", "openai", "hypothesis", "pytest"}


@pytest.mark.parametrize(
    "module",
    [
        "channels.base",
        "channels.registry",
        "channels.telegram.config",
        "gateway.config.settings",
        "gateway.app",
        "agent.loop",
    ],
)
def test_no_platform_sdk_is_loaded_unasked(module: str) -> None:
    """Contracts, configuration and the whole gateway import without a platform's SDK."""
    assert set() == loaded_by(f"import {module}") & UNASKED


SELDOM = {
    "alembic", "jinja2", "sqlalchemy.dialects.postgresql", "agent.coach.offline", "regex", "markdown_it",
    "greenlet", "rich", "frozenlist._frozenlist", "bz2", "lzma",
}  # fmt: skip


def test_the_gateway_loads_nothing_that_is_seldom_used() -> None:
    """Not migrations, pages, the other database or what reads long texts; nor what others load because it is there."""
    code = "from gateway.cli.root import root\nroot(['run', '--help'], standalone_mode=False)"
    code += "\nimport gateway.coach.product"
    assert set() == loaded_by(code) & SELDOM
