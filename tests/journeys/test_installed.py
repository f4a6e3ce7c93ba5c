"""The wheel in an environment of its own, without a checkout: empty home directory, another working directory."""

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.ports import free_port

pytestmark = [pytest.mark.gate, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed command, in an empty directory."""

    programs: Path
    directory: Path
    environment: dict[str, str]

    def tenk(self, *arguments: str, **environ: str) -> str:
        """Run a command, which has to end well; return what it prints."""
        done = subprocess.run(
            [self.programs / "tenk", *arguments],
            cwd=self.directory,
            env=self.environment | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        assert 0 == done.returncode, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    @contextmanager
    def start(self, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
        """Run a command until the block ends; SIGTERM ends it well."""
        command = [self.programs / "tenk", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with subprocess.Popen(command, cwd=self.directory, env=self.environment, text=True, **pipes) as process:
            try:
                yield process
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=WAIT_S)
                assert 0 == process.returncode
            finally:
                process.kill()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment that finds the other packages in the one of the tests."""
    target = tmp_path_factory.mktemp("installed")
    python = target / "venv" / "bin" / "python"
    for command in (
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target],
        [sys.executable, "-m", "venv", "--without-pip", target / "venv"],
    ):
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=WAIT_S)
    (wheel,) = target.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "--quiet", wheel]
    subprocess.run(pip, check=True, timeout=WAIT_S)
    (packages,) = (target / "venv" / "lib").glob("python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    is_ours = f"import gateway; assert gateway.__file__.startswith({str(target)!r})"
    subprocess.run([python, "-c", is_ours], cwd=target, check=True, timeout=WAIT_S)
    return python.parent


@pytest.fixture
def installed(programs: Path, tmp_path: Path) -> Installed:
    (tmp_path / "home").mkdir()
    (tmp_path / "bot").mkdir()
    environment = {
        "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "TENK_HTTP": f"127.0.0.1:{free_port()}",
    }
    return Installed(programs, tmp_path / "bot", environment)


def test_a_bot_is_set_up_run_and_restored_from_the_wheel(installed: Installed) -> None:
    bot, tenk = installed.directory, installed.tenk
    (docs,) = re.findall(r"\S+/share/tenk-gateway/docs", tenk("--help"))
    assert Path(docs, "index.md").is_file()
    assert "Wrote config/gateway.toml." in tenk("init")
    assert (ROOT / "config" / "gateway.toml").read_text() == (bot / "config" / "gateway.toml").read_text()
    assert "valid" in tenk("config", "check")
    with installed.start("run") as gateway:
        until((bot / "var" / "control.sock").exists, gateway)
        assert "guitar" in tenk("chat", "--print", "/log 45m guitar")
        assert "45 min" in tenk("chat", "--print", "/stats")
        assert "español" in tenk("chat", "--print", "/language es")
        assert f"A gateway is running on {bot / 'var'}.\n" in tenk("status")
        assert f"{bot / 'config' / 'gateway.toml'} is valid" in tenk("doctor", "--local")
        page = f"http://{installed.environment['TENK_HTTP']}"
        (link,) = re.findall(r"http://\S+", tenk("console"))
        for address in (page, f"{page}/playground", link, f"{page}/console/static/console.css"):
            with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
                assert 200 == answer.status
        tenk("db", "backup", "backup.db")
    tenk("db", "restore", "backup.db", TENK_HOME="trial")
    assert "45 min" in tenk("chat", "--print", "/stats", TENK_HOME="trial")
    assert [] == list(Path(installed.environment["HOME"]).iterdir())


def test_the_demo_loses_and_doubles_nothing(installed: Installed) -> None:
    told = installed.tenk("demo")
    table = re.findall(r"^  (\w+)((?: +\d+){6})$", told.partition("What it came to")[2], re.MULTILINE)
    assert ["Telegram", "Slack", "Discord"] == [platform for platform, _ in table]
    for _, figures in table:
        written, not_meant, answered, *flaws = map(int, figures.split())
        assert written == answered + not_meant
        assert [0, 0, 0] == flaws
    assert 1 == told.count("$ kill -9")
    assert "\x1b" not in told
    assert {"home", "bot"} == {left.name for left in installed.directory.parent.iterdir()}


def test_the_playground_opens_from_the_wheel(installed: Installed) -> None:
    with installed.start("playground", "--port", "0") as playground:
        assert playground.stdout is not None
        address = next(found[0] for line in playground.stdout if (found := re.search(r"http://\S+", line)))
        with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
            assert 200 == answer.status


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    ends_s = time.monotonic() + WAIT_S
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends_s
        time.sleep(0.05)
