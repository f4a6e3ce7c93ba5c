"""Skills for tests, and a library that holds them."""

from pathlib import Path

from agent.skills.library import Library
from agent.skills.skill import SkillSource, WrittenSkill, parse_skill


def text_of(name: str = "scales", body: str = "Play $ARGUMENTS slowly.", **head: str) -> str:
    lines = {"name": name, "description": "Practise scales.", **head}
    return "\n".join(["---", *(f"{key}: {value}" for key, value in lines.items()), "---", body, ""])


def a_skill(
    name: str = "scales", body: str = "Play.", source: SkillSource = SkillSource.USER, **head: str
) -> WrittenSkill:
    return parse_skill(text_of(name, body, **head), name, source)


def a_library(*skills: WrittenSkill) -> Library:
    return Library(skills)


def write_skill(folder: Path, name: str = "scales", text: str | None = None) -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_text(text_of(name) if text is None else text)
    return folder / name
