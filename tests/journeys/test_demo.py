"""`tenk demo` that is cut short. `test_installed` plays it to its end."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEMO = (sys.executable, "-m", "gateway", "demo")


@pytest.mark.timeout(60)
def test_an_interrupted_demo_cleans_up(tmp_path: Path) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(DEMO, env=environment(tmp_path), **pipes) as demo:
        try:
            until_said(demo.stdout, "It reads from Telegram")
            gateway = gateway_of(tmp_path)
            demo.send_signal(signal.SIGINT)
            rest, errors = demo.communicate(timeout=30)
        finally:
            demo.kill()
    assert (130, "") == (demo.returncode, errors)
    assert "Stopped." in rest
    assert [] == list(tmp_path.iterdir())
    assert not Path(f"/proc/{gateway}").exists()


@pytest.mark.gate
@pytest.mark.timeout(60)
def test_a_killed_demo_leaves_nothing_behind(tmp_path: Path) -> None:
    with subprocess.Popen(DEMO, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as demo:
        until_said(demo.stdout, "It reads from Telegram")
        gateway = gateway_of(tmp_path)
        demo.kill()
    ends_at = time.monotonic() + 40
    while is_running(gateway) or list(tmp_path.iterdir()):
        assert time.monotonic() < ends_at, list(tmp_path.rglob("*"))
        time.sleep(0.05)


def environment(temporary: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "TMPDIR": str(temporary), "HOME": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}


def until_said(stdout, text: str) -> None:
    """Read on until a line holds the text."""
    while text not in (line := stdout.readline()):
        assert line, f"it ended without saying {text!r}"


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def gateway_of(temporary: Path) -> int:
    ends_at = time.monotonic() + 40
    while not (locks := [path for path in temporary.glob("*/lock") if path.read_text().strip()]):
        assert time.monotonic() < ends_at, "no gateway holds a home"
    return int(locks[0].read_text())
