"""One home, one gateway."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import GatewayError
from gateway.ops.lock import HomeLock


def test_a_home_is_free_again_after_use(tmp_path: Path) -> None:
    for _ in range(2):
        with HomeLock(tmp_path / "new" / "home") as lock:
            assert lock is not None


def test_the_hold_ends_with_the_process(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from gateway.ops.lock import HomeLock\n"
    code += "HomeLock(Path(sys.argv[1])).__enter__(); os._exit(137)"
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=50)
    assert 137 == killed.returncode
    with HomeLock(tmp_path):
        assert f"{os.getpid()}\n" == (tmp_path / "lock").read_text()


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = HomeLock(tmp_path / "file")
    with pytest.raises(GatewayError, match=r"the home .*file.* cannot be used .*TENK_HOME"), blocked:
        pass
