"""Names in lists: visible, harmless, and with a warning about lookalikes."""

import unicodedata
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.console.views import ConsoleTemplates
from gateway.safety.names import KnownName, Lookalikes, shown_name, skeleton

NAMES = Lookalikes(
    [KnownName("Ada Lovelace", "owner", "u-1"), KnownName("Иван", "operator", "u-2"), KnownName("Bill", "operator")]
)
UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada\u202egnp.exe", "Ada⟨U+202E⟩gnp.exe"),
        ("Ad\u200ba", "Ad⟨U+200B⟩a"),
        ("A\u2060d\u00ada", "A⟨U+2060⟩d⟨U+00AD⟩a"),
        ("\u3164", "⟨U+3164⟩"),
        ("x\ufe0f", "x⟨U+FE0F⟩"),
        ("\U000e0041\U000e0042", "⟨U+E0041⟩⟨U+E0042⟩"),
        ("a\x1b[2J\nb", "a⟨U+001B⟩[2J⟨U+000A⟩b"),
        ("Z" + "\u0335" * 40 + "a", "Z" + "\u0335" * 3 + "⟨+37 marks⟩a"),
        ("  Ada\u00a0 \u3000 Lovelace ", "Ada Lovelace"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("\ue000", "⟨U+E000⟩"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(name: str, shown: str) -> None:
    assert shown == shown_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "Zoë",
        "Nguyễn Thị Ánh",
        "山田 太郎",
        "علی\u200cرضا",
        "क्\u200dष",
        "O’Brien-Smith",
        "👨\u200d👩\u200d👧 home",
        "❤\ufe0f Ana",
        "👍🏽",
        "ไม้ไผ่",
        "אָלֶף",
        "Владимир",
        "Ελένη",
        "Ⅷ",
        "x²",
    ],
)
def test_names_of_people_stay_as_they_are(name: str) -> None:
    assert unicodedata.normalize("NFC", name) == shown_name(name)


@given(st.text(alphabet=st.characters(codec=None), max_size=60))
def test_whatever_a_name_is_made_of_it_is_one_line_that_shows_all_it_holds(name: str) -> None:
    shown = shown_name(name)
    assert {letter for letter in shown if unicodedata.category(letter) in UNSEEN} <= {"\u200c", "\u200d"}
    assert shown == shown_name(shown)
    assert "  " not in shown


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace",  # the very same
        "ada lovelace",
        "Аdа Lоvеlасе",  # Cyrillic а, о, е, с
        "АԁаLovelace",
        "Αda Lονelace",  # Greek
        "Ａｄａ Ｌｏｖｅｌａｃｅ",  # full width
        "𝐀𝐝𝐚 𝐋𝐨𝐯𝐞𝐥𝐚𝐜𝐞",
        "Ada\u200b Love\u2060lace",
        "Àda Lövelace",
        "Ada L0ve1ace",
        "Ada LoveIace",
        "ᎪᏧa Lovelace",  # Cherokee
    ],
)
def test_a_name_that_looks_like_the_owners_is_said_to(name: str) -> None:
    """Cover A27, A55."""
    assert "looks like Ada Lovelace, an owner" in NAMES.introduce(name)


@pytest.mark.parametrize(("name", "role"), [("Ивaн", "operator"), ("Bi11", "operator"), ("BІLL", "operator")])
def test_so_is_one_that_looks_like_an_operators(name: str, role: str) -> None:
    assert f", an {role}" in NAMES.introduce(name)


def test_letters_of_scripts_that_pass_for_each_other_are_named() -> None:
    assert "Pаul (mixes Cyrillic and Latin letters)" == NAMES.introduce("Pаul")
    for name in ("Paul Иванов", "Paul 太郎さん", "Ольга", "Ελένη Papadaki"):
        assert name == NAMES.introduce(name)


def test_a_name_is_not_its_own_lookalike_nor_one_of_an_empty_name() -> None:
    assert "Ada Lovelace" == NAMES.introduce("Ada Lovelace", "u-1")
    assert "⟨no name⟩" == NAMES.introduce("") == Lookalikes([KnownName("", "owner")]).introduce("  ")
    assert "Grace" == NAMES.introduce("Grace")


@given(st.text(max_size=40))
def test_a_skeleton_counts_no_case_blanks_or_unseen_letters(name: str) -> None:
    spread = "\u200b ".join(name)
    assert skeleton(name) == skeleton(spread)


def test_who_has_no_name_is_known_by_the_same_short_id_on_each_page_of_the_console() -> None:
    id_ = "01a208b1-247c-716c-b65c-2baba71d41af"
    session = {
        "id": "s",
        "person": id_,
        "used_at": "2026-11-23T13:56:14",
        "turns": 1,
        "cost_microusd": None,
        "agent": "coach",
        "key": "k",
    }
    used = {"group": id_, "name": id_, "calls": 1, "input_tokens": 1}
    used |= {"output_tokens": 1, "cost_microusd": None, "unpriced_calls": 0}
    for template, data in (
        ("sessions.html", {"sessions": [session], "person": ""}),
        ("usage.html", {"rows": [used], "count": 1, "days": "7", "by": "person", "groupings": (), "used": ()}),
    ):
        page = ConsoleTemplates().draw(template, "en", {"path": "/console", "zone": UTC, **data})
        assert ">a71d41af<" in page and "2baba71d41af" not in page
