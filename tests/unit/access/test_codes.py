"""Codes: derived, never kept; and the key they are derived with."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access.codes import (
    ALPHABET,
    BULLETS,
    code_of,
    find_flaw,
    load_key,
    matches,
    normalise,
    reveal,
    secret_ref,
)
from gateway.errors import GatewayError
from tests.fakes.people import KEY


def test_the_alphabet_has_32_symbols_without_the_ones_people_mix_up() -> None:
    assert (32, set()) == (len(set(ALPHABET)), set(ALPHABET) & set("0O1I"))


@given(st.binary(min_size=32, max_size=32), st.uuids().map(str))
def test_a_code_is_eight_symbols_and_the_same_every_time(key: bytes, request_id: str) -> None:
    code = code_of(key, request_id)
    assert code == code_of(key, request_id)
    assert re.fullmatch(f"[{ALPHABET}]{{8}}", code)
    assert matches(key, request_id, code)


def test_codes_differ_by_request_and_by_key() -> None:
    codes = {code_of(KEY, f"request-{number}") for number in range(2000)} | {code_of(bytes(32), "request-0")}
    assert 2001 == len(codes)


def test_every_symbol_comes_about_as_often_as_any_other() -> None:
    text = "".join(code_of(KEY, str(number)) for number in range(4000))
    counts = [text.count(symbol) for symbol in ALPHABET]
    assert 800 < min(counts)
    assert max(counts) < 1200


@given(st.uuids().map(str), st.lists(st.sampled_from(" -\t\u2013\u00a0"), min_size=9, max_size=9))
def test_a39_case_spaces_and_dashes_do_not_matter(request_id: str, between: list[str]) -> None:
    code = code_of(KEY, request_id)
    typed = "".join(mark + symbol for mark, symbol in zip(between, code.lower(), strict=False))
    assert code == normalise(typed)


@pytest.mark.parametrize("typed", ["0BCDEFGH", "ABCDEFG1", "OBCDEFGH", "ABCDEFGI", "abcdefgi"])
def test_a39_symbols_that_are_in_no_code_are_not_read_as_others(typed: str) -> None:
    assert normalise(typed) == typed.upper()
    assert "0, O, 1 or I" in (find_flaw(normalise(typed)) or "")


@pytest.mark.parametrize("typed", ["", "ABC", "ABCDEFGHJ", "ABCDEFG.", "ＡＢＣＤＥＦＧＨ", "A\ud800CDEFGH"])
def test_what_cannot_be_a_code_is_said_to_be_none(typed: str) -> None:
    assert find_flaw(normalise(typed)) is not None
    assert not matches(KEY, "request", normalise(typed))


def test_the_code_takes_the_place_of_the_bullets_when_it_is_sent() -> None:
    """Cover A45."""
    code = code_of(KEY, "r1")
    assert f"use {code}, {code}" == reveal(KEY, secret_ref("r1"), f"use {BULLETS}, {BULLETS}")
    assert len(code.encode("utf-16-le")) == len(BULLETS.encode("utf-16-le"))


def test_another_kind_of_reference_reveals_nothing() -> None:
    assert BULLETS == reveal(KEY, "other:r1", BULLETS)


def test_the_key_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    """Cover A93."""
    key = load_key(tmp_path)
    assert (32, key) == (len(key), load_key(tmp_path))
    assert ["pairing.key"] == [path.name for path in tmp_path.iterdir()]
    assert 0o600 == (tmp_path / "pairing.key").stat().st_mode & 0o777


def test_a_draft_left_by_a_crash_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "pairing.key.new").write_bytes(b"half")
    assert 32 == len(load_key(tmp_path))


def test_a93_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_key(tmp_path)
    (tmp_path / "pairing.key").chmod(0o640)
    with pytest.raises(GatewayError, match="chmod 600"):
        load_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a46_a_damaged_key_stops_the_start_and_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pairing.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(GatewayError, match="restore it, or delete it"):
        load_key(tmp_path)
    assert content == path.read_bytes()


def test_a_home_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(GatewayError, match=r"pairing\.key cannot be written"):
        load_key(tmp_path / "nowhere")
