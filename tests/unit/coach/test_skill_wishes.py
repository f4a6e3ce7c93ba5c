"""What people say to have a skill put away, brought back, renamed, merged or recoloured; the offline coach does it."""

import pytest

from agent.coach.changes import CreateSkill, LogPractice
from agent.coach.understanding.wishes import SkillVerb, WishedSkill, may_be_skill_wish, read_skill_wish
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import TODAY

NAMES = ("Guitar", "guitarra", "piano", "Inglés", "the long read")


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("archive piano", WishedSkill(SkillVerb.ARCHIVE, "piano")),
        ("Please archive my piano skill.", WishedSkill(SkillVerb.ARCHIVE, "piano")),
        ("archiva el piano", WishedSkill(SkillVerb.ARCHIVE, "piano")),
        ("put away the guitar, please", WishedSkill(SkillVerb.ARCHIVE, "Guitar")),
        ("archive the long read", WishedSkill(SkillVerb.ARCHIVE, "the long read")),
        ("archive chess", WishedSkill(SkillVerb.ARCHIVE, "chess", is_known=False)),
        ("restore chess", WishedSkill(SkillVerb.RESTORE, "chess", is_known=False)),
        ("recupera el piano por favor", WishedSkill(SkillVerb.RESTORE, "piano")),
        ("rename guitar to acoustic guitar", WishedSkill(SkillVerb.RENAME, "Guitar", "acoustic guitar")),
        ("Renombra la guitarra a guitarra acústica.", WishedSkill(SkillVerb.RENAME, "guitarra", "guitarra acústica")),
        ("change the name of guitar to “bass”", WishedSkill(SkillVerb.RENAME, "Guitar", "bass")),
        ("cambia el nombre de ingles a Idiomas", WishedSkill(SkillVerb.RENAME, "Inglés", "Idiomas")),
        ("merge guitar into piano", WishedSkill(SkillVerb.MERGE, "Guitar", "piano")),
        ("une la guitarra con el piano", WishedSkill(SkillVerb.MERGE, "guitarra", "piano")),
        ("une la flauta con el piano", WishedSkill(SkillVerb.MERGE, "flauta", "piano", is_known=False)),
        ("rename flute to recorder", WishedSkill(SkillVerb.RENAME, "flute", "recorder", is_known=False)),
        ("make guitar red", WishedSkill(SkillVerb.COLOUR, "Guitar", "#dc2626")),
        ("pinta el piano de azul", WishedSkill(SkillVerb.COLOUR, "piano", "#2563eb")),
        ("change the colour of piano to #00ff00", WishedSkill(SkillVerb.COLOUR, "piano", "#00ff00")),
    ],
)
def test_a_wish_is_read(text: str, wish: WishedSkill):
    """In both languages, with or without articles and politeness."""
    assert may_be_skill_wish(text)
    assert wish == read_skill_wish(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "don't archive piano", "should I archive piano?", "archive piano?", "archive piano recordings from today",
        "I will rename guitar to bass", "rename guitar", "merge guitar into the void", "make guitar great again",
        "pon el piano más alto", "I archived piano", "archive that old email of mine", "rename to bass", "",
    ],
)  # fmt: skip
def test_what_says_more_or_asks_is_no_wish(text: str):
    """Nothing is done to a skill by the way."""
    assert read_skill_wish(text, NAMES) is None


async def test_the_coach_does_it_at_once_and_says_so(ana: Conversation):
    """All that can be said again; the entries stay with the skill."""
    ana.practice.change(LogPractice("guitar", 30, TODAY))
    assert "acoustic guitar" in await ana.say("rename guitar to acoustic guitar")
    assert [("acoustic guitar", 30)] == ana.logged
    assert "put away" in await ana.say("archive acoustic guitar")
    assert "You have no skill “violin”" in await ana.say("restore violin")
    assert "acoustic guitar" in await ana.say("restore acoustic guitar")
    assert [["get_user_skills"], ["edit_skill"]] == ana.calls


async def test_what_is_put_away_can_be_renamed_and_merged_too(ana: Conversation):
    """And a name that is nobody's is said to be none."""
    ana.practice.change(CreateSkill("piano"))
    ana.practice.change(LogPractice("flute", 30, TODAY))
    await ana.say("archive flute")
    assert "recorder" in await ana.say("rename flute to recorder")
    assert "You have no skill “tuba”" in await ana.say("rename tuba to horn")
    await ana.say("merge recorder into piano")
    await ana.say("yes")
    assert [("piano", 30)] == ana.logged


async def test_two_are_made_one_after_a_yes(ana: Conversation):
    """It cannot be taken back."""
    ana.practice.change(CreateSkill("piano"))
    ana.practice.change(LogPractice("guitar", 30, TODAY))
    assert "Shall I merge **guitar** into **piano**?" in await ana.say("merge guitar into piano")
    assert [("guitar", 30)] == ana.logged
    await ana.say("yes")
    assert [("piano", 30)] == ana.logged
