"""The tools that read, search and change files of the person's folder."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from time import monotonic
from typing import Annotated, TypeVar

import regex
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from agent.foreign_code import ForeignThreads
from agent.ports import Principal
from agent.tools.base import Effect, ToolContext, ToolError, tool
from agent.workspace.folder import MAX_FILE_BYTES, Content, Folder, Folders, Parts, Walk, split_path, version_of
from agent.workspace.linting import Linting, configuration_of

WINDOW_LINES = 100
LINE_CHARS = 2000
MOST_FOUND = 200
MOST_GREP_FILES = 100
LINES_A_FILE = 10
GREP_LINE_CHARS = 300
SEARCH_S = 10.0
"""Seconds for one search, after which what was found so far is the result."""

MOST_REMEMBERED = 10_000

T = TypeVar("T")
FilePath = Annotated[str, Field(max_length=1000, description="Path inside the folder, such as src/main.py.")]
Version = SkipJsonSchema[str | None]
"""Version of the file before the change and after it; filled in before the person is asked, hidden from the model."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReadFile(_Arguments):
    """Arguments of `read_file`."""

    path: FilePath
    first_line: int = Field(default=1, ge=1, description="Number of the first line to show.")


class EditFile(_Arguments):
    """Arguments of `edit_file`."""

    path: FilePath
    old: str = Field(min_length=1, max_length=100_000, description="Exact text to replace, without line numbers.")
    new: str = Field(max_length=100_000, description="Text to put in its place.")
    all: bool = Field(default=False, description="Replace every occurrence.")
    version: Version = Field(default=None, max_length=40, repr=False)


class WriteFile(_Arguments):
    """Arguments of `write_file`."""

    path: FilePath
    content: str = Field(max_length=500_000, description="The whole content.")
    version: Version = Field(default=None, max_length=40, repr=False)


class Glob(_Arguments):
    """Arguments of `glob`."""

    pattern: str = Field(max_length=200, description="Pattern such as **/*.py.")


class Grep(_Arguments):
    """Arguments of `grep`."""

    pattern: str = Field(min_length=1, max_length=500, description="Regular expression, matched line by line.")
    files: str = Field(default="**", max_length=200, description="Pattern of the files to search.")


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that is planned but not made."""

    before: str | None  # version of the file; None: there is none
    after: str  # version of the new content

    @property
    def text(self) -> str:
        return f"{self.before or 'new'}>{self.after}"

    @classmethod
    def parse(cls, text: str) -> "FileChange":
        """Parse the text of a change."""
        before, _, after = text.partition(">")
        return cls(None if before == "new" else before, after)


class FileTools:
    """The file tools of one tenant, and the versions that the model has read."""

    def __init__(self, folders: Folders, linting: Linting) -> None:
        self._folders = folders
        self._linting = linting
        self._threads = ForeignThreads(_call)
        self._read: OrderedDict[tuple[str, str, Parts], str] = OrderedDict()
        self._planned: OrderedDict[str, FileChange] = OrderedDict()  # by call

    # ---------------------------------------------------------------- reading

    @tool(ReadFile, effect=Effect.NONE, concurrency_safe=True, says="workspace.read_file")
    async def read_file(self, context: ToolContext, arguments: ReadFile) -> object:
        """Read 100 numbered lines of a text file in the person's folder, from first_line on."""
        parts = split_path(arguments.path)
        content = await self._in_folder(context.principal, lambda folder: folder.read(parts))
        lines = _text_of(content, arguments.path).splitlines()
        self._remember(context.principal, parts, content.version)
        start = arguments.first_line - 1
        shown = lines[start : start + WINDOW_LINES]
        if start and not shown:
            raise ToolError(f"{arguments.path} has {len(lines)} lines only.")
        numbered = [f"{number:>6}  {_clip(line, LINE_CHARS)}" for number, line in enumerate(shown, start + 1)]
        more = start + len(shown) < len(lines)
        return {"lines": "\n".join(numbered), "of": len(lines), "next_line": start + len(shown) + 1 if more else None}

    @tool(Glob, effect=Effect.NONE, concurrency_safe=True, says="workspace.glob")
    async def glob(self, context: ToolContext, arguments: Glob) -> object:
        """List files of the person's folder whose path matches a pattern, the last changed first."""
        matches, state = path_matcher(arguments.pattern), Walk()

        def search(folder: Folder) -> list[str]:
            found = [each for each in folder.walk(state) if matches(each.parts)]
            return [each.path for each in sorted(found, key=lambda each: -each.changed_at)]

        paths = await self._in_folder(context.principal, search)
        return {"files": paths[:MOST_FOUND], "truncated": state.is_cut or len(paths) > MOST_FOUND}

    @tool(Grep, effect=Effect.NONE, concurrency_safe=True, says="workspace.grep")
    async def grep(self, context: ToolContext, arguments: Grep) -> object:
        """Find lines that match a regular expression in the files of the person's folder."""
        matches = path_matcher(arguments.files)
        try:
            wanted = regex.compile(arguments.pattern)
        except regex.error as problem:
            raise ToolError(f"The pattern is no regular expression: {problem}.") from None

        def search(folder: Folder) -> object:
            return _grep(folder, matches, wanted)

        return await self._in_folder(context.principal, search)

    # ---------------------------------------------------------------- changing

    async def _check_edit(self, context: ToolContext, arguments: EditFile) -> None:
        """Refuse an edit that would fail before a person is asked about it."""
        if arguments.version is None:
            before, after = await self._apply(context, arguments)
            self._plan(context, FileChange(before.version, version_of(after)))

    def _fill_in(self, context: ToolContext, arguments: EditFile | WriteFile) -> EditFile | WriteFile:
        change = self._planned.pop(context.call_key, None)
        return arguments if change is None else arguments.model_copy(update={"version": change.text})

    @tool(EditFile, effect=Effect.IDEMPOTENT, says="workspace.edit_file", validate=_check_edit, backfill=_fill_in)
    async def edit_file(self, context: ToolContext, arguments: EditFile) -> object:
        """Replace an exact text in a file of the person's folder. Read the file before."""
        parts = split_path(arguments.path)
        if arguments.version is not None:
            wanted = FileChange.parse(arguments.version)
            before = await self._in_folder(context.principal, lambda folder: folder.read(parts))
            if before.version == wanted.after:  # a crash came after the write
                return self._note_written(context.principal, parts, wanted.after)
            if before.version != wanted.before:
                raise _changed_since_read(arguments.path)
        before, after = await self._apply(context, arguments)
        linted = await self._lint(context.principal, parts, before.data, after)
        key = context.call_key
        await self._in_folder(context.principal, lambda opened: opened.write(parts, after, before.version, key))
        return self._note_written(context.principal, parts, version_of(after)) | ({"linter": linted} if linted else {})

    async def _check_write(self, context: ToolContext, arguments: WriteFile) -> None:
        if arguments.version is not None:
            return
        parts = split_path(arguments.path)
        before = await self._in_folder(context.principal, lambda folder: folder.find(parts))
        version = None if before is None else before.version
        if self._version_read(context.principal, parts) not in {None, version}:
            raise _changed_since_read(arguments.path)
        self._plan(context, FileChange(version, version_of(_encode(arguments.content))))

    @tool(WriteFile, effect=Effect.IDEMPOTENT, says="workspace.write_file", validate=_check_write, backfill=_fill_in)
    async def write_file(self, context: ToolContext, arguments: WriteFile) -> object:
        """Write a whole file in the person's folder. Use edit_file to change a part of one."""
        parts, data = split_path(arguments.path), _encode(arguments.content)

        def write(folder: Folder) -> None:
            now = folder.find(parts)
            version = None if now is None else now.version
            wanted = None if arguments.version is None else FileChange.parse(arguments.version)
            if wanted is not None and version not in {wanted.before, wanted.after}:
                raise _changed_since_read(arguments.path)
            folder.write(parts, data, version, context.call_key)

        await self._in_folder(context.principal, write)
        return self._note_written(context.principal, parts, version_of(data))

    async def _apply(self, context: ToolContext, arguments: EditFile) -> tuple[Content, bytes]:
        """Return the file before and after the edit.

        Raises:
            ToolError: it has changed since it was read, or the text does not occur exactly once.
        """
        parts = split_path(arguments.path)
        before = await self._in_folder(context.principal, lambda folder: folder.read(parts))
        if arguments.version is None and self._version_read(context.principal, parts) not in {None, before.version}:
            raise _changed_since_read(arguments.path)
        text = _text_of(before, arguments.path)
        count = text.count(arguments.old)
        if count == 0:
            raise ToolError(f"{arguments.path} does not contain that text. Read it, and copy the text exactly.")
        if count > 1 and not arguments.all:
            raise ToolError(f"{arguments.path} contains that text {count} times. Give more of it, or set all.")
        after = _encode(text.replace(arguments.old, arguments.new))
        if after == before.data:
            raise ToolError("The new text is the same as the old one.")
        return before, after

    async def _lint(self, principal: Principal, parts: Parts, before: bytes, after: bytes) -> str:
        if not self._linting.has_linter(parts):
            return ""
        configuration = await self._in_folder(principal, configuration_of)
        return await self._linting.check(self._folders.path_of(principal), configuration, parts, before, after)

    # ---------------------------------------------------------------- what was read

    def _version_read(self, principal: Principal, parts: Parts) -> str | None:
        return self._read.get((principal.tenant, principal.user_id, parts))

    def _remember(self, principal: Principal, parts: Parts, version: str) -> None:
        key = principal.tenant, principal.user_id, parts
        self._read[key] = version
        self._read.move_to_end(key)
        while len(self._read) > MOST_REMEMBERED:
            self._read.popitem(last=False)

    def _plan(self, context: ToolContext, change: FileChange) -> None:
        self._planned[context.call_key] = change
        while len(self._planned) > MOST_REMEMBERED:
            self._planned.popitem(last=False)

    def _note_written(self, principal: Principal, parts: Parts, version: str) -> dict[str, object]:
        self._remember(principal, parts, version)
        return {"written": "/".join(parts)}

    async def _in_folder(self, principal: Principal, work: Callable[[Folder], T]) -> T:
        def run() -> object:
            with self._folders.open(principal) as folder:
                return work(folder)

        return await self._threads.call(run)  # type: ignore[return-value]  # what `work` returns


def _changed_since_read(path: str) -> ToolError:
    return ToolError(f"{path} has changed since it was read. Read it again, then decide anew.")


def _call(work: Callable[[], object]) -> object:
    return work()


def _encode(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ToolError("The text is not valid Unicode.") from None
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(f"A file may have {MAX_FILE_BYTES} bytes at most.")
    return data


def _text_of(content: Content, path: str) -> str:
    try:
        if b"\0" not in content.data[:8000]:
            return content.data.decode()
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{path} is no text file; it has {len(content.data)} bytes.")


def _clip(line: str, chars: int) -> str:
    return line if len(line) <= chars else f"{line[:chars]}… (+{len(line) - chars})"


def path_matcher(pattern: str) -> Callable[[Parts], bool]:
    """Return a function that matches the components of a path; `**` stands for any number of directories.

    Raises:
        ToolError: the pattern leads out of the folder.
    """
    wanted = split_path(pattern)
    if not wanted:
        raise ToolError("Give a pattern such as **/*.py.")
    if "/" not in pattern and wanted != ("**",):
        wanted = ("**", *wanted)  # a bare name is found in every directory
    steps = [None if part == "**" else re.compile(translate(part)) for part in wanted]

    def matches(parts: Parts) -> bool:
        reached = {0}
        for part in parts:
            reached = _skip_stars(reached, steps)
            reached = {
                at if step is None else at + 1
                for at in reached
                if at < len(steps) and ((step := steps[at]) is None or step.match(part))
            }
        return len(steps) in _skip_stars(reached, steps)

    return matches


def _skip_stars(reached: set[int], steps: list[re.Pattern[str] | None]) -> set[int]:
    """Add the places behind each `**`, which may stand for nothing."""
    found = set(reached)
    for at in range(len(steps)):
        if at in found and steps[at] is None:
            found.add(at + 1)
    return found


def _grep(folder: Folder, matches: Callable[[Parts], bool], wanted: "regex.Pattern[str]") -> object:
    ends_at, state = monotonic() + SEARCH_S, Walk()
    found: dict[str, list[str]] = {}
    truncated = False
    for each in folder.walk(state):
        if not matches(each.parts) or each.size_bytes > MAX_FILE_BYTES:
            continue
        if len(found) == MOST_GREP_FILES or monotonic() > ends_at:
            truncated = True
            break
        try:
            lines = _matching_lines(folder.read(each.parts), wanted, ends_at)
        except ToolError:  # it is gone, or a link by now
            continue
        except TimeoutError:
            raise ToolError("The pattern takes too long. Use a simpler one, or search fewer files.") from None
        if lines:
            found[each.path] = lines
    return {"files": found, "truncated": truncated or state.is_cut}


def _matching_lines(content: Content, wanted: "regex.Pattern[str]", ends_at: float) -> list[str]:
    if b"\0" in content.data[:8000]:
        return []
    found = []
    for number, line in enumerate(content.data.decode(errors="replace").splitlines(), 1):
        left_s = ends_at - monotonic()
        if left_s <= 0:
            raise TimeoutError
        if wanted.search(line, timeout=left_s, concurrent=True):
            found.append(f"{number}: {_clip(line, GREP_LINE_CHARS)}")
            if len(found) == LINES_A_FILE:
                found.append("…")
                break
    return found
