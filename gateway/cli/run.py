"""`tenk run`: the gateway in the foreground."""

import asyncio
import faulthandler
import gc
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import click

from agent.models.known_servers import KnownServers
from agent.permission_rules import PermissionRule
from gateway.app import serve
from gateway.cli.flags import flag_options
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.command_set import check_commands
from gateway.config.editing import ConfigFiles
from gateway.config.environment import NO_ROLES
from gateway.config.settings import Settings, read_files, read_sources, settings_of, sources_of
from gateway.config.sources import ConfigFile
from gateway.errors import SettingsError
from gateway.event_loop import make_loop
from gateway.ops.log_file import LOG_NAME, LogFile
from gateway.ops.model_servers import look_ahead
from gateway.product import check_flags, check_names
from gateway.telemetry import LossyStream, keep_lines

STDERR = 2

SETTLED_S = 0.1
"""Seconds a configuration file must stay unchanged before it is read."""

LOOKS = 20

LEFT_BEHIND_S = 5.0
"""Seconds that a stopped gateway waits for tasks and threads left by other libraries or extensions."""


def _refuse_role(_context: click.Context, _option: click.Parameter, role: str | None) -> None:
    """Raise UsageError for the option `--role`, which was removed."""
    if role is not None:
        raise click.UsageError(f"--role {role}: {NO_ROLES}")


@click.command("run")
@click.option("--role", hidden=True, expose_value=False, callback=_refuse_role)
@flag_options("--allow-tool", "--deny-tool")
@config_option
def command(config_path: Path | None, allow: tuple[PermissionRule, ...], deny: tuple[PermissionRule, ...]) -> None:
    """Run the gateway until SIGTERM or Ctrl-C. At a terminal it prints what to do next."""
    faulthandler.enable(STDERR)  # systemd's watchdog ends a hung gateway by SIGABRT: the log says where it hung
    gc.disable()  # until the gateway routes: before that little is garbage
    settings = prepare(config_path, level=None)
    keep_lines(LogFile(settings.home / LOG_NAME).write)
    check_names(settings, read_sources(config_path, os.environ))
    check_commands(settings)
    flags = (*allow, *deny)
    check_flags(settings, flags)
    with asyncio.Runner(loop_factory=make_loop) as runner:
        try:
            runner.run(_serve(settings, config_path, flags))
        except BaseException:
            _end_soon(1)
            raise
        _end_soon(0)


def _end_soon(code: int) -> None:
    """Exit after `LEFT_BEHIND_S` even if a task or thread of other code is still running."""
    end = threading.Timer(LEFT_BEHIND_S, os._exit, [code])
    end.daemon = True
    end.start()


def _say(*texts: str) -> None:
    """Print texts for the operator, unless the output is closed."""
    for text in texts:
        LossyStream(sys.stdout).write(f"{text}\n")


class Rereading:
    """A reader of the configuration for reloads. It waits until the files stop changing."""

    def __init__(self, config_path: Path | None) -> None:
        """Read the files once, so that a file that disappears later is noticed."""
        self._path = config_path
        self._before = read_files(config_path)

    def __call__(self) -> Settings:
        """Return the settings; call it in a thread.

        Raises:
            SettingsError: they are invalid, or a file that had text at the last read is now empty or gone.
        """
        files = self._read_settled()
        for old, new in zip(self._before, files, strict=True):
            if old.text.strip() and not new.text.strip():
                gone = "is now empty or gone, but had text at the last read"
                raise SettingsError(f"{new.path}: {gone}; restart the gateway if you meant that")
        sources = sources_of(*files, os.environ)
        settings = settings_of(sources)
        check_names(settings, sources)
        model, _ = asyncio.run(look_ahead(settings.model, KnownServers()))
        self._before = files
        return settings.model_copy(update={"model": model})

    def _read_settled(self) -> tuple[ConfigFile, ConfigFile]:
        """Read the files until they are the same twice: an editor may be writing them."""
        files = read_files(self._path)
        for _ in range(LOOKS):
            time.sleep(SETTLED_S)
            earlier, files = files, read_files(self._path)
            if earlier == files:
                break
        return files


async def _serve(settings: Settings, config_path: Path | None, flags: Sequence[PermissionRule]) -> None:
    servers = KnownServers()
    model, sentences = await look_ahead(settings.model, servers)
    settings = settings.model_copy(update={"model": model})
    if not sys.stdout.isatty():
        _say(*sentences)

    def show(text: str) -> None:
        _say(*sentences, text)
        sentences.clear()  # said after the start: one that fails says why, and nothing else

    files = ConfigFiles(config_path, os.environ, Rereading(config_path))
    await serve(settings, show=show if sys.stdout.isatty() else None, servers=servers, files=files, flags=flags)
