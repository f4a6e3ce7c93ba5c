"""The parts of a shell command, read from its syntax tree: simple commands, assignments, redirections, functions.

Commands inside of substitutions, here-documents and functions are parts, too. Programs that start others (`sh -c`,
`env`, `xargs`, `find -exec`) are unwrapped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

MAX_COMMAND_CHARS = 4000
"""The parser takes quadratic time for some commands that do not parse."""

MAX_NESTING = 3
"""Maximum number of programs around another one."""

MOST_NODES = 40_000

_LANGUAGE = Language(tree_sitter_bash.language())


class PartKind(StrEnum):
    """The kinds of parts."""

    COMMAND = "command"
    ASSIGNMENT = "assignment"  # NAME=value
    REDIRECTION = "redirection"  # "> file"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: str  # without quotes; expansions as they are written
    is_fixed: bool  # its value is known before the command runs


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a command."""

    kind: PartKind
    words: tuple[Word, ...]

    @property
    def name(self) -> str:
        """Return the program's name without its directory."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def line(self) -> str:
        """Return the part as patterns see it: `rm -rf /`, `A=b`, `> file`."""
        rest = [word.text for word in self.words[1:]]
        return " ".join([self.name if self.kind is PartKind.COMMAND else self.words[0].text, *rest])


@dataclass(slots=True)
class Parsed:
    """A whole command."""

    parts: list[Part] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Reasons why more may happen than the parts say."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts the one named in its arguments."""

    valued: frozenset[str] = frozenset()  # options that take the next word
    operands: int = 0  # words before the program


SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "rbash"})
WRAPPERS: Mapping[str, Wrapper] = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "command": Wrapper(),
    "coproc": Wrapper(),
    "doas": Wrapper(frozenset({"-u", "-C"})),
    "env": Wrapper(frozenset({"-u", "--unset", "-C", "--chdir"})),
    "exec": Wrapper(frozenset({"-a"})),
    "ionice": Wrapper(frozenset({"-c", "-n", "-p"})),
    "nice": Wrapper(frozenset({"-n", "--adjustment"})),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper(frozenset({"-i", "-o", "-e"})),
    "sudo": Wrapper(frozenset({"-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T"})),
    "time": Wrapper(frozenset({"-f", "-o"})),
    "timeout": Wrapper(frozenset({"-s", "--signal", "-k", "--kill-after"}), operands=1),
    "watch": Wrapper(frozenset({"-n", "--interval"})),
    "xargs": Wrapper(frozenset({"-I", "-n", "-P", "-L", "-s", "-d", "-E", "-a", "--max-args", "--max-procs"})),
}
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_QUOTED = {"word", "raw_string", "string", "ansi_c_string", "translated_string", "concatenation", "number"}
_GLOB = re.compile(r"(?<!\\)[*?\[{]")


def parse_command(command: str) -> Parsed:
    """Return the parts of a command."""
    parsed = Parsed()
    _parse(command, parsed, 0)
    return parsed


def _parse(command: str, parsed: Parsed, depth: int) -> None:
    if depth > MAX_NESTING:
        parsed.problems.append(f"it starts programs in more than {MAX_NESTING} others")
        return
    try:
        source = command.encode()
    except UnicodeEncodeError:
        parsed.problems.append("it is not valid Unicode")
        return
    if len(command) > MAX_COMMAND_CHARS or "\0" in command:
        parsed.problems.append("it is too long, or contains a null character")
        return
    root = Parser(_LANGUAGE).parse(source).root_node
    if root.has_error:
        parsed.problems.append("it does not parse")
    for node in _nodes(root, parsed):
        for part in _parts_of(node):
            _add(part, parsed, depth)


def _nodes(root: Node, parsed: Parsed) -> Iterator[Node]:
    waiting, count = [root], 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MOST_NODES:
            parsed.problems.append("it has too many parts")
            return
        yield node
        waiting += reversed(node.children)


def _parts_of(node: Node) -> Iterator[Part]:
    match node.type:
        case "command":
            words = [_word(child) for child in node.children if child.type not in _BESIDE]
            yield Part(PartKind.COMMAND, tuple(words))
        case "declaration_command" | "unset_command" | "test_command":
            yield Part(PartKind.COMMAND, tuple(Word(each, True) for each in _text(node).split()))
        case "variable_assignment":
            yield Part(PartKind.ASSIGNMENT, (Word(_text(node), True),))
        case "file_redirect":
            yield Part(PartKind.REDIRECTION, tuple(_redirection_words(node)))
        case "function_definition":
            yield from _function(node)
        case _:
            pass


_BESIDE = {"variable_assignment", "file_redirect", "heredoc_redirect", "herestring_redirect", "comment"}


def _redirection_words(node: Node) -> Iterator[Word]:
    operator = next((each.type for each in node.children if not each.is_named), ">")
    yield Word(operator, True)
    for child in node.children:
        if child.is_named and child.type != "file_descriptor":
            yield _word(child)


def _function(node: Node) -> Iterator[Part]:
    named = node.child_by_field_name("name")
    name = "" if named is None else _text(named)
    inside = Parsed()
    body = node.child_by_field_name("body")
    for each in () if body is None else _nodes(body, inside):
        if each.type == "command_name" and _text(each) == name:
            yield Part(PartKind.FUNCTION, (Word("recursion", True), Word(name, True)))
            return
    yield Part(PartKind.FUNCTION, (Word("function", True), Word(name, True)))


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _word(node: Node) -> Word:
    """Return a word's text without quotes."""
    text = _text(node)
    match node.type:
        case "command_name" if node.child_count == 1:
            return _word(node.children[0])
        case "word":
            plain = re.sub(r"\\\n", "", text)
            return Word(re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL), not _GLOB.search(text))
        case "number" | "test_operator" | "regex":
            return Word(text, True)
        case "raw_string":
            return Word(text[1:-1], True)
        case "ansi_c_string":
            return _decode_ansi(text[2:-1])
        case "string" | "translated_string":
            fixed = all(each.type in {'"', "string_content", '$"', "string"} for each in node.children)
            inner = text[text.index('"') + 1 : -1] if '"' in text else text
            return Word(re.sub(r'\\\n|\\([\\"$`])', lambda found: found[1] or "", inner), fixed)
        case "concatenation":
            words = [_word(each) for each in node.children]
            return Word("".join(each.text for each in words), all(each.is_fixed for each in words))
        case _:
            return Word(text, False)


def _decode_ansi(text: str) -> Word:
    try:
        return Word(text.encode("latin-1").decode("unicode_escape"), True)
    except (UnicodeDecodeError, UnicodeEncodeError):
        return Word(text, False)


# ---------------------------------------------------------------- programs in programs


def _add(part: Part, parsed: Parsed, depth: int) -> None:
    """Add a part, and the commands that it starts."""
    if depth > MAX_NESTING:
        parsed.problems.append(f"it starts programs in more than {MAX_NESTING} others")
        return
    if part.kind is not PartKind.COMMAND or not part.words:
        parsed.parts += [part] if part.words else []
        return
    parsed.parts.append(part)
    name, given = part.name, part.words[1:]
    if not part.words[0].is_fixed:
        parsed.problems.append("the name of a program is known only when it runs")
    elif name in SHELLS:
        _unwrap_shell(given, parsed, depth)
    elif name == "eval":
        _parse_words(given, parsed, depth)
    elif name in WRAPPERS:
        _unwrap(WRAPPERS[name], given, parsed, depth)
    elif name == "find":
        _unwrap_find(given, parsed, depth)
    elif name == "trap":
        _parse_words(given[:1], parsed, depth)
    elif name == "alias":
        for word in given:
            _parse_words((Word(word.text.partition("=")[2], word.is_fixed),), parsed, depth)


def _parse_words(words: Sequence[Word], parsed: Parsed, depth: int) -> None:
    if all(word.is_fixed for word in words):
        _parse(" ".join(word.text for word in words), parsed, depth + 1)
    else:
        parsed.problems.append("it runs a text that is known only when it runs")


def _unwrap_shell(given: Sequence[Word], parsed: Parsed, depth: int) -> None:
    for at, word in enumerate(given):
        if not word.is_fixed or not word.text.startswith(("-", "+")) or word.text == "-":
            break
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*", word.text):
            rest = [each for each in given[at + 1 :] if not re.fullmatch(r"-\w+|--", each.text)]
            _parse_words(rest[:1], parsed, depth)
            return
    parsed.problems.append("a shell reads a text that is known only when it runs")


def _unwrap(wrapper: Wrapper, given: Sequence[Word], parsed: Parsed, depth: int) -> None:
    rest, operands = list(given), wrapper.operands
    while rest:
        text = rest[0].text
        if text in {"-S", "--split-string"} or text.startswith("--split-string="):
            _parse_words(rest[1:] if "=" not in text else rest, parsed, depth)
            return
        if text.startswith("-") and text != "-":
            del rest[: 2 if text in wrapper.valued else 1]
        elif _ASSIGNED.fullmatch(text):
            parsed.parts.append(Part(PartKind.ASSIGNMENT, (rest.pop(0),)))
        elif operands:
            operands -= 1
            del rest[0]
        else:
            _add(Part(PartKind.COMMAND, tuple(rest)), parsed, depth + 1)
            return


def _unwrap_find(given: Sequence[Word], parsed: Parsed, depth: int) -> None:
    rest = list(given)
    while rest:
        if rest.pop(0).text in {"-exec", "-execdir", "-ok", "-okdir"}:
            ends = [at for at, word in enumerate(rest) if word.text in {";", "+"}]
            end = ends[0] if ends else len(rest)
            _add(Part(PartKind.COMMAND, tuple(rest[:end])), parsed, depth + 1)
            rest = rest[end:]
