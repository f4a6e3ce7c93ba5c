"""Texts by language and key: a person reads a sentence even if one is missing."""

from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from agent.catalogue import Catalogue

HEAD = r"""
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"""


def entry(key: str, text: str) -> str:
    return f'\nmsgid "{key}"\nmsgstr "{text}"\n'


def plural(key: str, singular: str, several: str) -> str:
    return f'\nmsgid "{key}"\nmsgid_plural "{key}"\nmsgstr[0] "{singular}"\nmsgstr[1] "{several}"\n'


def put(folder: Path, language: str, domain: str, *entries: str) -> None:
    """Compile a source where a catalogue looks for it."""
    (folder / language / "LC_MESSAGES").mkdir(parents=True, exist_ok=True)
    with (folder / language / "LC_MESSAGES" / f"{domain}.mo").open("wb") as file:
        write_mo(file, read_po(BytesIO((HEAD + "".join(entries)).encode())))


@pytest.fixture
def house(tmp_path: Path) -> Catalogue:
    waiting = plural("waits", "{n} message waits", "{n} messages wait")
    put(tmp_path, "en", "house", entry("hello", "Hello {name}!"), entry("late", "Too late."), waiting)
    esperan = plural("waits", "espera {n} mensaje", "esperan {n} mensajes")
    put(tmp_path, "es", "house", entry("hello", "¡Hola {name}!"), esperan)
    return Catalogue(tmp_path, "house")


class TestLookingUp:
    @pytest.mark.parametrize(
        ("locale", "expected"),
        [
            ("es", "¡Hola Ana!"),
            ("es-419", "¡Hola Ana!"),
            ("ES_es", "¡Hola Ana!"),
            ("en-GB", "Hello Ana!"),
            ("est", "Hello Ana!"),
            ("de", "Hello Ana!"),
            ("", "Hello Ana!"),
            (None, "Hello Ana!"),
        ],
    )
    def test_the_language_is_that_of_the_tag(self, house: Catalogue, locale: str | None, expected: str):
        assert expected == house.text(locale, "hello", name="Ana")

    def test_a_value_is_shown_as_it_is(self, house: Catalogue):
        assert "Hello {name} {0}!" == house.text("en", "hello", name="{name} {0}")


class TestWhatIsMissing:
    def test_a_language_without_a_text_has_the_english_one(self, house: Catalogue):
        assert "Too late." == house.text("es", "late")

    def test_an_unfilled_field_leaves_its_name(self, house: Catalogue):
        assert "Hello {name}!" == house.text("en", "hello", somebody="Ana")

    def test_a_missing_key_is_shown_as_its_name(self, house: Catalogue):
        assert "What {is} there" == house.text("es", "What {is} there")
        assert "" == house.text("es", "")

    @pytest.mark.parametrize(
        ("words", "read"),
        [
            ("reading {n} days", "reading 30 days"),
            ("{m} {n}", "{m} 30"),
            ("half {", "half {"),
            ("{0} {n.x}", "{0} {n.x}"),
        ],
    )
    def test_words_that_stand_in_no_catalogue_have_their_fields_filled_in(
        self, house: Catalogue, words: str, read: str
    ):
        assert read == house.text("es", words, n=30)

    def test_nothing_there_to_read_is_no_error(self, tmp_path: Path):
        assert ("hello", "waits") == (
            Catalogue(tmp_path, "none").text("es", "hello"),
            Catalogue(tmp_path, "none").plural("es", "waits", 2),
        )

    def test_what_could_not_be_read_once_is_read_again(self, tmp_path: Path, house: Catalogue):
        file = tmp_path / "es" / "LC_MESSAGES" / "house.mo"
        compiled = file.read_bytes()
        file.unlink()
        file.mkdir()
        assert "Hello Ana!" == house.text("es", "hello", name="Ana")
        file.rmdir()
        file.write_bytes(compiled)
        assert "¡Hola Ana!" == house.text("es", "hello", name="Ana")

    def test_what_the_layer_below_could_not_read_is_read_again_through_the_one_above(
        self, tmp_path: Path, house: Catalogue
    ):
        put(tmp_path, "en", "agent", entry("open", "Come in."))
        both = Catalogue(tmp_path, "agent").over(house)
        file = tmp_path / "en" / "LC_MESSAGES" / "house.mo"
        compiled = file.read_bytes()
        file.unlink()
        file.mkdir()
        assert "late" == both.text("en", "late")
        file.rmdir()
        file.write_bytes(compiled)
        assert "Too late." == both.text("en", "late")


class TestLayers:
    def test_an_agents_texts_go_before_the_house_s(self, tmp_path: Path, house: Catalogue):
        put(tmp_path, "en", "agent", entry("late", "The shop is closed."), entry("open", "Come in."))
        both = Catalogue(tmp_path, "agent").over(house)
        assert "The shop is closed." == both.text("en", "late")
        assert "¡Hola Ana!" == both.text("es", "hello", name="Ana")
        assert "Come in." == both.text("es", "open")
        assert "esperan 2 mensajes" == both.plural("es", "waits", 2)
        assert "Too late." == house.text("en", "late")
