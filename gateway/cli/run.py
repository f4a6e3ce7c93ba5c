"""`tenk run`: the gateway in the foreground."""

import asyncio
import gc
import os
import sys
import threading
import time
from pathlib import Path

import click

from agent.models.known_servers import KnownServers
from gateway.app import serve
from gateway.cli.prepare import prepare
from gateway.cli.root import config_option
from gateway.config.environment import NO_ROLES
from gateway.config.settings import Settings, read_files, read_sources, settings_of, sources_of
from gateway.config.sources import ConfigFile
from gateway.errors import SettingsError
from gateway.event_loop import make_loop
from gateway.ops.model_servers import look_ahead
from gateway.product import check_names
from gateway.telemetry import LossyStream

SETTLED_S = 0.1
"""So long a file has to stay as it is to be taken for whole."""

LOOKS = 20

LEFT_BEHIND_S = 5.0
"""So long the process waits for tasks and threads that foreign code left behind, once the gateway has stopped."""


def _refuse_role(_context: click.Context, _option: click.Parameter, role: str | None) -> None:
    """Raise UsageError if somebody still gives the process a role."""
    if role is not None:
        raise click.UsageError(f"--role {role}: {NO_ROLES}")


@click.command("run")
@click.option("--role", hidden=True, expose_value=False, callback=_refuse_role)
@config_option
def command(config_path: Path | None) -> None:
    """Run the gateway until it is told to stop (SIGTERM, Ctrl-C). What could be set next is said in plain sentences."""
    gc.disable()  # until the gateway routes: before that little is garbage
    settings = prepare(config_path, level=None)
    check_names(settings, read_sources(config_path, os.environ))
    for hint in settings.hints():
        _say(hint)
    with asyncio.Runner(loop_factory=make_loop) as runner:
        try:
            runner.run(_serve(settings, config_path))
        except BaseException:
            _end_soon(1)
            raise
        _end_soon(0)


def _end_soon(code: int) -> None:
    """End the process if tasks or threads that foreign code left behind hold up its end."""
    end = threading.Timer(LEFT_BEHIND_S, os._exit, [code])
    end.daemon = True
    end.start()


def _say(sentence: str) -> None:
    """Print it for the operator, if somebody can read it."""
    LossyStream(sys.stdout).write(f"{sentence}\n")


class Rereading:
    """Reads the configuration again, as a start would have it; half a file is not taken for the whole."""

    def __init__(self, config_path: Path | None) -> None:
        """The files are read now, too: what has been there is not to be gone later."""
        self._path = config_path
        self._before = read_files(config_path)

    def __call__(self) -> Settings:
        """The settings; in a thread.

        Raises:
            SettingsError: they cannot be used, or a file is gone or empty that was not when it was read last.
        """
        files = self._read_settled()
        for old, new in zip(self._before, files, strict=True):
            if old.text.strip() and not new.text.strip():
                gone = "is empty or gone, and was not when it was read last"
                raise SettingsError(f"{new.path}: {gone}; a restart takes it as it is")
        sources = sources_of(*files, os.environ)
        settings = settings_of(sources)
        check_names(settings, sources)
        model, _ = asyncio.run(look_ahead(settings.model, KnownServers()))
        self._before = files
        return settings.model_copy(update={"model": model})

    def _read_settled(self) -> tuple[ConfigFile, ConfigFile]:
        """The files as they stay for a moment: an editor or a copy may be at them."""
        files = read_files(self._path)
        for _ in range(LOOKS):
            time.sleep(SETTLED_S)
            earlier, files = files, read_files(self._path)
            if earlier == files:
                break
        return files


async def _serve(settings: Settings, config_path: Path | None) -> None:
    servers = KnownServers()
    model, sentences = await look_ahead(settings.model, servers)
    settings = settings.model_copy(update={"model": model})
    for sentence in sentences:
        _say(sentence)
    show = _say if sys.stdout.isatty() else None
    await serve(settings, show=show, servers=servers, read_again=Rereading(config_path))
