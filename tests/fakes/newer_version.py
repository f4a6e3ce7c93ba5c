"""The gateway of this tree with one more revision, which only tests have; a process of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from gateway.store.revisions import FIRST, VERSIONS
from tests.house.tree import ROOT

NEWER = "9000"
REVISION = f"""
import os, signal
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEWER}", "{{before}}", None, None

def upgrade():
    with op.batch_alter_table("audit") as audit:
        audit.add_column(sa.Column("place", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE audit SET place = 'was ' || subject")
    if os.environ.get("TENK_TEST_KILL"):
        os.kill(os.getpid(), signal.SIGKILL)
"""


class NewerVersion:
    """A copy of the `gateway` package beside the other two, at revision `NEWER`."""

    def __init__(self, directory: Path) -> None:
        shutil.copytree(ROOT / "gateway", directory / "gateway")
        before = max(path.name[: len(FIRST)] for path in VERSIONS.glob("[0-9]*_*.py"))
        versions = directory / VERSIONS.relative_to(ROOT)
        (versions / f"{NEWER}_for_tests.py").write_text(REVISION.format(before=before))
        self._environment = os.environ | {"PYTHONPATH": f"{directory}:{ROOT}"}

    def run(self, home: Path, url: str, *command: str, killed: bool = False) -> "subprocess.CompletedProcess[str]":
        """Run `tenk` on a home and a database; with `killed` it dies within the migration."""
        settings = {"TENK_HOME": str(home), "DATABASE_URL": url, "TENK_TEST_KILL": "1" if killed else ""}
        return subprocess.run(
            [sys.executable, "-m", "gateway", *command],
            cwd=home,
            env=self._environment | settings,
            capture_output=True,
            text=True,
            timeout=60,
        )
