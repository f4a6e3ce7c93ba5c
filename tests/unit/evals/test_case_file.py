"""Case files: what a case may hold, and how each mistake is told."""

from pathlib import Path

import pytest

from agent.evals.case import CalledTool, CaseRules, Fixture, Message
from agent.evals.case_file import MAX_CASE_BYTES, BadCase, parse_case, read_cases

WHOLE = """\
name: a mail is sent
agent: helper
model: openai:small
prompt: You write mails.
date: 2026-03-02 18:30
language: es
before: [/log 45m guitar]
messages:
  - Write to Ana
  - text: "yes"
    at: 2026-03-02 19:00
    rules: {contains: sent, calls: {tool: send, arguments: {to: ana}}}
fixtures:
  - {tool: send, arguments: {to: ana}, result: {at: 2026-03-02}}
rules: {does_not_call: [delete], max_steps: 4}
judge: Was the mail sent?
"""


def read(text: str):
    return parse_case(text, Path("evals/mail.yaml"))


def test_a_case_holds_what_its_file_says():
    case = read(WHOLE).case
    assert (Message(text="Write to Ana"), "2026-03-02T18:30:00") == (
        case.messages[0],
        case.date and case.date.isoformat(),
    )
    sent = CalledTool(tool="send", arguments={"to": "ana"})
    assert CaseRules(contains=("sent",), calls=(sent,)) == case.messages[1].rules
    assert (Fixture(tool="send", arguments={"to": "ana"}, result={"at": "2026-03-02"}),) == case.fixtures
    assert CaseRules(does_not_call=(CalledTool(tool="delete"),), max_steps=4) == case.rules


def test_a_place_is_that_of_the_value_or_of_what_is_around_it():
    found = read(WHOLE)
    places = [found.place("fixtures", 0, "tool"), found.place("rules", "max_cost"), found.place("nothing")]
    assert ["evals/mail.yaml:14", "evals/mail.yaml:15", "evals/mail.yaml:1"] == places


SMALL = "name: a\nmessages: [hello]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a", "1: it is no mapping"),
        ("", "1: it is no mapping"),
        ("name: [", "2: it is no YAML in line 2"),
        ("a: &x 1\nb: *x", "1: it has an anchor or alias"),
        ("a: !!python/name:os.system 1", "1: it has a tag"),
        ("a: " + "[" * 60 + "]" * 60, "1: it is nested more than 40 deep"),
        ("a: " + "9" * 5000, "1: it has an impossible value"),
        ("name: a", "1: messages: is missing"),
        ("name: a\nname: b\nmessages: [x]", "2: name: this key is there twice"),
        (SMALL + "fixture: []", '3: fixture: there is no such key; did you mean "fixtures"?'),
        (SMALL + "rules:\n  contain: x", '4: rules.contain: there is no such key; did you mean "contains"?'),
        (SMALL + "rules: {calls: {tol: x}}", '3: rules.calls.0.tol: there is no such key; did you mean "tool"?'),
        (SMALL + "rules: {calls: {tool: a b}}", "3: rules.calls.0.tool: it does not fit the pattern"),
        (SMALL + "fixtures: [{tool: a, arguments: 3}]", "3: fixtures.0.arguments: this is a table"),
        (SMALL + "fixtures: [{tool: a, result: 1, error: x}]", "3: fixtures.0: a fixture has a result or an error"),
        (SMALL + "rules: {matches: '(a'}", "3: rules.matches: '(a' is no regular expression"),
        (SMALL + "rules: {max_steps: many}", "3: rules.max_steps: a whole number is wanted"),
        (SMALL + "rules: {language: Spanish}", "3: rules.language: it does not fit the pattern"),
        (SMALL + "before: [log 45m guitar]", "3: before: 'log 45m guitar' is no command"),
        (SMALL + "date: tomorrow", "3: date: 'tomorrow' is no time; write one such as"),
        ("name: a\nmessages: hello", "2: messages: a list is written in brackets"),
        ("name: a\nmessages: [yes]", "2: messages.0: YAML reads yes, no, on and off as true and false"),
        ("name: a\nmessages: [{text: no}]", "2: messages.0.text: YAML reads yes"),
        ("name: a\nmessages: [{text: x, at: 2026-03-02}]", "1: messages with `at` need a `date`"),
        (
            "name: a\ndate: 2026-03-02\nmessages: [{text: x, at: 2026-03-01}]",
            "1: the times of the messages go back",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_key(text, told):
    with pytest.raises(BadCase) as bad:
        read(text)
    assert f"evals/mail.yaml:{told}" in str(bad.value)


def test_the_good_cases_of_a_folder_are_found_beside_the_bad_ones(tmp_path):
    (tmp_path / "a.yaml").write_text(SMALL)
    (tmp_path / "b.yml").write_text(SMALL)
    (tmp_path / "c.yaml").write_text("nam: c")
    (tmp_path / "d.yaml").write_bytes(b"name: \xff")
    (tmp_path / "e.yaml").write_text("#" * (MAX_CASE_BYTES + 1))
    (tmp_path / "f.yaml").symlink_to("nowhere")
    (tmp_path / "g.txt").write_text("no case")
    found = read_cases(tmp_path)
    assert ["a"] == [each.case.name for each in found.cases]
    flaws = "\n".join(found.flaws)
    assert f"{tmp_path}/b.yml:1: name: {tmp_path}/a.yaml:1 has the name 'a', too" in flaws
    assert all(f"{tmp_path}/{name}:1: " in flaws for name in ("c.yaml", "d.yaml", "e.yaml", "f.yaml"))


@pytest.mark.parametrize(("name", "told"), [("", "it has no file that ends in .yaml or .yml"), ("x", "cannot be read")])
def test_a_folder_without_cases_is_told(tmp_path, name, told):
    (flaw,) = read_cases(tmp_path / name).flaws
    assert told in flaw
