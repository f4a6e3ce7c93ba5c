"""The form of an invitation's code, and its figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.messages import CommandInvoked
from gateway.access import invites
from gateway.access.codes import ALPHABET, BULLETS, in_groups, invite_code_of
from tests.fakes.people import KEY, message

CODE = "ABCDEFGH23456789"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (CODE, CODE),
        ("/start ABCD-EFGH-2345-6789", CODE),
        ("  abcd efgh 2345 6789\n", CODE),
        ("/Pair  " + CODE, CODE),
        ("/start", None),
        ("/start summer-campaign", None),
        ("/start ABCD-EFGH-2345-678O", None),  # no O is a letter of ours
        ("my code is " + CODE, None),
        ("/log " + CODE, None),
        (CODE + "A", None),
        (CODE[:-1], None),
        ("A" * 10_000, None),
        ("/start " + "-" * 10_000 + CODE, None),
        ("", None),
    ],
)
def test_a_code_is_said_alone_or_behind_a_command(text: str, code: str | None) -> None:
    assert code == invites.code_in(message("7", text=text), "coach")


@given(st.text(alphabet=ALPHABET, min_size=16, max_size=16))
def test_what_is_kept_of_it_has_no_code(code: str) -> None:
    for text, kept in ((code, BULLETS), (f"/start {in_groups(code)}", f"/start {BULLETS}")):
        said = message("7", text=text)
        assert code == invites.code_in(said, "coach")
        assert kept == getattr(invites.without_code(said, "coach"), "text", None)


def test_a_command_gives_its_code_as_argument() -> None:
    said = message("7")
    for name, code in (("start", CODE), ("coach", CODE), ("log", None)):
        command = CommandInvoked(
            event_id="c",
            address=said.address,
            sender=said.sender,
            received_at=said.received_at,
            name=name,
            arguments=CODE,
            kind=said.kind,
        )
        assert code == invites.code_in(command, "coach")


def test_codes_are_unlike_each_other_and_beyond_guessing() -> None:
    assert 1000 == len({invite_code_of(KEY, str(one)) for one in range(1000)})
    assert all(
        invites.code_in(message("7", text=in_groups(invite_code_of(KEY, str(one)))), "coach") for one in range(100)
    )
    assert 1e6 * 1000 / len(ALPHABET) ** invites.CODE_CHARS <= 1e-14
