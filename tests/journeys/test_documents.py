"""Every command and code block of the documentation, run as it stands."""

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.simulators.telegram.server import TelegramSimulator
from gateway.testing.model import FakeModel
from tests.fakes.fork_server import ForkServer
from tests.fakes.ports import free_port
from tests.house.test_pages import PAGES

pytestmark = [pytest.mark.gate, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOKEN = "123456789:" + "AbC-_" * 7
CONFIG = '[channels.api]\nenabled = true\n[tenants.acme]\nlanguage = "es"\n'
OLGA, ANA, BOB = 1, 42, 43
WAIT_S = 60.0
CODE = re.compile(r"\b[A-HJ-NP-Z2-9]{4}-?[A-HJ-NP-Z2-9]{4}\b")
KEY = re.compile(r"\btenk-[A-Za-z0-9]+-[A-Za-z0-9_-]{16,}")
PAGES_WITH_COMMANDS = sorted(path.stem for path in DOCS.glob("*.md") if "\n```sh\n" in path.read_text(encoding="utf-8"))
ANA_WAITS = {"operating"}
"""Pages on which she is let in by the commands of the page."""
WITH_A_MODEL = {"replay"}
"""Pages on which a model answers her first."""


def blocks(path: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


class Terminal:
    def __init__(self, directory: Path, telegram: TelegramSimulator) -> None:
        self.directory = directory
        self.telegram = telegram
        self.port = free_port()
        self.shown = {"127.0.0.1:8080": f"127.0.0.1:{self.port}", "docs/examples/": f"{DOCS / 'examples'}/"}
        """Values in the pages, and their replacements here."""
        kept = {name: os.environ[name] for name in ("LANG", "HOME") if name in os.environ}
        self.environment = (
            kept
            | telegram.environment()
            | {
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "TENK_HOME": str(directory / "var"),
                "TENK_HTTP": f"127.0.0.1:{self.port}",
            }
        )

    async def type(self, line: str, directory: Path | None = None) -> str:
        """Run one line, and return what it prints; it has to end well.

        `tenk` is forked; on the page about the installation it is what that made.
        """
        for shown, here in self.shown.items():
            line = line.replace(shown, here)
        directory = directory or self.directory
        program, *words = shlex.split(line)
        if program == "tenk" and directory == self.directory:
            given = (["-m", "gateway", *words], self.environment, directory, WAIT_S)
            done = await asyncio.to_thread(ForkServer.of().run, *given)
            return self._ended_well(line, done.returncode, done.stdout, done.stderr)
        process = await asyncio.create_subprocess_exec(
            "sh",
            "-c",
            line,
            cwd=directory,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        said, complaint = await process.communicate()
        return self._ended_well(line, process.returncode, said.decode(), complaint.decode())

    def _ended_well(self, line: str, status: int | None, said: str, complaint: str) -> str:
        assert 0 == status, f"{line}\n{said}\n{complaint}"
        if key := KEY.search(said):
            self.shown["KEY"] = key[0]
        return said

    async def let_in(self, person: int, name: str) -> None:
        self.shown["CODE"] = await self.ask_for_code(person, name)
        await self.type("tenk pairing approve CODE")

    async def answered(self, person: int, words: str) -> None:
        """Wait until the bot has said these words to a person."""
        chat = self.telegram.direct(person)
        await self.telegram.until(lambda: any(words in seen.text for seen in self.telegram.answers(chat)), 30.0)

    async def ask_for_code(self, person: int, name: str) -> str:
        """Let a stranger write; return the code that the bot answers with."""
        chat = self.telegram.direct(person)
        self.telegram.name_person(person, name)
        self.telegram.say(chat, f"hello, I am {name}")
        found: list[str] = []

        def is_told() -> bool:
            told = [code[0] for seen in self.telegram.answers(chat) if (code := CODE.search(seen.text))]
            found[:] = told
            return bool(told)

        await self.telegram.until(is_told, 30.0)
        return found[-1]


@asynccontextmanager
async def a_terminal(directory: Path, *, has_model: bool = False) -> AsyncIterator[Terminal]:
    (directory / "config").mkdir()
    (directory / "config" / "gateway.toml").write_text(CONFIG)
    async with TelegramSimulator.with_bot(TOKEN) as telegram, FakeModel() as model:
        terminal = Terminal(directory, telegram)
        if has_model:
            terminal.environment |= {"OPENAI_BASE_URL": model.base_url, "TENK_MODEL": "openai:small"}
        log = directory / "log"
        gateway = ForkServer.of().start(["-m", "gateway", "run"], terminal.environment, directory, log, log)
        try:
            await telegram.until(telegram.is_connected, 30.0)
            await terminal.let_in(OLGA, "olga")
            yield terminal
        finally:
            gateway.send_signal(signal.SIGTERM)
            await gateway.wait()


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
async def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    async with a_terminal(tmp_path, has_model=page in WITH_A_MODEL) as here:
        await here.ask_for_code(BOB, "bob")
        here.shown["CODE"] = await here.ask_for_code(ANA, "ana")
        if page not in ANA_WAITS:
            await here.type("tenk pairing approve CODE")
        if page in WITH_A_MODEL:
            await here.answered(ANA, "A short answer.")
        for block in blocks(DOCS / f"{page}.md", "sh"):
            for line in block.splitlines():
                await here.type(line, ROOT if page == "install" else None)


PYTHON = [(path, block) for path in PAGES for block in blocks(path, "python")]


@pytest.mark.parametrize(("path", "code"), PYTHON, ids=[f"{path.stem}-{n}" for n, (path, _) in enumerate(PYTHON)])
async def test_the_python_of_a_page_runs(path: Path, code: str) -> None:
    names: dict[str, object] = {}
    exec(compile(code, str(path), "exec"), names)
    for name, value in names.items():
        if name.startswith("test_") and callable(value):
            await value()
