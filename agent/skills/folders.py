"""Reading skills and instruction files from folders: bounded, and never outside of the folder. It blocks."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path

from agent.skills.skill import BadSkill, SkillSource, WrittenSkill, parse_skill
from agent.wellformed import well_formed

SKILL_FILE = "SKILL.md"

MAX_SKILL_BYTES = 64_000
"""Size of one `SKILL.md`; longer procedures belong into several skills."""

MAX_SKILLS = 200
"""Entries of one folder of skills that are looked at."""

MAX_FILES = 50
MAX_FOLDER_BYTES = 1_000_000
"""Files of one skill, and their bytes: all of them are hashed."""


Stamp = tuple[tuple[Path, int, int], ...]
"""The files of a skill, each with the time of its last change in ns and its size."""

KnownSkills = dict[Path, tuple[Stamp, WrittenSkill]]
"""Skills that were read before, by folder: one whose files have the same stamp is not read again."""


class BadFile(Exception):
    """A file cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class FoundSkills:
    """The skills of one folder, and those that cannot be used."""

    skills: tuple[WrittenSkill, ...] = ()
    flaws: Mapping[str, str] = field(default_factory=dict)  # path of a skill -> why it cannot be used


def read_skills(folder: Path, source: SkillSource, known: KnownSkills | None = None) -> FoundSkills:
    """Return the skills in the folders below this one; none if it does not exist. `known` is brought up to date."""
    known = {} if known is None else known
    skills: list[WrittenSkill] = []
    flaws: dict[str, str] = {}
    try:
        with os.scandir(folder) as scan:
            entries = list(islice(scan, MAX_SKILLS + 1))
    except (FileNotFoundError, NotADirectoryError):
        return FoundSkills()
    except OSError as error:
        return FoundSkills(flaws={well_formed(str(folder)): f"it cannot be read: {error.strerror}"})
    if len(entries) > MAX_SKILLS:
        flaws[well_formed(str(folder))] = f"it has more than {MAX_SKILLS} entries; some are not used"
    for name in sorted(entry.name for entry in entries if not entry.name.startswith(".")):
        try:
            if (folder / name / SKILL_FILE).is_file():
                skills.append(_read_again(folder / name, source, folder, known))
        except (BadSkill, BadFile) as bad:
            flaws[well_formed(str(folder / name))] = str(bad)
        except OSError as error:  # it vanished, or may not be read
            flaws[well_formed(str(folder / name))] = f"it cannot be read: {error.strerror}"
    return FoundSkills(tuple(skills), flaws)


def _read_again(folder: Path, source: SkillSource, within: Path, known: KnownSkills) -> WrittenSkill:
    root = within.resolve(strict=True)
    stamp = _stamp_of(folder, root)
    before, skill = known.pop(folder, (None, None))
    if skill is None or before != stamp:
        skill = _read(folder, source, root, [path for path, _, _ in stamp])
    known[folder] = stamp, skill
    return skill


def read_skill(folder: Path, source: SkillSource) -> WrittenSkill:
    """Return the skill in this folder.

    Raises:
        BadSkill: it is no skill.
        BadFile: a file of it is too large, no ordinary file, or outside of the folder.
        OSError: it cannot be read.
    """
    root = folder.resolve(strict=True)
    return _read(folder, source, root, [path for path, _, _ in _stamp_of(folder, root)])


def _read(folder: Path, source: SkillSource, root: Path, files: Sequence[Path]) -> WrittenSkill:
    digest, text = sha256(), None
    for path in files:
        is_text = path == folder / SKILL_FILE
        content = read_file(path, root, MAX_SKILL_BYTES if is_text else MAX_FOLDER_BYTES)
        digest.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
        text = content if is_text else text
    if text is None:
        raise BadSkill(f"it has no {SKILL_FILE}")
    skill = parse_skill(decode(text), folder.name, source, digest.hexdigest())
    return replace(skill, folder=folder) if len(files) > 1 else skill


def _stamp_of(folder: Path, root: Path) -> Stamp:
    """Return all files of a folder, sorted by name.

    Raises:
        BadFile: there are too many entries or bytes, or one leads out of `root`.
    """
    found: list[tuple[Path, int, int]] = []
    folders, seen, size = [folder], 0, 0
    while folders:
        with os.scandir(folders.pop()) as scan:
            entries = list(islice(scan, MAX_FILES + 1))
        seen += len(entries)
        for entry in entries:
            path = Path(entry.path)
            if entry.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
                raise BadFile(f"{path.relative_to(folder)} is a link out of the folder")
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            else:
                entry_stat = entry.stat()
                found.append((path, entry_stat.st_ctime_ns, entry_stat.st_size))
                size += entry_stat.st_size
        if seen > MAX_FILES or size > MAX_FOLDER_BYTES:
            raise BadFile(f"it has more than {MAX_FILES} files or {MAX_FOLDER_BYTES:,} bytes")
    return tuple(sorted(found))


def read_file(path: Path, root: Path, max_bytes: int) -> bytes:
    """Return the content of an ordinary file inside of `root`, which is resolved already.

    Raises:
        BadFile: it is outside, too large, or no ordinary file.
        OSError: it cannot be read.
    """
    inside = Path(os.path.realpath(path, strict=True))
    if not inside.is_relative_to(root):
        raise BadFile(f"{path.name} is a link out of the folder")
    with os.fdopen(os.open(inside, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise BadFile(f"{path.name} is no ordinary file")
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise BadFile(f"{path.name} has more than {max_bytes:,} bytes")
    return content


def file_names(folder: Path, suffixes: tuple[str, ...], most: int) -> list[str]:
    """Return the sorted names of a folder's files with one of these suffixes, without hidden ones: one more than `most`
    if there are more.

    Raises:
        OSError: it cannot be read.
    """
    with os.scandir(folder) as scan:
        names = (entry.name for entry in scan if entry.name.endswith(suffixes) and not entry.name.startswith("."))
        return sorted(islice(names, most + 1))


def read_text(path: Path, folder: Path, max_bytes: int) -> str:
    """Return the text of an ordinary file of a folder.

    Raises:
        BadFile: it cannot be read, leads out of the folder, is too large, or no text.
    """
    try:
        return decode(read_file(path, folder.resolve(), max_bytes))
    except OSError as error:
        raise BadFile(f"it cannot be read: {error.strerror}") from None


def decode(content: bytes) -> str:
    """Return the text of a file in UTF-8, with or without a byte order mark.

    Raises:
        BadFile: it is in another encoding.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile("it is no text in UTF-8") from None
