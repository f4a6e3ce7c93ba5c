"""A fast start: help comes at once, heavy modules load when they are used."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

HEAVY = {"pydantic", "aiohttp", "sqlalchemy", "alembic", "structlog", "prometheus_client", "aiogram", "asyncio"}


def loaded_by(code: str, **environ: str) -> set[str]:
    script = f"import json, sys\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_click_only() -> None:
    code = "from gateway.cli.root import root\nroot(['--help'], standalone_mode=False)"
    assert set() == loaded_by(code) & HEAVY


UNASKED = {"aiogram", "discord", "slack_bolt", "openai", "hypothesis", "pytest", "lxml", "agent.web.pages"}


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
    assert set() == loaded_by(f"import {module}") & UNASKED


def test_a_start_loads_neither_migrations_nor_another_database() -> None:
    code = "from gateway.cli.root import root\nroot(['run', '--help'], standalone_mode=False)"
    code += "\nimport gateway.coach.product"
    unneeded = {"alembic", "sqlalchemy.dialects.postgresql", "agent.coach.offline"}
    of_capabilities = {"mcp", "trafilatura", "tree_sitter", "yaml"}
    assert set() == loaded_by(code) & (unneeded | of_capabilities)


def test_status_without_a_gateway_loads_no_agent_and_no_web_server(tmp_path: Path) -> None:
    code = "import contextlib, gateway.cli.root\n"
    code += "with contextlib.suppress(SystemExit): gateway.cli.root.root(['status'])"
    loaded = loaded_by(code, TENK_HOME=str(tmp_path))
    assert set() == loaded & {"gateway.product", "gateway.app", "gateway.cli.local", "alembic", "markdown_it"}
