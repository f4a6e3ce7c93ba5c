"""Skills and instruction files of a workspace folder; reading blocks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from agent.skills.folders import BadFile, FoundSkills, KnownSkills, decode, read_file, read_skills
from agent.skills.skill import SkillSource, WrittenSkill
from agent.wellformed import well_formed

SKILLS_FOLDER = "skills"
MAX_FILE_BYTES = 200_000
"""Size of an instruction file."""

MAX_INSTRUCTIONS_CHARS = 12_000
"""Characters of all instruction files in one prompt."""

INSTRUCTIONS_TITLE = """\
# Instructions of this workspace

The operator trusts these files; the last one goes before the others."""

MIN_ROOM_CHARS = 300
"""Room below which no further file is added."""

CUT = "\n[Cut here: {n:,} characters are left out.]"


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One instruction file."""

    name: str
    text: str
    digest: str  # SHA-256 of its bytes, hexadecimal


@dataclass(frozen=True, slots=True)
class WorkspaceFolder:
    """The skills and instruction files of one folder."""

    skills: tuple[WrittenSkill, ...] = ()
    instructions: tuple[InstructionFile, ...] = ()
    flaws: Mapping[str, str] = field(default_factory=dict)  # path -> why it cannot be used


def read_workspace_folder(folder: Path, names: Sequence[str], known: KnownSkills | None = None) -> WorkspaceFolder:
    """Read a folder's skills, and its instruction files with these names."""
    if (folder / SKILLS_FOLDER).is_symlink():
        found = FoundSkills(flaws={str(folder / SKILLS_FOLDER): "it is a link, and links are not followed"})
    else:
        found = read_skills(folder / SKILLS_FOLDER, SkillSource.PROJECT, known)
    instructions: list[InstructionFile] = []
    flaws = dict(found.flaws)
    for name in names:
        try:
            content = read_file(folder / name, folder.resolve(), MAX_FILE_BYTES)
            text = well_formed(decode(content).replace("\r\n", "\n")).strip()
        except FileNotFoundError:
            continue
        except BadFile as bad:
            flaws[str(folder / name)] = str(bad)
        except OSError as error:
            flaws[str(folder / name)] = f"it cannot be read: {error.strerror}"
        else:
            instructions.append(InstructionFile(name, text, sha256(content).hexdigest()))
    return WorkspaceFolder(found.skills, tuple(instructions), flaws)


def join_instructions(files: Iterable[tuple[str, str]]) -> str:
    """Return these files (path, text), the nearest last, as a section of the prompt; "" if there are none.

    The nearest gets its room first; a file for which there is not enough is cut at its end, with a mark.
    """
    parts: list[str] = []
    room = MAX_INSTRUCTIONS_CHARS - len(INSTRUCTIONS_TITLE)
    for path, text in reversed(list(files)):
        heading = f"## {path}\n\n"
        room -= len(heading) + len("\n\n")
        shown = _fit_in(text, room)
        parts.append(heading + shown)
        room -= len(shown)
        if room < MIN_ROOM_CHARS:
            break
    return "\n\n".join([INSTRUCTIONS_TITLE, *reversed(parts)]) if parts else ""


def _fit_in(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    kept = text[: room - len(CUT.format(n=len(text)))].rstrip()
    return kept + CUT.format(n=len(text) - len(kept))
