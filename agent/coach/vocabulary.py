"""What the words of a correction can be, in English and Spanish: one letter a class. Data, no rules.

A word that stands in no list is content (`w`), for which no shape of a correction has a place.
"""

CONTENT, NUMBER = "w", "n"

_LISTS = {
    "I": "i yo",
    "O": "hi hey hello ok okay well alright please yes yep great hola buenas buenos "
    "vale bueno bien oye sí porfa favor por",
    "N": "no not nope",
    "F": "for about around roughly nearly almost approximately durante unos unas casi aproximadamente",
    "P": "of on at with to de del con a al en",
    "T": "the my some an la el las los mi un una",
    "c": "and y doing focusing working",
    "R": "actually sorry oops correction perdón perdon perdona perdone disculpa corrección correccion realidad",
    "W": "wait espera",
    "t": "it that",
    "b": "was eran fueron fue",
    "m": "meant decir",
    "k": "make change quise quería queria cambia cámbialo cambialo corrige",
    "r": "instead rather vez",
    ",": ", : ; ( ) - – — | . !",
    '"': '" “ ” « »',
    "?": "? ¿",
}

PHRASES = {
    "por favor": "favor",
    "en realidad": "realidad",
    "mejor dicho": "realidad",
    "en vez de": "vez",
    "instead of": "instead",
    "rather than": "rather",
}
"""Words that mean something only together, and the word that stands for them."""

CLASSES: dict[str, str] = {word: letter for letter, words in _LISTS.items() for word in words.split()}
"""From a word, case-folded, to the letter of its class."""
