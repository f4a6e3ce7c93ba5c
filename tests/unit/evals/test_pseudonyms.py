"""Placeholders in place of names, addresses, numbers and keys."""

import pytest

from gateway.safety.pseudonyms import LEAST_ID, Pseudonyms

ANA = ("Ana García", "telegram:424242", "slack:U0ANA12345")
BOB = ("Bo", "telegram:7")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Ana García and ana, García's friend, not Anabel", "PERSON_1 and PERSON_1, PERSON_1's friend, not Anabel"),
        ("Bo (telegram:7) of telegram:424242", "PERSON_2 (PERSON_2) of PERSON_1"),
        ("a@x.org, B@x.org, A@X.ORG", "EMAIL_1, EMAIL_2, EMAIL_1"),
        ("@ana @coach_bot <@U0ANA12345> <@!123|x> @coach_bot", "@PERSON_1 MENTION_1 <@PERSON_1> MENTION_2 MENTION_1"),
        ("+34 600 123 456, 600-123-456, (+34) 600.123.456", "PHONE_1, PHONE_2, PHONE_1"),
        ("chat 123456789, 01a225ed-751e-7a17-b23d-6b97f6d979a5", "chat ID_1, ID_2"),
        ("U0BOB12345 deadbeefdeadbeef0 sk-abcdefghijklmnop1234", "ID_1 ID_2 [REDACTED]"),
        ("2026-03-02 18:30:00.123456, 02.03.2026 18:30, 75 min, 10 000 h", None),
        ("1234567 steps, deadbeefdeadbeefdead, v1.2.3", None),
    ],
)
def test_equal_values_get_equal_placeholders_and_the_rest_stays(text, hidden):
    assert (text if hidden is None else hidden) == Pseudonyms([ANA, BOB]).replace(text)


def test_a_json_value_keeps_its_shape():
    value = {"ana": [{"id": 123_456_789, "minutes": 45, "done": True}, None, 1.5], "to": "123456789"}
    known = Pseudonyms([ANA])
    assert {
        "PERSON_1": [{"id": LEAST_ID + 1, "minutes": 45, "done": True}, None, 1.5],
        "to": "ID_1",
    } == known.replace_in(value)
    assert "no names" == Pseudonyms([]).replace("no names")
