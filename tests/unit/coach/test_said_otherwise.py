"""One thing said in hundreds of ways: what stands around it changes nothing, and what takes it back always does."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.coach.changes import SaveWeeklyPlan
from agent.coach.practice import PlannedSession
from agent.coach.understanding.words import plain_of
from tests.fakes.amounts import share
from tests.fakes.offline_conversation import Conversation
from tests.fakes.practice_reader import TODAY as ANAS_TODAY
from tests.unit.coach.corpus import Understood, understand

PLANNED = ANAS_TODAY + timedelta(days=1)
NOW = datetime(2026, 11, 18, 20, 30, tzinfo=UTC)  # a Wednesday
NAMES = {
    "en": [
        "guitar", "piano", "chess", "Python", "yoga", "karate", "watercolours", "tai chi", "touch typing",
        "sign language",
        "Welsh", "pottery", "Rust", "archery",
    ],
    "es": [
        "guitarra", "piano", "ajedrez", "Python", "yoga", "kárate", "acuarela", "tai chi", "punto de cruz",
        "lengua de signos", "quechua", "cerámica", "Rust", "esgrima",
    ],
}  # fmt: skip
AMOUNTS = {
    "en": {
        "45 minutes": 45, "45min": 45, "25 mins": 25, "1h30": 90, "an hour": 60, "half an hour": 30, "two hours": 120,
        "an hour and a quarter": 75, "forty minutes": 40, "a solid hour": 60, "like 20 minutes": 20, "2 x 25 min": 50,
        "three quarters of an hour": 45, "a good hour": 60, "35 minuts": 35, "fifty five minutes": 55,
    },
    "es": {
        "45 minutos": 45, "45min": 45, "25 mins": 25, "1h30": 90, "una hora": 60, "media hora": 30, "dos horas": 120,
        "una hora y cuarto": 75, "cuarenta minutos": 40, "media horita": 30, "como 20 minutos": 20, "2 x 25 min": 50,
        "tres cuartos de hora": 45, "una horita": 60, "35 minutitos": 35, "cincuenta y cinco minutos": 55,
    },
}  # fmt: skip
PAST = {
    "en": (
        "I practised {skill} for {amount}", "did {amount} of {skill}", "{amount} of {skill} done", "{skill}: {amount}",
        "{skill} {amount}", "I've just finished {amount} of {skill}", "spent {amount} on {skill}",
        "log {amount} of {skill}",
        "managed {amount} of {skill}", "worked on my {skill} for {amount}", "got {amount} of {skill} in",
        "put in {amount} of {skill}",
        "smashed out {amount} of {skill}", "um so I did uh {amount} of {skill}", "squeezed in {amount} of {skill}",
    ),
    "es": (
        "practiqué {skill} {amount}", "hice {amount} de {skill}", "{amount} de {skill} hechos", "{skill}: {amount}",
        "{skill} {amount}",
        "acabo de terminar {amount} de {skill}", "le dediqué {amount} a {skill}", "anota {amount} de {skill}",
        "me eché {amount} de {skill}",
        "estuve {amount} con {skill}", "me aventé {amount} de {skill}", "le metí {amount} a {skill}",
        "clavé {amount} de {skill}",
        "este pues hice {amount} de {skill}", "he hecho {amount} de {skill}",
    ),
}  # fmt: skip
AROUND = {
    "en": (
        "{said}", "hey coach, {said}", "{said} 🎸🔥", "{said} today", "today {said}", "{said}, thanks!", "ok so {said}",
        "{said}.",
        "{said}. My neighbours hate me.", "It rained all day. {said}", "{said}, please", "hi! {said} :)", "{said} lol",
        "{said}!! So tired now", "Good evening. {said}", "{said}, feeling great", "{said}. The cat slept through it.",
    ),
    "es": (
        "{said}", "hola coach, {said}", "{said} 🎸🔥", "{said} hoy", "hoy {said}", "{said}, gracias!", "bueno, {said}",
        "{said}.",
        "{said}. Mis vecinos me odian.", "Llovió todo el día. {said}", "{said}, por favor", "¡hola! {said} :)",
        "{said} jaja",
        "{said}!! Qué cansancio", "Buenas noches. {said}", "{said}, me siento genial",
        "{said}. El gato durmió todo el rato.",
    ),
}  # fmt: skip
NOT_DONE = {
    "en": (
        "I didn't do my {amount} of {skill}", "tomorrow I'll do {amount} of {skill}",
        "I wish I had {amount} for {skill}",
        "my sister did {amount} of {skill}", "is {amount} of {skill} enough?", "remind me to do {amount} of {skill}",
        "I need to do {amount} of {skill}", "if I did {amount} of {skill} I'd be better",
        "my goal is {amount} of {skill} a day",
        "the {skill} video is {amount} long", "he told me he did {amount} of {skill}",
        "I almost did {amount} of {skill}",
        "I dreamt that I did {amount} of {skill}", "I waited {amount} outside the {skill} place",
        "should I do {amount} of {skill}?",
        "{amount} of {skill} later maybe", "going to do {amount} of {skill}", "I watched {amount} of {skill}",
        "I only have {amount} for {skill}", "it takes {amount} to get to {skill}",
        "no {skill} today, not even {amount}",
    ),
    "es": (
        "no hice mis {amount} de {skill}", "mañana haré {amount} de {skill}", "ojalá tuviera {amount} para {skill}",
        "mi hermana hizo {amount} de {skill}", "¿{amount} de {skill} es suficiente?",
        "recuérdame hacer {amount} de {skill}",
        "tengo que hacer {amount} de {skill}", "si hiciera {amount} de {skill} sería mejor",
        "mi meta es {amount} de {skill} al día",
        "el vídeo de {skill} dura {amount}", "me dijo que hizo {amount} de {skill}", "casi hago {amount} de {skill}",
        "soñé que hacía {amount} de {skill}", "esperé {amount} en la puerta de {skill}",
        "¿debería hacer {amount} de {skill}?",
        "luego quizá {amount} de {skill}", "voy a hacer {amount} de {skill}", "vi {amount} de {skill}",
        "solo tengo {amount} para {skill}", "tardo {amount} en llegar a {skill}", "hoy nada de {skill}, ni {amount}",
    ),
}  # fmt: skip
CODES = st.sampled_from(["en", "es"])


def _understood(code: str, sentence: str) -> Understood:
    return understand(sentence, NAMES[code], NOW, code)


@settings(max_examples=share(150), deadline=None, derandomize=True)
@given(CODES, st.data())
def test_what_stands_around_it_changes_nothing(code: str, data: st.DataObject) -> None:
    """Any skill, any duration, however it is said: one entry of today, whatever greeting or story is beside it."""
    skill, amount = data.draw(st.sampled_from(NAMES[code])), data.draw(st.sampled_from(sorted(AMOUNTS[code])))
    said = data.draw(st.sampled_from(PAST[code])).format(skill=skill, amount=amount)
    sentence = data.draw(st.sampled_from(AROUND[code])).format(said=said)
    expected = ((_understood(code, f"{skill} 1h").entries[0][0], AMOUNTS[code][amount], NOW.date().isoformat()),)
    found = _understood(code, sentence)
    assert ("log", expected) == (found.kind, found.entries), sentence


@settings(max_examples=share(150), deadline=None, derandomize=True)
@given(CODES, st.data())
def test_what_was_not_done_is_never_written(code: str, data: st.DataObject) -> None:
    """Denied, wished, planned, of others, asked, dreamt, watched: whatever is around."""
    skill, amount = data.draw(st.sampled_from(NAMES[code])), data.draw(st.sampled_from(sorted(AMOUNTS[code])))
    said = data.draw(st.sampled_from(NOT_DONE[code])).format(skill=skill, amount=amount)
    sentence = data.draw(st.sampled_from(AROUND[code])).format(said=said)
    assert () == _understood(code, sentence).writes, sentence


DID = {
    "en": {
        "swimming": "swam", "weaving": "wove", "sewing": "sewed", "writing": "wrote", "running": "ran",
        "singing": "sang", "cycling": "cycled", "quilting": "quilted", "fencing": "fenced", "jogging": "jogged",
        "skiing": "skied", "dancing": "danced", "diving": "dove", "knitting": "knitted",
        "juggling": "juggled", "riding": "rode", "tapping": "tapped", "carving": "carved", "painting": "painted",
    },
    "es": {
        "natación": "nadé", "correr": "corrí", "traducción": "traduje", "composición": "compuse", "lectura": "leí",
        "tejer": "tejí", "pescar": "pesqué", "navegar": "navegué", "rezar": "recé", "baile": "he bailado",
        "escribir": "he escrito", "patinaje": "patiné", "boxeo": "boxeé", "esculpir": "esculpí", "buceo": "buceé",
        "conducir": "conduje", "tallado": "tallé", "remar": "he remado", "dibujo": "estuve dibujando", "coser": "cosí",
    },
}  # fmt: skip
"""By another hand than the tables: what people say who did this."""


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("said", ["{did} 40 min", "{did} 40 min today, felt great", "ok {did} 40 min {ago}"])
def test_the_verb_of_a_skill_is_told_by_its_name(code: str, said: str) -> None:
    """Regular or not: forty minutes of it, written, on the day that is said."""
    wrong = []
    for skill, did in DID[code].items():
        words = f"I {did} for" if code == "en" else did
        ago = "yesterday" if code == "en" else "ayer"
        text = said.replace("today, felt great", "hoy, qué bien" if code == "es" else "today, felt great")
        found = understand(text.format(did=words, ago=ago), [skill, "xylophone"], NOW, code)
        day = NOW.date().isoformat() if "ago" not in said else "2026-11-17"
        if ("log", ((plain_of(skill), 40, day),)) != (found.kind, found.entries):
            wrong.append((skill, did, found))
    assert [] == wrong


TODAY, YESTERDAY = "2026-11-18", "2026-11-17"
SHORT = {
    "{a} 30 + {b} 45": {("a", TODAY): 30, ("b", TODAY): 45},
    "{a} 30, {b} 45": {("a", TODAY): 30, ("b", TODAY): 45},
    "{yesterday} 45 {a}, {today} 15": {("a", YESTERDAY): 45, ("a", TODAY): 15},
    "{a}: 45 {today}, 30 {yesterday}": {("a", TODAY): 45, ("a", YESTERDAY): 30},
    "{a} {today} 20 min {and} {b} 25": {("a", TODAY): 20, ("b", TODAY): 25},
    "{monday} {and} {yesterday} {a}, 30 min {each}": {("a", "2026-11-16"): 30, ("a", YESTERDAY): 30},
    "{a} {and} {b}, 20 min {each}": {("a", TODAY): 20, ("b", TODAY): 20},
    "{a} 9-11 {morning}": {("a", TODAY): 120},
    "20 min {a} {morning} {and} 15 {evening}": {("a", TODAY): 35},
}
SHORT_WORDS = {
    "en": {
        "yesterday": "yesterday", "today": "today", "and": "and", "monday": "monday", "each": "each",
        "morning": "this morning", "evening": "this evening",
    },
    "es": {
        "yesterday": "ayer", "today": "hoy", "and": "y", "monday": "lunes", "each": "cada uno",
        "morning": "esta mañana", "evening": "esta tarde",
    },
}  # fmt: skip


@pytest.mark.parametrize("said", SHORT)
@pytest.mark.parametrize("code", ["en", "es"])
def test_several_entries_are_all_written_or_none(code: str, said: str) -> None:
    """A number without its unit counts minutes where another does; nothing that was said is left out."""
    for first, second in pairwise(NAMES[code]):
        understood = _understood(code, said.format(a=first, b=second, **SHORT_WORDS[code]))
        found: Counter[tuple[str, str]] = Counter()
        for skill, minutes, day in understood.entries:
            found["a" if skill == plain_of(first.casefold()) else "b", day] += minutes
        assert ("log", SHORT[said]) == (understood.kind, dict(found)), (first, second, understood)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        *(("en", f"I {nearly} {did} for 40 minutes") for nearly in ("nearly", "almost") for did in ("swam", "ran")),
        *(("es", f"casi {did} 40 minutos") for did in ("nadé", "corrí")),
        ("en", "swam 20 min, some other thing 15 min"), ("en", "we swam for 40 minutes"), ("es", "nadamos 40 minutos"),
        ("es", "a nadar 40 minutos"), ("en", "run 30 min x 3"), ("en", "3 songs, running, 12"),
    ],
)  # fmt: skip
def test_what_is_not_wholly_clear_is_not_written(code: str, said: str) -> None:
    """Nearly done, done by several, half understood: nothing, or a question."""
    skills = ["swimming", "running"] if code == "en" else ["natación", "correr"]
    assert () == understand(said, skills, NOW, code).writes


async def test_what_is_still_to_come_is_answered_with_what_it_is(ana: Conversation) -> None:
    """With its minutes and skill, and what the plan has for that day; nothing is written."""
    answer = await ana.say("tomorrow I'm going to practise guitar for 30 minutes")
    assert "**30 min of guitar**: still to come" in answer
    ana.practice.change(
        SaveWeeklyPlan(PLANNED - timedelta(days=3), "Play.", sessions=(PlannedSession(PLANNED, "guitar", 40),))
    )
    answer = await ana.say("mañana voy a practicar guitar 30 minutos")
    assert "**30 min de guitar**: está por venir" in answer
    assert "Tu plan para mañana: 40 min de" in answer
    assert [] == ana.logged


@pytest.mark.parametrize(
    ("language", "names", "said"),
    [
        ("en", ["running", "drawing"], "running a bath 10 min; ran the dishwasher for 2 hours; drawing a blank 20 min"),
        ("en", ["boxing", "dancing"], "boxed up the kitchen for 2 hours; danced around the topic for 20 min"),
        (
            "en",
            ["polish", "fencing"],
            "polish my shoes 10 min; my polish mate drank for 6 hours; fencing the garden 2 h",
        ),
        (
            "es",
            ["batería", "canto"],
            "batería del celular 2 horas; canto de los pájaros 20 min; canto de los gallos 9 min",
        ),
        ("es", ["bajo", "cocina"], "bajo la lluvia 20 minutos; estuve bajo el sol 2 horas; cocina el arroz 12 minutos"),
        ("es", ["cocina", "surf"], "precalienta el horno 20 min y cocina 40 min; surf en internet 2 horas"),
    ],
)
def test_a_skills_name_in_another_sense_is_not_logged(language: str, names: list[str], said: str) -> None:
    """What is done to something else, or belongs to it, is no practice; it may be asked about."""
    assert [] == [text for text in said.split("; ") if understand(text, names, NOW, language).writes]


@pytest.mark.parametrize(
    "said",
    [
        "the other night; earlier this week; mid-week; on christmas; all weekend; saturday before last; since monday",
        "la otra noche; a principios de semana; entre semana; en navidad; el sábado antepasado; desde el lunes",
    ],
)
def test_a_day_that_cannot_be_told_is_not_today(said: str) -> None:
    """It is asked about."""
    days = said.split("; ")
    texts = [f"{day}: guitar 30 min" for day in days] + [f"30 min of guitar {day}" for day in days]
    assert [] == [text for text in texts if understand(text, ["guitar"], NOW, "en").writes]
