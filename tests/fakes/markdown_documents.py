"""Generated Markdown documents whose every word is numbered, so that a lost, doubled or moved word shows."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

# A document is generated as nested tuples, ("paragraph", [(style, words), ...]) and so on, then written as Markdown.
_DECORATIONS = ["", "", "", "é", "😀", "👨\u200d👩\u200d👧", "\u05d0\u05d1", "x" * 30, ".", "!", ","]
_run = st.tuples(
    st.sampled_from(["", "", "**", "*", "~~", "`", "***", "link", "image"]),
    st.integers(1, 12),
    st.sampled_from(_DECORATIONS),
)
_line = st.lists(_run, min_size=1, max_size=8)
_leaf = st.one_of(
    st.tuples(st.just("paragraph"), _line),
    st.tuples(st.just("heading"), st.lists(_run, min_size=1, max_size=2)),
    st.tuples(st.just("code"), st.tuples(st.sampled_from(["", "python", "c++"]), st.integers(1, 60))),
    st.tuples(st.just("table"), st.tuples(st.integers(1, 4), st.integers(0, 12), st.sampled_from(_DECORATIONS))),
    st.tuples(st.just("rule"), st.none()),
)
_block = st.recursive(
    _leaf,
    lambda inner: st.one_of(
        st.tuples(
            st.sampled_from(["bullets", "numbers"]),
            st.lists(st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=6),
        ),
        st.tuples(st.just("quote"), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=8,
)


@dataclass
class Document:
    """Markdown and its visible words: `w0 w1 …` in this order, `h0 h1 …` of table headers anywhere."""

    text: str = ""
    words: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Return documents of up to some thousand characters."""
    writer = _Writer()
    blocks = draw(st.lists(_block, min_size=1, max_size=8))
    writer.document.text = "\n\n".join("\n".join(writer.block(block)) for block in blocks) + "\n"
    return writer.document


class _Writer:
    def __init__(self) -> None:
        self.document = Document()

    def block(self, block) -> list[str]:
        kind, content = block
        return getattr(self, f"_{kind}")(content)

    def _words(self, count: int, decoration: str) -> str:
        begin = len(self.document.words)
        self.document.words += [f"w{number}" for number in range(begin, begin + count)]
        return " ".join(f"w{number}{decoration}" for number in range(begin, begin + count))

    def _runs(self, runs) -> str:
        return " ".join(self._styled(*run) for run in runs)

    def _styled(self, style: str, count: int, decoration: str) -> str:
        words = self._words(count, decoration)
        if style == "link":
            return f"[{words}](https://example.org/page?q=1)"
        if style == "image":
            return f"![{words}](https://example.org/image.png)"
        return f"{style}{words}{style[::-1]}"

    def _paragraph(self, runs) -> list[str]:
        return [self._runs(runs)]

    def _heading(self, runs) -> list[str]:
        return ["## " + self._runs(runs)]

    def _code(self, content) -> list[str]:
        language, lines = content
        return [f"```{language}", *("  " * (line % 3) + self._words(3, "=") for line in range(lines)), "```"]

    def _table(self, content) -> list[str]:
        columns, rows, decoration = content
        begin = len(self.document.titles)
        titles = [f"h{number}" for number in range(begin, begin + columns)]
        self.document.titles += titles
        body = ["| " + " | ".join(self._words(2, decoration) for _ in range(columns)) + " |" for _ in range(rows)]
        return ["| " + " | ".join(titles) + " |", "|" + "---|" * columns, *body]

    def _rule(self, content) -> list[str]:
        return ["***"]

    def _quote(self, blocks) -> list[str]:
        lines: list[str] = []
        for block in blocks:
            lines += ([">"] if lines else []) + [f"> {line}" for line in self.block(block)]
        return lines

    def _bullets(self, items) -> list[str]:
        return self._items(items, ["- "] * len(items))

    def _numbers(self, items) -> list[str]:
        return self._items(items, [f"{number}. " for number in range(7, 7 + len(items))])

    def _items(self, items, markers) -> list[str]:
        lines: list[str] = []
        for marker, blocks in zip(markers, items, strict=True):
            inner: list[str] = []
            for block in blocks:
                inner += ([""] if inner else []) + self.block(block)
            lines += [marker + inner[0]] + [" " * len(marker) + line if line else "" for line in inner[1:]]
        return lines
