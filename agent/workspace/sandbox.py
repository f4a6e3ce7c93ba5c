"""Runs of commands in bubblewrap: without network, home or capabilities, and with one writable folder.

A watch bounds the memory and the processes of the whole command, also for root, to whom no process limit applies.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from agent.child_process import ProgramEnded, run_program
from agent.workspace.seccomp import make_filter

INSIDE = "/workspace"
"""Path of the folder inside the sandbox."""

SHOWN_SKILLS = "/skills"
"""Path of the skills' folders inside the sandbox."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Programs and libraries, all that is seen of the machine's own files beside `ETC`."""

ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf")
"""Files of /etc that programs need and that hold no secret."""

HIDDEN = (Path("/usr/local/etc"), Path("/usr/local/var"))
"""Directories below `SYSTEM` in which programs keep settings and data."""

ISOLATION = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv")

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  the sandbox's own
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "GIT_OPTIONAL_LOCKS": "0",
}

TMP_BYTES = 67_108_864
FILE_KIB = 262_144
OPEN_FILES = 256
OWN_PROCESSES = 4
"""Processes of bubblewrap and of the shell that sets the limits."""

_LIMITED = """\
for limit in "$1" "$2" "$3" "$4"; do ulimit $limit 2> /dev/null; done
shift 4
exec nice -n 10 "$@"
"""
"""Script that sets limits; one that cannot be set is stricter already."""


class TooLarge(Exception):
    """The command was stopped: it used too many processes, too much memory or disk."""


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """Limits of one command."""

    memory_mb: int = 1024
    processes: int = 128  # threads count, too
    free_mb: int = 256  # of the machine's memory and the folder's file system, which a command leaves free


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Starts commands in bubblewrap."""

    program: str  # path of bwrap
    hidden: Sequence[Path] = ()  # directories that are hidden if they lie below `SYSTEM`
    limits: CommandLimits = CommandLimits()

    async def run(
        self,
        argv: Sequence[str],
        folder: Path,
        *,
        writable: bool = False,
        given: bytes = b"",
        skills: Mapping[str, Path] = MappingProxyType({}),
    ) -> ProgramEnded:
        """Run a program in this folder, which it may change if `writable`; it can read the folders of these skills.

        Raises:
            OSError: bubblewrap cannot be started.
            TooLarge: it used too many processes, too much memory or disk.
        """
        limited = _with_limits(argv, self.limits, f"-u {self.limits.processes}")
        check = partial(_check_size, limits=self.limits, folder=folder if writable else None)
        with _open_filter() as filters:
            options = [option for each in filters for option in ("--seccomp", str(each))]
            started = [self.program, *options, *self._options(folder, skills, writable=writable), *limited]
            return await run_program(started, given, env={}, pass_fds=filters, check=check)

    async def why_broken(self) -> str:
        """Return why no sandbox can be made here; "" if it works."""
        try:
            async with asyncio.timeout(10):
                ended = await self.run(["true"], Path("/usr"))
        except TimeoutError:
            return "bubblewrap does not start: it hangs"
        except (OSError, TooLarge) as problem:
            return f"bubblewrap does not start: {problem}"
        words = ended.errors.decode(errors="replace").strip()[:300]
        return "" if ended.code == 0 else f"bubblewrap does not work here: {words or f'exit code {ended.code}'}"

    def _options(self, folder: Path, skills: Mapping[str, Path], *, writable: bool) -> list[str]:
        binds = [option for path in SYSTEM for option in _bind(path)]
        empty = [str(path.resolve()) for path in (*HIDDEN, *self.hidden) if _is_shown(path)]
        hidden = [option for path in empty for option in ("--tmpfs", path, "--remount-ro", path)]
        etc = [option for name in ETC for option in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]
        places = {f"{SHOWN_SKILLS}/{name}": str(path) for name, path in skills.items()}
        shown = [option for inside, path in places.items() for option in ("--ro-bind-try", path, inside)]
        variables = [option for name, value in ENVIRONMENT.items() for option in ("--setenv", name, value)]
        return [
            *ISOLATION,
            *("--cap-drop", "ALL", "--hostname", "workspace", "--uid", "65534", "--gid", "65534"),
            *binds,
            *hidden,
            *etc,
            *("--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"),  # noqa: S108  its own
            *shown,
            *("--bind" if writable else "--ro-bind", str(folder), INSIDE),
            *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", INSIDE),
            *variables,
            "--",
        ]


def find_sandbox(hidden: Sequence[Path], limits: CommandLimits) -> Sandbox | None:
    """Return the sandbox of this machine, or None if bubblewrap is not installed."""
    program = shutil.which("bwrap")
    return None if program is None else Sandbox(program, tuple(hidden), limits)


@contextmanager
def _open_filter() -> Iterator[Sequence[int]]:
    """Yield a descriptor of the filter of system calls; none on an architecture without one."""
    program = make_filter()
    if not program:
        yield ()
        return
    descriptor = os.memfd_create("filter")
    try:
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield (descriptor,)
    finally:
        os.close(descriptor)


def _bind(path: str) -> Iterator[str]:
    if Path(path).is_symlink():
        yield from ("--symlink", str(Path(path).readlink()), path)
    elif Path(path).is_dir():
        yield from ("--ro-bind", path, path)


def _is_shown(path: Path) -> bool:
    resolved = path.resolve()
    return resolved.is_dir() and any(resolved.is_relative_to(Path(each).resolve()) for each in SYSTEM)


async def run_unconfined(argv: Sequence[str], folder: Path, limits: CommandLimits) -> ProgramEnded:
    """Run a program in this folder without a sandbox, within the limits.

    Raises:
        OSError: it cannot be started.
        TooLarge: it used too many processes, too much memory or disk.
    """
    limited = _with_limits(argv, limits, "-c 0")  # no -u: the user's other processes count, too
    env = {**ENVIRONMENT, "HOME": str(folder)}
    return await run_program(limited, env=env, folder=folder, check=partial(_check_size, limits=limits, folder=folder))


def _with_limits(argv: Sequence[str], limits: CommandLimits, processes: str) -> list[str]:
    bounds = (f"-f {FILE_KIB}", f"-n {OPEN_FILES}", f"-d {limits.memory_mb * 1024}", processes)
    return ["bash", "--noprofile", "--norc", "-c", _LIMITED, "bash", *bounds, *argv]


def _check_size(pid: int, limits: CommandLimits, folder: Path | None) -> None:
    """Raise `TooLarge` if the program and its children together are beyond the limits."""
    memory_kib = tasks = 0
    for each in _family(pid):
        tasks += each.tasks
        memory_kib += each.memory_kib
        if tasks > limits.processes + OWN_PROCESSES:
            raise TooLarge(f"more than {limits.processes} processes and threads")
    if memory_kib > limits.memory_mb * 1024:
        raise TooLarge(f"more than {limits.memory_mb} MiB of memory")
    if folder is not None and shutil.disk_usage(folder).free < limits.free_mb * 1024 * 1024:
        raise TooLarge(f"the disk until less than {limits.free_mb} MiB were free")
    if 0 < _kib_of(Path("/proc/meminfo"), "MemAvailable:") < limits.free_mb * 1024:
        raise TooLarge(f"memory until less than {limits.free_mb} MiB were free")


@dataclass(frozen=True, slots=True)
class _Process:
    tasks: int
    memory_kib: int  # of its own, and shared without a file


def _family(pid: int) -> Iterator[_Process]:
    """Yield the process and all its descendants."""
    waiting = [pid]
    while waiting:
        directory = Path(f"/proc/{waiting.pop()}")
        tasks = 0
        with suppress(OSError, ValueError):  # it has ended
            for task in (directory / "task").iterdir():
                tasks += 1
                waiting += map(int, (task / "children").read_text().split())
        yield _Process(tasks, _kib_of(directory / "status", "RssAnon:", "RssShmem:"))


def _kib_of(file: Path, *names: str) -> int:
    """Return the sum of these lines of a file of /proc, in KiB; 0 if it is gone."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return 0
    return sum(int(words[1]) for words in lines if words[:1] and words[0] in names)
