"""Texts for people by language and key. A missing text never raises: its key is shown.

The texts are in `.po` files beside the code that uses them; `make generated` compiles them to the `.mo` files that are
read here.
"""

import gettext
import re
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

DEFAULT = "en"
NAMES: Mapping[str, str] = MappingProxyType({"en": "English", "es": "Spanish"})
"""The supported languages: ISO 639-1 code to the English name that a model reads."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|~])")


@lru_cache(256)
def language_of(locale: str | None) -> str:
    """Return the supported language of a BCP 47 locale; English if it is not supported."""
    spoken = (locale or "").lower().replace("_", "-").split("-")[0]
    return spoken if spoken in NAMES else DEFAULT


def escape(text: str) -> str:
    """Escape a person's own words so that Markdown shows them literally."""
    return _MARKDOWN.sub(r"\\\1", text)


class Catalogue:
    """The texts of one owner by key ("commands.start"), optionally in front of another owner's catalogue.

    A language is read from disk on first use; `load` reads all of them when the gateway starts.
    """

    def __init__(
        self, folder: Path, domain: str, below: "Catalogue | None" = None, *, of: "Catalogue | None" = None
    ) -> None:
        """`folder` holds `LANGUAGE/LC_MESSAGES/DOMAIN.mo`. `below` has the texts that are missing here; `of` shares its
        files.
        """
        self._of = of
        self._folder = folder
        self._domain = domain
        self._below = below
        self._by_language: dict[str, gettext.NullTranslations] = {}
        self._words: dict[tuple[str, str], str] = {}  # by language and key: texts without fields

    def over(self, below: "Catalogue") -> "Catalogue":
        """Return a catalogue in which these texts override those of `below`."""
        return Catalogue(self._folder, self._domain, below, of=self)

    def load(self) -> None:
        """Read every language now, while file descriptors are free."""
        for language in NAMES:
            self.messages(language)

    def text(self, locale: str | None, key: str, /, **values: object) -> str:
        """Return the text of a key in a BCP 47 locale with its fields filled in; English if the language lacks it.

        A key without a text is returned as it is, so that a small agent needs no `.po` file.
        """
        if values:
            return self._find(locale, key, None, values)
        language = language_of(locale)
        known = self._words.get((language, key))
        if known is not None:
            return known
        words = self._find(locale, key, None, values)
        if words != key and self.holds(language) and self.holds(DEFAULT):
            self._words[language, key] = words
        return words

    def plural(self, locale: str | None, key: str, n: int, /, **values: object) -> str:
        """Return the plural form of a text for `n`, which is also a field."""
        return self._find(locale, key, n, {"n": n, **values})

    def _find(self, locale: str | None, key: str, n: int | None, values: dict[str, object]) -> str:
        for language in dict.fromkeys((language_of(locale), DEFAULT)):
            messages = self.messages(language)
            found = messages.gettext(key) if n is None else messages.ngettext(key, key, n)
            if found != key and key:  # the key "" has the header
                return found.format_map(_Fields(values)) if values else found
        with suppress(ValueError, LookupError, AttributeError):  # texts outside a catalogue are not checked
            return key.format_map(_Fields(values)) if values else key
        return key

    def holds(self, language: str) -> bool:
        """Return True if the language was read, or its file does not exist."""
        return language in self._by_language

    def messages(self, language: str) -> gettext.NullTranslations:
        """Return gettext's catalogue of a language with its fallbacks, or an empty one if the file cannot be read."""
        known = self._by_language.get(language)
        if known is not None:
            return known
        found, lasting = self._read(language) if self._of is None else self._of.read(language)
        if self._below is not None:
            found.add_fallback(self._below.messages(language))
            lasting = lasting and self._below.holds(language)
        if lasting:
            self._by_language[language] = found
        return found

    def read(self, language: str) -> tuple[gettext.NullTranslations, bool]:
        """Return a shallow copy of a language's gettext catalogue, and whether it is final (False: read it again
        later).
        """
        return copy(self.messages(language)), self.holds(language)

    def file_of(self, language: str) -> Path:
        """Return the path of a language's compiled texts."""
        return self._folder / language / "LC_MESSAGES" / f"{self._domain}.mo"

    def _read(self, language: str) -> tuple[gettext.NullTranslations, bool]:
        try:
            with self.file_of(language).open("rb") as file:
                return gettext.GNUTranslations(file), True
        except OSError as error:  # not final: the process may be out of file descriptors
            return gettext.NullTranslations(), isinstance(error, FileNotFoundError)


class _Fields(dict[str, object]):
    """Values by name; a missing one is shown as its name."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


PLAIN = Catalogue(Path(), "")
"""Texts of an agent without a catalogue: each key is the text itself."""
