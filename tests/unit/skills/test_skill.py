"""Reading the text of a SKILL.md."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.frontmatter import MAX_FRONTMATTER_CHARS
from agent.permission_rules import Source, Verdict
from agent.skills.skill import BadSkill, SkillSource, allow_rules, parse_skill
from tests.unit.skills.shelf import a_skill, text_of


def read(text, folder="scales"):
    return parse_skill(text, folder, SkillSource.USER)


@pytest.mark.parametrize("change", [str, lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
def test_a_skill_is_read_with_or_without_a_byte_order_mark_and_with_any_line_ends(change):
    skill = read(change(text_of(when_to_use="before a gig", body="One.\nTwo.")))
    assert ("scales", "Practise scales.", "before a gig", "One.\nTwo.") == (
        skill.name,
        skill.head.description,
        skill.head.when_to_use,
        skill.body,
    )


def test_a_skill_may_leave_its_name_to_its_folder_and_has_keys_of_other_programs():
    text = (
        "---\ndescription: >\n  Two\n  lines.\nlicense: MIT\nmetadata:\n  version: 1\nuser-invocable: true\n---\nBody"
    )
    skill = read(text)
    assert ("scales", "Two lines.", True) == (skill.name, skill.head.description, skill.head.user_invocable)


@pytest.mark.parametrize("written", ["[Read, 'pay(to=acme*)']", "Read, pay(to=acme*)", "Read pay(to=acme*)"])
def test_tools_are_allowed_by_rules_of_the_source_command(written):
    rules = allow_rules(read(text_of(allowed_tools=written)).head.allowed_tools)
    assert [("Read", Source.COMMAND, Verdict.ALLOW), ("pay(to=acme*)", Source.COMMAND, Verdict.ALLOW)] == [
        (rule.text, rule.source, rule.verdict) for rule in rules
    ]


BOMB = "a: &a [1, 1]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Play slowly.", "does not begin with frontmatter"),
        ("---\nname: scales\nPlay slowly.", "does not begin with frontmatter"),
        (f"---\n{BOMB}---\nBody", "an anchor or alias"),
        (f"---\na: {'[' * 20}\n---\nBody", "nested more than 6 deep"),
        (f"---\na: {'[' * 7900}\n---\nBody", "exceeded maximum nesting depth"),
        (f"---\na: {'x' * MAX_FRONTMATTER_CHARS}\n---\nBody", "more than 8,000 characters"),
        ("---\n- name\n- description\n---\nBody", "no mapping"),
        ("---\ndescription: a: b\n---\nBody", "no YAML in line 2"),
        ("---\ndescription: !!python/object/apply:os.system [ls]\n---\nBody", "has a tag"),
        ("---\ndescription: !!int\n---\nBody", "has a tag"),
        (f"---\ndescription: x\nwhen: {'1' * 5_000}\n---\nBody", "an impossible value"),
        ("---\nname: scales\n---\nBody", "description: Field required"),
        (text_of("a/b"), "name: String should match"),
        (text_of("other"), "its folder is called 'scales'"),
        (text_of(allowed_tools="[pay(]"), "allowed_tools: a rule is"),
        (text_of(body="  "), "no text behind"),
        (text_of(body="$1" * 101), "more than 100 placeholders"),
    ],
)
def test_what_is_no_skill_says_why(text, why):
    with pytest.raises(BadSkill) as bad:
        read(text)
    assert why in str(bad.value) and len(str(bad.value)) < 500


@pytest.mark.parametrize(
    ("body", "arguments", "filled"),
    [
        ("About $ARGUMENTS.", "jazz, 20 min", "About jazz, 20 min."),
        ("$2 before $1, not $3.", "'slow blues' fast", "fast before slow blues, not ."),
        (r"It costs \$5; \$ARGUMENTS stays. $1", "x", "It costs $5; $ARGUMENTS stays. x"),
        ("$10 and $ARGUMENTSX", "x", "$10 and $ARGUMENTSX\n\nArguments: x"),
        ("Play.", "don't stop", "Play.\n\nArguments: don't stop"),
        ("$1", "don't stop", "don't"),
        ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ("Play.", "", "Play."),
    ],
)
def test_arguments_are_put_in_once(body, arguments, filled):
    assert filled == a_skill(body=body).fill_in(arguments)


PIECES = "description:|name:|- |[|]|{|}|: |? |!!int |!!set |!x |<<: |2026-02-30|0x|1_0|.inf|1e999|~|'|%YAML 1.1|---|#"
FRAGMENTS = st.sampled_from([*PIECES.split("|"), "|", "\n", "\n ", "\t", "\r\n", "\x00", "\ufeff", "\ud800", "x", "$1"])


def why_not(text):
    try:
        read(text).fill_in(text)
    except BadSkill as bad:
        return str(bad)
    return "none"


@given(st.lists(FRAGMENTS, max_size=20).map("".join), st.text(max_size=20))
def test_any_text_is_a_skill_or_says_why_it_is_none(frontmatter, body):
    assert 0 < len(why_not(f"---\n{frontmatter}\n---\n{body}")) < 1000
