"""Reads lessons, homework, and those with whom one practises, as one's own practice: "french w/ my tutor". Pure."""

import re
from dataclasses import replace

from agent.coach.understanding.entries import Chunk
from agent.coach.understanding.tables import WordRole
from agent.coach.understanding.timings import letters_of

_HAD = frozenset({"had", "did", "took", "finished", "completed", "tuve", "hice", "tome", "termine", "acabe"})
_CLASSES = frozenset({"class", "lesson", "clase", "leccion", "homework", "deberes", "tarea", "tareas"})
_HOMEWORK = frozenset({"homework", "deberes", "tarea", "tareas"})
_WITH = frozenset({"with", "w", "w /", "con"})
_COMPANY = frozenset([
    "tutor", "tutors", "teacher", "instructor", "coach", "partner", "mates", "buddies", "colleague", "class", "band",
    "group", "roommate", "tutora", "profe", "profesor", "profesora", "maestro", "maestra", "companero", "companera",
    "colega", "colegas", "amigos", "amigas", "banda", "grupo",
])  # fmt: skip


def in_company(chunks: list[Chunk]) -> None:
    """As "french w/ my tutor 1 hr": with whom, in a log book's line; "talked with my tutor" is none."""
    if any(chunk.role.value in "Vvgk" for chunk in chunks) or WordRole.SKILL not in {chunk.role for chunk in chunks}:
        return
    for at, chunk in enumerate(chunks):
        if chunk.plain not in _WITH or at == 0 or chunks[at - 1].role.value not in "SDdYK":
            continue
        end = at + 1 + (letters_of(chunks, at + 1, at + 2) == WordRole.THE)
        if chunks[end : end + 1] and chunks[end].plain in _COMPANY:
            chunks[at : end + 1] = [replace(each, role=WordRole.ADVERB, twist=None) for each in chunks[at : end + 1]]


def had_lesson(chunks: list[Chunk]) -> None:
    """As "had german class on saturday", "tuve clase de danza": one's own practice, where one says so."""
    for at, chunk in enumerate(chunks):
        place = next((to for to in range(at + 1, min(at + 6, len(chunks))) if chunks[to].plain in _CLASSES), None)
        done = chunk.plain in _HOMEWORK and any(each.role is WordRole.DONE for each in chunks[at:])
        if done and WordRole.SKILL in (chunk.role for chunk in (*chunks[at - 1 : at], *chunks[at + 1 : at + 3])):
            chunks[at] = replace(chunk, role=WordRole.PRACTICE, twist=None)  # "russian homework 45 min done"
        if chunk.plain not in _HAD or place is None:
            continue
        before, behind = letters_of(chunks, at + 1, place), letters_of(chunks, place + 1, place + 4)
        if re.fullmatch("T*[Dd]?T*S", before) or (re.fullmatch("T*", before) and re.match("PT?S", behind)):
            chunks[at] = replace(chunk, role=WordRole.DID, twist=None)
            chunks[place] = replace(chunks[place], role=WordRole.PRACTICE, twist=None)
