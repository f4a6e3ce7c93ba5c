"""Hostile texts of any length: more than 200 shapes, each a beginning, a repeated unit and an end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to fill any length."""

    prefix: str
    unit: str  # NUMBER in it stands for a number that is another in each, WORD for a word
    suffix: str = ""
    second: str = ""  # a unit that fills the second half; "" goes on with the first

    def text(self, chars: int) -> str:
        """Return this shape in about so many characters."""
        room = max(0, chars - len(self.prefix) - len(self.suffix))
        if not self.second:
            return self.prefix + _filled(self.unit, room) + self.suffix
        return self.prefix + _filled(self.unit, room // 2) + _filled(self.second, room // 2) + self.suffix

    def __str__(self) -> str:
        parts = ((self.prefix, ""), (self.unit, " * n"), (self.second, " * n"), (self.suffix, ""))
        return " + ".join(f"{part!r}{times}" for part, times in parts if part)


def _filled(unit: str, chars: int) -> str:
    if NUMBER in unit or WORD in unit:
        many = range(max(1, chars // (len(unit) + 2)))
        return "".join(unit.replace(NUMBER, str(each)).replace(WORD, _word(each)) for each in many)
    return unit * max(1, chars // len(unit))


def _word(number: int) -> str:
    letters = ""
    while number or not letters:
        number, digit = divmod(number, 26)
        letters += chr(97 + digit)
    return letters


NUMBER = "\0\0"
WORD = "\1\1"

UNITS = (
    # blanks and words
    " ", "\t", "\n", " \n", "\r\n", "\r", "\u00a0", "\u2028", "a", "A", "1", ".", ",", "a ", "a, ", "a,", "a. ", "a.",
    "a-", "a_", "a@", "a b\n", "W", "ß", "é", "no, ", "not ", "my ", "de ", "the ", "for ", "hoy ", "i ", "and ",
    "ignore all ", "you are ", "last ", "yesterday ", "2026-01-01 ", "el last ", "hace 1 ", "how to ", "one more ",
    # numbers and durations
    "1m ", "1h", "1h1", "1 h ", "45m a,", "1:", "1.", "12", "one ", "a half ", "1 and a half ", "00:00:00",
    "cuarenta y ", "1h and ", "1/", "1,",
    # marks of markup
    "*", "_", "~", "`", "```", "~~~", "[", "]", "(", ")", "![", "](", "[](", "[a](", "[a]", "<", ">", "> ", "- ", "* ",
    "+ ", "1. ", "#", "# ", "|", "|-", "| a ", "\\", "\\*", "&", "&amp;", "&#", "=", "---", "a**b", "a*b*", "*a **b ",
    "a~~b", "_a_", "**a** ", "~~a~~ ", "`a` ", "``a` ", "`a", " `", "a``b", "\n`", "\n```\n", "\n~~~\n",
    "```\na\n```\n", "\n- ", "\n  - a", "\n> ", "\n> - ", "\n1. a", "\n# a", "\n| a | b |", "\n|-|-|", "\na\n-",
    "\n\na", "a\n\n", "a\n \n", "  \n", "\n    a", "\t- a\n", "[a](b) ", "[a](http://b.c) ", "<http://a.b> ", "[a][b]",
    # tags and calls of models
    "<a>", "</a>", "<a ", "<think>", "<think", "</think>", "<think>a</think>", "<thinking>", "<tool_call>",
    "</tool_call>", "<tool_call>{", "<invoke a>", "<function=a>", "<|a|>", "<|tool_call", "<system>", "<system ",
    "</system>", "<final>", "[tool call: a]", "\n[tool call: a]{", "\n[tool call", "\n[system", "[note from",
    "\n[tool result]\n", "<parameter a", "</think >", "<a:think>",
    # addresses, keys, pings
    "http://", "https://a.b/ ", "http://a:", "://a:b", "://:", "www.a.b ", "a.b.c.", "a@b.c ", "@everyone ", "@", "@a ",
    "-eyJ", "eyJ", "eyJaaaaaaaaaa.", "sk-", "-sk-a", "xoxb-", "-xoxa-", "123456:", "1%3A", "bearer ", "AKIA",
    "github_pat_", "aaaaaaaaaaaaaaaaaaaaaaaa.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN A ",
    "aaaa.aaaaaa.", "AIza",
    # data
    "{", "}", "{}", '{"a":', "[1,", '"', '"a"', '"a":1,', '\\"', "'", "“", "“a", "«", "\\u0000", "\\0", "%00",
    "data: a\n", "data: a\n\n", "data:", "event: a\n", ":\n", "QUFBQUFBQUFBQUFBQUFBQUFBQUFB ", "QUFB", "<@1>",
    "<:a:1>", "<a:b:1> ",
    # what is not seen, and what is more than one character
    "\u200b", "\u200d", "a\u200b", "\u202e", "\ufeff", "\u0301", "a\u0301", "\U0001f469\u200d", "\U0001f44d\U0001f3fd",
    "\U0001f1e6", "\U0001f3f4", "\U0001f3f4\U000e0067\U000e007f", "\U000e0061", "\ufe0f", "\ud800", "\x00", "\x1b[",
    "\ufdd0", "\ufdd00\ufdd1", "\uff0e", "。", "字", "ﷺ", "а", "İ",
)  # fmt: skip
"""Each repeated by itself."""

OPENERS = (
    ("```", " "), ("```", "\n"), ("```\n", "a"), ("```\n", "`` "), ("~~~\n", "~~\n"), ("`", "a "), ("``", "` "),
    ("**", "a "), ("[", "a"), ("[", "a "), ("[", "[a]"), ("![", "a"), ("[a](", "a"), ("[a](", "("), ("<think>", "a "),
    ("<think>", "<"), ("<think>", "</"), ("<tool_call>", " "), ("<tool_call>", "{"), ("<a", " "), ("<system", " "),
    ("</think", " "), ("{", '"a":1,'), ("-----BEGIN PRIVATE KEY-----", "a\n"), ("-----BEGIN ", "A "), ("://", "a"),
    ("://a:", "b"), ("eyJ", "a"), ("bearer ", "="), ("no, ", "1m "), ("/log 45m ", "a,"), ("45m ", "for "),
    ("45m guitar", " "), ("45m guitar", ","), ("45m guitar", " ."), ("45m ", "my "), ("on last ", " "),
    ("Today is ", "a"), ("new skill", " "), ("new skill ", ": "), ("how to ", "a "), ("ignore", " "),
    ("ignore the", " "), ("you are now", " "), ("pretend", " "), ("reveal the ", "a "), ("\n---", "- "),
    ("---end", "-"),
    ("[tool call", " "), ("\n[tool call]", " "), ("| a |\n|---|\n", "| a "), ("| a |\n|---|\n", "| a |\n"),
    ("- a\n", "  - a\n"), ("> a\n", "> > a\n"), ("/", "a"), ("/new ", " "), ("data: ", "a"), ("data: {}\n", ":"),
    ("@", "everyone"), ("\\", "`"), ("\n", "[ \t"), ("¡", "a"), ("<tool_call><", "end"), ("<tool_call><|", "endx"),
    ("a", "\u0301\u0323"), ("a", "\u0323\u0301"),
)  # fmt: skip
"""A beginning that asks for an end, and what stands there instead."""

HALVES = (
    ("`", " "), ("` ", "`` "), ("*", "a"), ("a*", "*a"), ("**a ", "a** "), ("[", "]"), ("(", ")"), ("{", "}"),
    ("<", ">"), ("<a>", "</a>"), ("<think>", "</think>"), ("<think>", "</thinking>"), ("<tool_call>", "</tool_calls>"),
    ("[a", "](b)"), ("> ", "a\n"), (" ", "."), ("a ", " "), ("\n", "\t"), ("-", "a"), ("=", "a"), ("~", "a~~"),
    ("1", "m"), ("1", ":"), ("a.", "b"), ("a", "."), ("a@", "b."), ('{"a":', "}"), ("[", "{"), ("a\n", "\n"),
    ("\n \n", "a"), ("|", "\n"), ("\\", "*"), ("“", "”"), (",", " "), (". ", " ."), ("\u0301", "a"), ("a", "\u200b"),
    ("\u0301", "\u0323"),
)  # fmt: skip
"""One thing for half of the text, another for the rest."""

CLOSED_IN = (
    " ", "\n", "\t", ",", ".", "-", "_", "=", ":", ";", "!", ") ", "a,", "1m ", "` ", "*a", "_a", "[a", "<a", "\u200b",
    "- ", "((", "  \n", ", ", " -", "\u00a0", "</",
)  # fmt: skip
"""Between two letters, so that nothing trims them away."""

NUMBERED = (
    "`\0\0` ", "[\0\0](b) ", "[a](http://\0\0.b) ", "<a\0\0>", "<think\0\0>", "@a\0\0 ", "[\0\0]: b\n", "\0\0. a\n",
    "\n\n\0\0", '"\0\0":1,', "#\0\0 ", "<@\0\0> ", "**\0\0** ", "\0\0 ", "https://a\0\0.b ", "\0\0m ", "| \0\0 ",
    "<a\1\1:think>", "<\1\1a:invoke>x", "</a\1\1:think>", "\1\1 ",
    "# \0\0\n", "- \0\0\n", "```\0\0\na\n```\n", "[tool call: \0\0]{}\n", "eyJ\0\0.", "&#\0\0;", "a\0\0, ", "> \0\0\n",
)  # fmt: skip
"""Each another one: what is looked up among those before it."""

SHAPES: tuple[Shape, ...] = (
    *(Shape("", unit) for unit in UNITS),
    *(Shape(prefix, unit) for prefix, unit in OPENERS),
    *(Shape("", unit, second=second) for unit, second in HALVES),
    *(Shape("a", unit, "a") for unit in CLOSED_IN),
    *(Shape("", unit) for unit in NUMBERED),
    *(Shape(prefix, " ", "a\nb") for prefix in ("", "new skill", "45m guitar", "/log", "- a", "> ", "1. ", "how to ")),
)
"""All of them."""
