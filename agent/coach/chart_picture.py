"""Draws a chart as a PNG: an SVG of our own, rendered by resvg with the font beside. No numbers are made here.

The font is Inter, cut down to Latin, Greek and Cyrillic; other writing takes the system's fonts, where it has any.
"""

import asyncio
import math
import sys
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from weakref import WeakKeyDictionary

import structlog

from agent.child_process import ProgramEnded, run_program
from agent.coach.chart import (
    A_YEAR,
    ChartReport,
    ChartWeek,
    DrawnChart,
    chart_text,
    name_of,
    summary_text,
    title_text,
    week_date,
)
from agent.coach.durations import spell_minutes
from agent.coach.texts import file_name, say
from agent.wellformed import cut_text

log = structlog.get_logger()

DRAWN_AT_ONCE = 2
"""Each is a process of some 40 MB that keeps a processor busy."""

_SLOTS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

RunProgram = Callable[[Sequence[str], bytes], Awaitable[ProgramEnded]]

DRAW_S = 15.0
"""It takes some 200 ms with the start of its process; a machine that is busy takes longer, and after this words do."""

MIME = "image/png"
MAX_DESCRIPTION_CHARS = 1_000
"""Discord takes 1,024, Slack 1,000 (read 2026-11)."""

PIXELS_WIDE = 1260
WIDTH, PADDING, TOP, PLOT_HEIGHT = 420, 20, 92, 190
"""About as wide as a phone shows it, so that its words stay readable there."""

AXIS_WIDTH = 40
TITLE, TEXT, SMALL = 20, 15, 14
LEGEND_ROW = 25
MAX_BAR = 60
DATE_ROOM, DATE_ROOM_WITH_YEAR = 60, 140
"""Width of a date under a bar, with the space to its neighbours; the last one is moved inside."""

GOAL_IN_SIGHT = 2.5
"""A goal over so many times the highest bar is only named: its line would press the bars flat."""

STEPS = (5, 10, 15, 30, 60, 120, 180, 300, 600, 1_200, 1_800, 3_000, 6_000)
"""Minutes between two lines."""

FONTS = Path(__file__).parent / "fonts"
_NARROW = frozenset("iljItfr.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%&")


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of everything but the skills."""

    paper: str
    ink: str
    faint: str  # dates, numbers of the axis
    line: str
    lightened: float  # how far a skill's colour goes towards white


LIGHT = Theme("#ffffff", "#111827", "#5b6472", "#e5e7eb", 0.0)
DARK = Theme("#0f172a", "#f1f5f9", "#a3b0c2", "#263347", 0.2)


_PROGRAM = """
import sys, resvg_py
svg = sys.stdin.buffer.read().decode()
plain, *fonts = sys.argv[1:]
png = resvg_py.svg_to_bytes(svg_string=svg, width=PIXELS, font_files=fonts, font_family="Inter",
                            sans_serif_family="Inter", skip_system_fonts=plain == "plain")
sys.stdout.buffer.write(bytes(png))
""".replace("PIXELS", str(PIXELS_WIDE))
"""Resvg holds the interpreter while it draws: a process of its own blocks no one and can be ended."""


async def plot(language: str, chart: ChartReport, *, is_dark: bool = False) -> DrawnChart:
    """Return the chart as a picture and in words; without a picture where there is nothing to see, or it cannot
    be drawn.
    """
    png = await draw_chart(language, chart, is_dark=is_dark) if chart.total else b""
    words = chart_text(language, chart).replace("*", "").replace("\\", "")
    name = file_name(language, chart.weeks[-1].week, f"{'dark' if is_dark else 'light'}.png")
    return DrawnChart(chart, png, name, cut_text(words, MAX_DESCRIPTION_CHARS))


async def draw_chart(
    language: str, chart: ChartReport, *, is_dark: bool = False, run: RunProgram = run_program
) -> bytes:
    """Return the chart as a PNG; b"" where that fails or takes too long. Two are drawn at once; more wait their
    turn.
    """
    svg = chart_svg(language, chart, DARK if is_dark else LIGHT)
    fonts = [str(FONTS / f"Inter-{weight}.otf") for weight in ("Regular", "SemiBold")]
    others = "plain" if all(_is_in_font(char) for char in svg) else "with system fonts"
    try:
        async with asyncio.timeout(DRAW_S), _slots():
            drawn = await run([sys.executable, "-I", "-c", _PROGRAM, others, *fonts], svg.encode())
    except (TimeoutError, OSError) as error:
        log.warning("chart_failed", error=f"{type(error).__name__}: {error}")
        return b""
    if drawn.code:
        log.warning("chart_failed", error=drawn.errors[-500:].decode(errors="replace"))
        return b""
    return drawn.output


def _slots() -> asyncio.Semaphore:
    """Return those of the running loop: a semaphore is one loop's."""
    return _SLOTS.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(DRAWN_AT_ONCE))


def _is_in_font(char: str) -> bool:
    return char < "\u0530" or "\u1e00" <= char < "\u2200"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The area in which the bars stand, in pixels."""

    left: float
    right: float
    top_minutes: int
    step_minutes: int
    slots: int

    @property
    def slot(self) -> float:
        return (self.right - self.left) / self.slots

    def y(self, minutes: float) -> float:
        return TOP + PLOT_HEIGHT * (1 - minutes / self.top_minutes)

    def centre(self, at: int) -> float:
        return self.left + self.slot * (at + 0.5)


def chart_svg(language: str, chart: ChartReport, theme: Theme) -> str:
    """Return the chart as an SVG document."""
    frame = _frame_of(chart)
    colours = _colours(chart, theme)
    legend, rows = _legend(language, chart, frame, colours, theme)
    height = TOP + PLOT_HEIGHT + 34 + rows * LEGEND_ROW + (10 if rows else 0)
    title = _fit(title_text(language, chart), TITLE, WIDTH - 2 * PADDING)
    content = "".join(
        (
            _text(PADDING, 36, title, theme.ink, TITLE, bold=True),
            _text(PADDING, 60, summary_text(language, chart), theme.faint, TEXT),
            _lines(frame, theme),
            *(_bar(frame, at, week, colours) for at, week in enumerate(chart.weeks)),
            _goal(frame, chart.goal_minutes or 0, theme),
            _dates(language, frame, chart.weeks, theme),
            _totals(frame, chart, theme),
            legend,
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="Inter, sans-serif">'
        f'<rect width="{WIDTH}" height="{height}" fill="{theme.paper}"/>{content}</svg>'
    )


def _frame_of(chart: ChartReport) -> _Frame:
    highest = max(week.total for week in chart.weeks) or 60
    goal = chart.goal_minutes or 0
    reach = max(highest, goal) if goal <= GOAL_IN_SIGHT * highest else highest
    step = next((step for step in STEPS if reach / step <= 5), STEPS[-1])
    top = math.ceil(reach * 1.04 / step) * step
    return _Frame(PADDING + AXIS_WIDTH, WIDTH - PADDING, top, step, max(len(chart.weeks), 1))


def _colours(chart: ChartReport, theme: Theme) -> list[str]:
    """Return a colour a skill; one that another has already is made lighter, so that each can be told."""
    found: list[str] = []
    for skill in chart.skills:
        colour, lighter = _mix(skill.colour, theme.lightened), theme.lightened
        while colour in found and lighter < 0.75:
            lighter += 0.25
            colour = _mix(skill.colour, lighter)
        found.append(colour)
    return found


def _mix(colour: str, lighter: float) -> str:
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * lighter):02x}" for part in parts)


def _lines(frame: _Frame, theme: Theme) -> str:
    found = []
    for minutes in range(0, frame.top_minutes + 1, frame.step_minutes):
        y = frame.y(minutes)
        found.append(
            f'<line x1="{frame.left}" y1="{y:.1f}" x2="{frame.right}" y2="{y:.1f}" stroke="{theme.line}"'
            f' stroke-width="{1.5 if not minutes else 1}"/>'
        )
        label = short_minutes(minutes) if minutes else "0"
        found.append(_text(frame.left - 6, y + 5, label, theme.faint, SMALL, anchor="end"))
    return "".join(found)


def _bar(frame: _Frame, at: int, week: ChartWeek, colours: Sequence[str]) -> str:
    """One week: a piece a skill, the most practised one below, round at the top."""
    if not week.total:
        return ""
    width = min(frame.slot * 0.66, MAX_BAR)
    left, top, floor = frame.centre(at) - width / 2, frame.y(week.total), frame.y(0)
    round_by = min(5.0, floor - top, width / 2)
    outline = (
        f"M{left:.1f} {floor:.1f}V{top + round_by:.1f}q0-{round_by:.1f} {round_by:.1f}-{round_by:.1f}"
        f"H{left + width - round_by:.1f}q{round_by:.1f} 0 {round_by:.1f} {round_by:.1f}V{floor:.1f}z"
    )
    pieces, done = [], 0
    for minutes, colour in zip(week.minutes, colours, strict=True):
        y = frame.y(done + minutes)
        gap = min(1, frame.slot / 20) if done else 0
        tall = max(frame.y(done) - y - gap, 0)
        pieces.append(f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{colour}"/>')
        done += minutes
    return f'<clipPath id="w{at}"><path d="{outline}"/></clipPath><g clip-path="url(#w{at})">{"".join(pieces)}</g>'


def _dates(language: str, frame: _Frame, weeks: Sequence[ChartWeek], theme: Theme) -> str:
    """Draw dates under the bars, this week's always, as many as have room."""
    dates = [week_date(language, weeks, week.week) for week in weeks]
    if len(weeks) == 1:
        dates = [say(language, "chart.week_of", first=dates[0])]
    room = DATE_ROOM if len(weeks) <= A_YEAR else DATE_ROOM_WITH_YEAR
    every = math.ceil(room / frame.slot)
    found = []
    for at, date in enumerate(dates):
        if (len(weeks) - 1 - at) % every:
            continue
        is_last = at == len(weeks) - 1
        x = _keep_inside(frame, frame.centre(at), _width(date, SMALL))
        ink = theme.ink if is_last else theme.faint
        found.append(_text(x, TOP + PLOT_HEIGHT + 22, date, ink, SMALL, anchor="middle", bold=is_last))
    return "".join(found)


def _totals(frame: _Frame, chart: ChartReport, theme: Theme) -> str:
    """Draw the totals over the bars if each has room, else that of the highest; above the goal's line if on it."""
    highest = max(chart.weeks, key=lambda week: week.total)
    goal = chart.goal_minutes or 0
    labels = [short_minutes(week.total) for week in chart.weeks]
    have_room = frame.slot >= max(_width(label, SMALL) for label in labels)
    found = []
    for at, (week, label) in enumerate(zip(chart.weeks, labels, strict=True)):
        if not week.total or not (have_room or week is highest):
            continue
        y = frame.y(week.total) - 5
        if goal <= frame.top_minutes and y - SMALL < frame.y(goal) < y + 5:
            y = frame.y(goal) - 5
        x = _keep_inside(frame, frame.centre(at), _width(label, SMALL))
        found.append(_text(x, y, label, theme.ink, SMALL, anchor="middle"))
    return "".join(found)


def _keep_inside(frame: _Frame, centre: float, wide: float) -> float:
    return min(max(centre, frame.left + wide / 2), WIDTH - 4 - wide / 2)


def _goal(frame: _Frame, minutes: int, theme: Theme) -> str:
    """Draw the goal's line, if it is in sight."""
    if not minutes or minutes > frame.top_minutes:
        return ""
    return _dashes(frame.left, frame.right, frame.y(minutes), theme)


def _dashes(left: float, right: float, y: float, theme: Theme) -> str:
    return (
        f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="{theme.ink}"'
        ' stroke-width="1.5" stroke-dasharray="6 4"/>'
    )


def _legend(language: str, chart: ChartReport, frame: _Frame, colours: Sequence[str], theme: Theme) -> tuple[str, int]:
    """Draw each skill with its total beside the name, and the goal, as many in a row as fit; return the rows too."""
    entries: list[tuple[str, str, str]] = []
    if chart.only is None:
        named = zip(chart.skills, colours, strict=True)
        entries = [(name_of(language, skill), spell_minutes(skill.minutes), colour) for skill, colour in named]
    if chart.goal_minutes:
        above = " ↑" if chart.goal_minutes > frame.top_minutes else ""
        entries.append((say(language, "chart.goal"), spell_minutes(chart.goal_minutes) + above, ""))
    found, x, row = [], float(PADDING), 0
    for name, total, colour in entries:
        mark = 18 if colour else 30
        shown = _fit(name, TEXT, WIDTH - 2 * PADDING - mark - 6 - _width(total, TEXT))
        wide = mark + _width(shown, TEXT) + 6 + _width(total, TEXT)
        if x > PADDING and x + wide > WIDTH - PADDING:
            x, row = float(PADDING), row + 1
        y = TOP + PLOT_HEIGHT + 54 + row * LEGEND_ROW
        found.append(
            f'<circle cx="{x + 6:.1f}" cy="{y - 5:.1f}" r="6" fill="{colour}"/>'
            if colour
            else _dashes(x, x + 24, y - 5, theme)
        )
        found.append(_legend_words(x + mark, y, shown, total, theme))
        x += wide + 18
    return "".join(found), row + 1 if entries else 0


def _legend_words(x: float, y: float, name: str, total: str, theme: Theme) -> str:
    """Write the total straight behind the name, as wide as the renderer draws it."""
    words = f'{escape(name, quote=False)} <tspan fill="{theme.faint}">{escape(total, quote=False)}</tspan>'
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{TEXT}" text-anchor="start" fill="{theme.ink}">{words}</text>'


def short_minutes(minutes: int) -> str:
    """Minutes in little room: "45 min", "2 h", "2 h 15"."""
    return spell_minutes(minutes) if minutes < 60 or minutes % 60 == 0 else spell_minutes(minutes).removesuffix(" min")


def _fit(text: str, size: float, room: float) -> str:
    """Return the text without pictures, cut where it would be too wide."""
    plain = "".join(char for char in text if unicodedata.category(char) not in {"So", "Sk", "Cf", "Mn", "Cs", "Cn"})
    text = " ".join((plain if plain.strip() else text).split())
    if _width(text, size) <= room:
        return text
    while text and _width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _width(text: str, size: float) -> float:
    """About as wide as the text is drawn, rather more."""
    return size * sum(map(_char_width, text))


def _char_width(char: str) -> float:
    if unicodedata.east_asian_width(char) in {"W", "F"}:
        return 1.05
    if char in _WIDE:
        return 0.95
    if char in _NARROW:
        return 0.36
    return 0.72 if char.isupper() else 0.59


def _text(x: float, y: float, words: str, fill: str, size: float, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    at = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {at} fill="{fill}"{weight}>{escape(words, quote=False)}</text>'
