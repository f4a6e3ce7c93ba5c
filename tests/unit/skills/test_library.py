"""Which skill a name means, and what a prompt lists."""

from agent.skills.library import MAX_LINE_CHARS, SKILLS_TITLE, list_skills
from agent.skills.skill import SkillSource
from tests.unit.skills.shelf import a_library, a_skill


def test_of_two_skills_with_one_name_the_higher_source_wins():
    skills = [a_skill(source=source) for source in reversed(SkillSource)]
    for expected in SkillSource:
        assert expected is a_library(*skills).find("scales").source
        skills = [skill for skill in skills if skill.source is not expected]


def test_a_disabled_skill_hides_those_of_its_name():
    library = a_library(a_skill(), a_skill(source=SkillSource.MANAGED, enabled="false"))
    assert (None, ()) == (library.find("scales"), library.skills)


def test_a_skill_is_found_by_the_name_of_its_command():
    assert "slow-scales" == a_library(a_skill("slow-scales")).find("slow_scales").name


def test_hidden_ones_and_those_for_people_are_not_offered_to_the_model():
    library = a_library(a_skill("a", hidden="true"), a_skill("b", model_invocable="false"), a_skill("c"))
    assert ["c"] == [skill.name for skill in library.offered]


def test_a_prompt_lists_fifteen_and_says_how_many_there_are():
    skills = [a_skill(f"s{number}", when_to_use="x" * 1000) for number in range(20)]
    lines = list_skills(SKILLS_TITLE, skills).splitlines()
    listed = [line for line in lines if line.startswith("- ")]
    assert 15 == len(listed) and MAX_LINE_CHARS + 2 == max(map(len, listed))
    assert "There are 5 more: `skill_search(words)` finds them." == lines[-1]


def test_without_skills_nothing_is_listed():
    assert "" == list_skills(SKILLS_TITLE, [])


def test_a_search_returns_the_skills_that_share_most_words():
    library = a_library(
        a_skill("tune", description="Tune a guitar"),
        a_skill("gig", description="Prepare a gig with a guitar"),
        a_skill(),
    )
    assert ["gig", "tune"] == [skill.name for skill in library.search("Prepare my guitar")]
    assert [] == library.search("cooking")
