"""How a new skill looks until its owner says otherwise: an emoji by its name, a colour in turn."""

import re

from agent.coach.practice import name_key

DEFAULT_EMOJI = "🎯"
_EMOJIS = {
    "🎸": "guitar guitarra bass bajo ukulele ukelele",
    "🎹": "piano keyboard teclado organ",
    "🎻": "violin violín viola cello violonchelo",
    "🥁": "drums drum batería bateria percussion percusión",
    "🎷": "saxophone saxofón sax clarinet clarinete",
    "🎺": "trumpet trompeta trombone",
    "🎤": "singing voice canto voz",
    "💻": "programming coding python rust programación programar",
    "✍️": "writing escritura escribir",
    "🎨": "painting drawing pintura dibujo art arte",
    "📷": "photography fotografía",
    "🗣️": "english spanish french german japanese inglés español francés alemán japonés language idioma",
    "♟️": "chess ajedrez",
    "🏃": "running correr",
    "🏊": "swimming natación",
    "🧘": "yoga meditation meditación",
    "🍳": "cooking cocina cocinar",
    "💃": "dance dancing baile bailar",
    "📐": "mathematics math maths matemáticas",
}
_BY_WORD = {word: emoji for emoji, words in _EMOJIS.items() for word in words.split()}

COLOURS = ("#4f46e5", "#059669", "#d97706", "#dc2626", "#0891b2", "#7c3aed", "#65a30d", "#db2777")


def emoji_for(name: str) -> str:
    """The emoji of the first word that has one, else a target."""
    words = re.findall(r"\w+", name_key(name))
    return next((_BY_WORD[word] for word in words if word in _BY_WORD), DEFAULT_EMOJI)


def colour_for(position: int) -> str:
    """The colour of a person's n-th skill."""
    return COLOURS[position % len(COLOURS)]
