"""One home, one gateway."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.errors import AlreadyRunning, GatewayError
from gateway.ops.lock import HomeLock


def test_a_second_gateway_is_told_who_holds_the_home(tmp_path: Path) -> None:
    """The refusal names the process, the home and the way out."""
    with HomeLock(tmp_path), pytest.raises(AlreadyRunning) as refused, HomeLock(tmp_path):
        pass
    assert f"process {os.getpid()} already runs a gateway on {tmp_path}" in str(refused.value)
    assert "TENK_HOME" in str(refused.value)


def test_a_home_is_free_again_after_use(tmp_path: Path) -> None:
    """Letting go, and taking again, needs no clean-up."""
    for _ in range(2):
        with HomeLock(tmp_path / "new" / "home") as lock:
            assert lock is not None


def test_the_hold_ends_with_the_process(tmp_path: Path) -> None:
    """A killed gateway leaves no stale lock: its process id in the file means nothing."""
    code = "import os, sys; from pathlib import Path; from gateway.ops.lock import HomeLock\n"
    code += "HomeLock(Path(sys.argv[1])).__enter__(); os._exit(137)"
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=50)
    assert 137 == killed.returncode
    with HomeLock(tmp_path):
        assert f"{os.getpid()}\n" == (tmp_path / "lock").read_text()


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A file where the home should be is an error about TENK_HOME, not a traceback."""
    (tmp_path / "file").write_text("")
    blocked = HomeLock(tmp_path / "file")
    with pytest.raises(GatewayError, match=r"the home .*file.* cannot be used .*TENK_HOME"), blocked:
        pass


def test_a_start_waits_for_a_command_that_has_the_home(tmp_path: Path) -> None:
    """What takes a moment, as `tenk pairing approve` does where no gateway runs, stops no gateway from starting."""
    command = HomeLock(tmp_path)
    command.__enter__()
    threading.Timer(0.2, command.__exit__, (None, None, None)).start()
    with HomeLock(tmp_path, wait_s=30):
        assert f"{os.getpid()}\n" == (tmp_path / "lock").read_text()
