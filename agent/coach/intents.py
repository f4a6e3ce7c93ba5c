"""What somebody wants, read from their words by rules, in English and Spanish. Pure; used where no model is.

What changes data is an intent only where the whole message asks for just that; whatever else has a duration in it is
`sentences`' to judge. Reads may be guessed from a word.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from agent.coach.understanding.amounts import find_duration
from agent.coach.understanding.words import NOT_ASKED, plain_of

MAX_CHARS = 2_000


class Intent(StrEnum):
    """What the offline coach can be asked for."""

    TIMED = "timed"  # it names a duration: a log, a correction, or neither
    UNDO = "undo"
    MAYBE_UNDO = "maybe_undo"
    CREATE = "create"
    PLAN = "plan"
    MAYBE_PLAN = "maybe_plan"  # a plan is meant, but none is asked for
    CHART = "chart"
    HISTORY = "history"
    STATS = "stats"
    SKILLS = "skills"
    GUIDE = "guide"
    HELP = "help"
    FORGET = "forget"  # all that is kept of them
    CHANGE = "change"  # an entry is wrong; which and how is not clear
    THANKS = "thanks"
    MOOD = "mood"  # a low one
    JOKE = "joke"
    SMALL_TALK = "small_talk"
    GREETING = "greeting"
    FAREWELL = "farewell"
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RequestedIntent:
    """An intent and what it is about."""

    intent: Intent
    name: str = ""  # of a skill to create


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words, re.IGNORECASE)


def _whole(*phrases: str) -> re.Pattern[str]:
    """The whole message, politeness and punctuation aside; no question mark."""
    polite = r"(?:please|por favor|hey|ok|okay|oye|and|y|then|now|ahora)"
    wanted = "|".join(phrases)
    return _pattern(rf"[\W_]{{0,9}}(?:{polite}[\s,]{{1,3}}){{0,2}}(?:{wanted})(?:[\s,]{{1,3}}{polite})?[\s.!]{{0,9}}")


_MOODS = (
    r"sad|depressed|hopeless|discouraged|(?:un|de)motivated|miserable|burn(?:t|ed) out|overwhelmed|frustrat(?:ed|ing)",
    r"frustrantes?",
    r"exhausted|giv(?:e|ing) up|getting nowhere|no motivation|not getting (?:any )?better|i suck|want to quit",
    r"(?:rough|bad|awful|terrible) (?:day|week)|(?:so|too|really|very) tired",
    r"i(?:['’]?m| am) (?:so )?(?:bad|terrible|useless|hopeless|tired)|hate (?:this|practi\w+)",
    r"triste|agotad[oa]|frustrad[oa]|desanimad[oa]|deprimid[oa]|desmotivad[oa]|hart[oa]|cansad[oa]|no avanzo|no mejoro",
    r"no tengo (?:ganas|fuerzas|energ[ií]as?|[aá]nimos?)|no me apetece (?:nada|practicar|tocar|estudiar)",
    r"(?:do not|don['’]?t) feel like (?:it|anything|doing anything|practi[cs]ing|playing|studying)",
    r"quiero dejarlo|rendirme|tirar la toalla|no sirvo|mal d[ií]a|soy (?:muy )?(?:mal|p[eé]sim)\w*|soy un desastre",
    r"sin (?:ganas|motivaci[oó]n)|ganas de (?:dejarlo|llorar)|desesperad[oa]|no puedo m[aá]s",
    r"(?:cada vez|cada d[ií]a) (?:\w+ )?peor",
    r"(?:get|gett|feel)ing worse|worse (?:at|every)|lonely",
    r"fed up|sick of|depressing|never (?:get|be) (?:any )?(?:good|better)|can['’]?t (?:do|take) this",
    r"nunca voy a (?:mejorar|aprender|ser buen[oa]|poder)|(?:feel|feeling) like (?:crying|quitting)",
    r"frustraci[oó]n|me sale (?:todo )?mal|no me sale nada|nada me sale|(?:me sale|va) todo mal|todo me sale mal",
    r"(?:hoy|estoy|d[ií]a) fatal",
    r"can['’]?t (?:play|do|get|remember) anything|nothing (?:works|goes right|is working|sounds right)|(?:no|any",
    r"zero) progress|plateau\w*",
    r"(?:today|this week) (?:was|is) (?:awful|terrible|horrible|the worst|rubbish|rough|bad)|feel like a (?:failure",
    r"fraud|loser)|burnt? ?out",
    r"bajonead[oa]|de baj[oó]n|baj[oó]n|(?:agobi|estres|cans|frustr|agot)ad[ií]?\w{0,6}|ansios[oa]|desmoralizad[oa]",
    r"decepcionad[oa]",
    r"(?:every(?:one|body)|they|others)(?:['’]s| is| are|['’]re)? (?:\w+ ){0,2}(?:better|faster|ahead)|no me concentro",
    r"tod[oa]s (?:\w+ ){1,2}(?:mejor|m[aá]s r[aá]pido)(?:es)? (?:que|q) yo",
    r"ag[uü]itad[oa]|achicopalad[oa]",
    r"(?:so|this|that) (?:bad|terrible|awful|hopeless) at|tan (?:mal[oa]|torpe|p[eé]sim[oa]) (?:en|con|para)",
    r"ganas de rendirme",
    r"cut out for|tired of (?:failing|trying|this|being)|cansad[oa] de (?:fracasar|intentar|fallar)",
    r"not good enough|no soy capaz",
    r"(?:not|never) (?:really )?improv(?:ing|e)\w*|isn['’]t improving|no (?:estoy )?mejor(?:ando|o)",
    r"stressed(?: out)?|anxious|discouraging|disheartened|demorali[sz]ed|worthless|(?:what['’]?s|is) the point",
    r"para qu[eé] (?:sigo|lo intento)",
    r"(?:lost|losing|no) (?:my )?(?:motivation|drive|mojo)|sin fuerzas|me rindo|i give up|i quit",
    r"guilty|ashamed|embarrassed|in a (?:rut|slump)|disappointed|unmotivated|drained|insecure|can['’]?t focus|bummed",
    r"(?:lost|losing) (?:hope|interest)|no energy|i['’]?m (?:so )?(?:lazy|stuck|slow|down)|feel(?:ing)? stuck",
    r"(?:want|going) to cry",
    r"(?:today|practi[cs]e|everything|life) (?:just )?suck(?:s|ed)|not getting anywhere|a ninguna parte|(?:fue",
    r"es) un (?:asco|desastre)",
    r"i['’]?m (?:\w+ )?(?:bored|nervous|worried)|not talented|no (?:tengo )?talento?|me aburr[oe]|no me animo",
    r"(?:can['’]?t|cannot) concentrate",
    r"me cuesta (?:\w+ )?(?:concentrarme|motivarme|seguir|avanzar|empezar)|estoy (?:\w+ )?(?:nervios|preocupad)[oa]",
    r"me siento de la \w+|odio (?:todo|mi|practicar|esto)|(?:para|pa) qu[eé] sigo",
    r"culpable|avergonzad[oa]|bloquead[oa]|estancad[oa]|desganad[oa]|aburrid[oa] de|inseguro|insegura|apagad[oa]",
    r"sin energ[ií]as?",
    r"(?:qu[eé]|me da|tengo) (?:mucha )?(?:pereza|flojera)|ganas de llorar|perd(?:í|iendo) (?:la|las) (?:ilusi[oó]n",
    r"ganas)",
    r"(?:i|we|it all|everything i (?:play|do)) (?:just )?(?:sounds?|plays?|looks?) (?:so |really |like )?(?:awful",
    r"terrible|horrible|rubbish|trash|garbage|bad|crap)",
    r"(?:chuck|pack|jack) it (?:all )?in|call(?:ing)? it quits|throw in the towel|i (?:hate|can['’]?t stand)",
    r"suen[oa] (?:\w+ )?(?:fatal|horrible|mal|p[eé]simo|de pena)|mandar(?:lo)? todo|odio",
    r"(?:rubbish|crap(?:py)?|shit(?:ty)?|lousy|horrid|horrible|dreadful) (?:\w+ )?(?:day|week|night|morning)",
    r"ganas de dejar\w*|(?:semana|noche) (?:de mierda|horrible|fatal|terrible|espantosa|p[eé]sima|de perros)",
    r"i(?:['’]?m| am) (?:\w+ )?(?:rubbish|crap|pants|trash|garbage|awful|lousy)|soy (?:\w+ )?mal[ií]sim[oa]",
    r"d[ií]a (?:de mierda|horrible|fatal|terrible|feo|espantoso|p[eé]simo|de perros|malo)|hartazgo",
    r"(?:no|nada) me sale(?: nada)?(?: bien)?|never (?:gonna|going to) (?:get|be|learn|improve)",
    r"me da ganas de dejar\w*|ganas de tirar\w*|no doy (?:una|m[aá]s)",
    r"(?:so|totally|absolutely|i['’]?m) (?:knackered|shattered|wiped(?: out)?|done in)|reventad[oa]|molid[oa]",
    r"can['’]?t (?:be|b) (?:bothered|arsed)|d[ií]a de (?:porquer[ií]a|caca|locos)|me estresa|baj[oa] de [aá]nimos?",
    r"no me da la cabeza|no energ(?:y|ies) (?:left|for)|don['’]?t have the energy|not sure i have the energy",
    r"i (?:failed|flunked|bombed) (?:my|the)|reprob[eé]|suspend[ií] (?:el|la|mi)|jal[eé] (?:el|la|mi)",
    r"feel(?:ing|s)? (?:\w{1,12} ){0,2}(?:low|down|bad|awful|lost|terrible|trash|crap|garbage|useless|hopeless)",
    r"me siento (?:\w{1,12} ){0,3}(?:sol[oa]|mal|fatal|fregada|mierda|in[uú]til|horrible|p[eé]simo|perdid[oa])",
)
_JOKES = (
    r"jokes?|(?:something|smth|sth) funny|make me laugh",
    r"chistes?|algo (?:chistoso|gracioso|divertido)|hazme re[ií]r",
)
_TALK = (
    r"how are you|how (?:is|was) your|who are you|what(?:['’]?s| is) your name|what(?:['’]?s| is) up|weather",
    r"how['’]?s (?:it going|things|life)|how (?:is|are) (?:it going|things)|c[oó]mo (?:andas|andamos|te va|va todo)",
    r"are you (?:a )?(?:human|real|bot|robot|there|ok)|i love you",
    r"(?:is )?any(?:one|body) there|hay alguien(?: ah[ií])?",
    r"^\W*(?:lol|ha(?:ha)+|ja(?:ja)+|good|cool|nice|bien|o[kh] (?:cool|vale))\W*$",
    r"happy (?:birthday|new year)",
    r"^\W*qu[eé] (?:bien|guay|bueno|chido|lindo)\W*$",
    r"^\W*(?:lol|ha(?:ha)+|ja(?:ja)+)\b[^?\d]{0,24}$|clima\b",
    r"c[oó]mo est[aá]s|qu[eé] tal est[aá]s|qui[eé]n eres|c[oó]mo te llamas",
    r"eres (?:un )?(?:humano|bot|robot)|qu[eé] tiempo hace|te quiero",
    r"feliz cumplea[nñ]os",
)
_FAREWELLS = (
    r"(?:bye)+|good ?(?:night|bye)|^\W*(?:night|nighty? night|later|laters|cya|ttyl|so long)\W*$",
    r"see (?:you|ya)|talk (?:to you )?later",
    r"sleep (?:well|tight)|off to bed|going to (?:bed|sleep)|have a (?:good|nice|great) (?:one|night|evening|day)",
    r"ch(?:ao|au)|nos vemos|buenas noches (?:coach|a todos)|adi[oó]s|hasta (?:luego|ma[nñ]ana|pronto|la pr[oó]xima)",
    r"que (?:descanses|duermas)|me voy a (?:dormir|la cama)",
)


def _any_of(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


_MOOD = _any_of(_MOODS)
_JOKE = _any_of(_JOKES)
_SMALL_TALK = _any_of(_TALK)
_FAREWELL = _any_of(_FAREWELLS)

_THING = r"(?:log|entry|session|practi[cs]e|record|sesi[oó]n|anotaci[oó]n|entrada|pr[aá]ctica)"
_UNDO = _whole(
    r"undo", rf"undo (?:it|that|this|the last(?: {_THING})?|my last(?: {_THING})?)", r"take (?:it|that|this) back",
    rf"(?:delete|remove) (?:the|my) last (?:one|{_THING})",
    r"deshacer", r"deshaz(?:lo)?(?: (?:eso|esto|lo [uú]ltimo))?",
    rf"(?:borra|quita|elimina) (?:lo [uú]ltimo|(?:la|el|mi) [uú]ltim[ao](?: {_THING})?)",
)  # fmt: skip
_KIND = r"(?:(?:weekly|practi[cs]e|training|new|nuevo|semanal) ){0,2}"
_WEEK = r"(?: (?:for|para) (?:the|this|my|next|la|esta|mi|la pr[oó]xima) (?:week|semana))?"
_PLAN = _whole(
    rf"{_KIND}plan(?: semanal)?{_WEEK}",
    rf"(?:make|write|create|build|give|draw up)(?: me)? (?:a|my|the|another) {_KIND}plan{_WEEK}",
    r"plan (?:my|the|this|next) week", r"(?:i (?:want|need|would like)|i['’]d like) (?:a|my) " + _KIND + "plan" + _WEEK,
    rf"(?:haz|h[aá]z|crea|escribe|prepara|dame|quiero|necesito)(?:me)? (?:un|mi|el|otro) {_KIND}plan(?: semanal)?"
    + _WEEK,
    r"(?:planifica|planea) (?:mi|la|esta) semana",
)  # fmt: skip
_CREATE = _pattern(
    r"[\W_]{0,9}(?:(?:please|quiero|i\s+want\s+to|can\s+you|could\s+you|puedes|por\s+favor|me)\s+){0,2}"
    r"(?:(?:add|create|new|start|register|make|set\s+up|open)\s+(?:me\s+)?(?:an?\s+|the\s+)?(?:new\s+)?skill"
    r"|(?:a[nñ]ad\w{1,4}|crear?|agreg\w{1,4}|registr\w{1,3}|nueva)\s+(?:una\s+|la\s+)?(?:nueva\s+)?habilidad(?:\s+nueva)?)\b\s*+"
    r"(?:called|named|llamada|for|de)?[\s:,]*+(?P<name>[^\n?]{1,200})\??$"
)
_PUT_IN = _pattern(
    r"[\W_]{0,9}(?:[\w,]{1,9}\s){0,3}(?:(?:add|put|agreg\w{1,4}|a[nñ]ad\w{1,4}|mete|pon(?:er)?)\s+(?P<name>[^\n?\d]{1,60}?)\s+"
    r"(?:(?:to|on|in|a|en)\s+(?:my|mis|mi|the|las|la\s+lista\s+de(?:\s+mis)?)\s+(?:list\s+of\s+)?(?:skills?|habilidades|list\b|lista\b)"
    r"|(?:as\s+a(?:\s+new)?\s+skill|como(?:\s+una)?(?:\s+nueva)?\s+habilidad)\b)"
    r"|(?:start\s+tracking|empezar\s+a\s+registrar|empieza\s+a\s+registrar)\s+(?P<other>[^\n?\d]{1,40}?)(?:\s+(?:for\s+me|too|please))?[.!]?$)"
)
"""As "could you add embroidery to my skills?"."""

_YES = _whole(
    "y", "yes", "yep", "yeah", "yup", "sure", "correct", "right", "exactly", "do it", "log it", "yes,? i did", "i did",
    "ok", "okay", "s[ií]", "claro", "correcto", "eso es", "exacto", "vale", "hazlo", "an[oó]talo", "s[ií],? claro",
)  # fmt: skip
_NO = _whole(
    "n", "no", "nope", "nah", "no,? thanks", "don['’]t", "cancel", "not now", "no,? gracias", "cancela", "mejor no",
    "d[eé]jalo", "forget (?:it|about it)",
    "never ?mind", "leave it", "skip it", "olv[ií]dalo", "da igual", "no importa",
)  # fmt: skip
_WORDS = (
    (Intent.MAYBE_UNDO, _pattern(r"\bundo\b|\b(?:revert|reviert)\w*|\btake\s+(?:(?:it|that)\s+)?back\b"
                                 r"|\b(?:scratch|cancel|delete|remove|erase|scrap|drop|get\s+rid\s+of)\s+(?:that|it|this|the\s+last)\b(?!\s+\w+ing\b)"
                                 r"|\btake\s+(?:it|(?:that|the|my)(?:\s+last\s+\w+)?)\s+(?:off|out)\b|\b(?:log|enter|record|add|put)\w*\s+(?:it|that|this|\w+)\s+(?:in\s+)?twice\b"
                                 r"|\b(?:anot|apunt|registr|puse|met)\w*\s+(?:\w+\s+)?dos\s+veces\b|\b(?:est[aá]\s+)?duplicad[oa]\b"
                                 r"|\b(?:that|it)[\'’]?s\s+(?:a\s+)?duplicate\b|\bcancela\s+lo\s+[uú]ltimo\b"
                                 r"|\b(?:b[oó]rr|qu[ií]t)[ae]l[oa]\b|\b(?:borra|quita|elimina|saca)\s+(?:es[oae]|est[oae])\b"
                                 r"|\b(?:delete|remove|erase|scrap|cancel|drop)\s+(?:the\s+|my\s+|that\s+)?(?:last|latest)\b"
                                 r"|\b(?:cancel|borr|quit|elimin|anul|sac|revi?ert)\w{1,3}\s+(?:lo|la|el|es[ae]|est[ae]|mi|es[ae]\s+\w+)\s+[uú]ltim"
                                 r"|\bdeshac\w*|\bdeshag\w*|\bdeshaz\w*|\b(?:vuelve|volv[eé]|volver|go)\s+(?:atr[aá]s|back\s+one)\b|\b(?:borra|quita|elimina)\s+(?:lo|la|el|eso|esa"
                                 r"|mi)\s+[uú]ltim")),
    (Intent.MAYBE_PLAN, _pattern(r"\b(?:put\s+together|make|draw|create|prepare|sketch|build|design|prep[aá]r|haz"
                                 r"|dise[nñ]|arm)\w*\b"
                                 r"[^?\n\d]{0,24}\b(?:schedule|timetable|horario|cronograma)\b"
                                 r"|\bqu[eé]\s+(?:toca|trabajo|estudio|toco|ensayo|repaso)\s+(?:hoy|esta|ma[nñ]ana|ahora)\b"
                                 r"|\b(?<!en )plan(?:s|ning|es|eas?|ear|ifica\w*)?\b(?!\s+(?:on|to)\b)"
                                 r"|\bplanif[ií]ca\w*"
                                 r"|\bwhat\s+should\s+i\s+do\b|\bqu[eé]\s+me\s+toca\b"
                                 r"|\b(?:make|give|draw|create|need|want|hazme|dame|arma\w*|necesito|quiero)\b[^\n]{0,20}\b(?:schedule|horario)\b"
                                 r"|\b(?:(?:weekly|practi[cs]e|training)\s+(?:schedule|timetable)|routine|cronograma"
                                 r"|rutina|horario)\b"
                                 r"|\bwhat\s+should\s+i\s+(?:practi[cs]e|work|play|study|learn|focus)"
                                 r"(?![^\n]{0,60}\b(?:first|to\s+(?:get|improve|become))\b)"
                                 r"|\b(?:en\s+)?qu[eé]\s+deber[ií]a\s+(?:trabajar|practicar|tocar|estudiar)"
                                 r"(?![^\n]{0,60}\b(?:primero|para\s+mejorar)\b)"
                                 r"|\bqu[eé]\s+(?:deber[ií]a|debo|me\s+conviene"
                                 r"|me\s+recomiendas)\s+(?:practicar|hacer|estudiar)\b(?![^\n]{0,60}\b(?:primero|para\s+mejorar)\b)"
                                 r"|\bqu[eé]\s+practico\b|\bqu[eé]\s+hago\s+(?:hoy|ahora|ma[nñ]ana)\b|^\W*(?:schedule|agenda|horario)\b|\barma\w*\s+(?:la|una|mi)\s+semana\b|\bwhat\s+(?:am\s+i\s+supposed|do\s+i\s+(?:have|need))\s+to\s+(?:practi\w+|do|play|study|work)\b"
                                 r"|(?:^|[¿,.])\s*qu[eé]\s+(?:tengo|hay)\s+que\s+(?:practicar|hacer|estudiar|tocar)\b|\bwhat[\'’]?s\s+(?:on|planned|next|up)\s+(?:for\s+)?(?:today|tonight|tomorrow|this\s+week)"
                                 r"|\bqu[eé]\s+(?:hay|tengo)\s+(?:para\s+)?(?:hoy|ma[nñ]ana|esta\s+semana)\b|\bwhat\s+should\s+i\s+\w+\s+(?:today|tonight|now|next|tomorrow)\b"
                                 r"|\borgan[ií]z\w*\s+(?:me\s+)?(?:la|mi|my|the)\s+(?:semana|week)\b")),
    (Intent.FORGET, _pattern(r"\b(?:delet|wip|eras|forget|borr|elimin|olvid)\w*\s+"
                             r"(?:all|everything|todos?|toda|mis\s+datos|my\s+(?:data|account)|(?:about\s+)?me|mi\s+cuenta)\b"
                             r"|\bolv[ií]da(?:te\s+(?:de\s+)?(?:m[ií]|todo)|me)\b")),
    (Intent.CHANGE, _pattern(r"\bwrong\s+(?:day|date|time|skill|entry|number|amount)\b|\bme\s+equivoqu[eé]\b"
                             r"|\b(?:d[ií]a|fecha|hora|habilidad)\s+equivocad[oa]\b"
                             r"|\bi\s+meant\b(?!\s+to\b)|\b(?:quise|quer[ií]a)\s+decir\b"
                             r"|\b(?:make|change|correct|set)\s+(?:it|that|the\s+last)\b|^\W*not\s+\d+\b|\b(?:puse|anot[eé])\s+mal\b"
                             r"|\b(?:change|edit|correct|fix|update|cambi\w+|corrig\w+|edita\w*)\s+(?:my|the|mi|la|el)\s+"
                             r"(?:last|latest|[uú]ltim[ao])\b"
                             r"|\bque\s+sean\b|\bcambia\s+(?:eso|lo\s+[uú]ltimo)\b|\b\d+(?:\s?(?:m|mins?|minutes|minutos|h|hours|horas))?,?\s+not?\s+\d+\b"
                             r"|\b(?:that|it|one|eso|esa|es[oa]s|lo\s+de\s+\w+)\s+(?:was|should\s+be|era[n]?|fue(?:ron)?)\b[^\n?]{0,30}\b(?:not?|actually)\b"
                             r"|\bshould(?:['’]ve|\s+have)?\s+(?:been|say|be)\s+\d+\b"
                             r"|\b(?:last|latest)\s+(?:one|entry|log|session)\s+(?:was|is)\b"
                             r"|\b(?:pon\w{0,3}|put|poné)\s+\d+[^?]{0,12}\b(?:en\s+vez\s+de|en\s+lugar\s+de|instead\s+of)\s+\d+|\b[uú]ltim[ao]\s+(?:\w+\s+)?(?:era|fue)\b|^\W*(?:\w+\W+)?lo\s+de(?:l)?\s+(?:\w+\s+){1,3}(?:era[n]?|fue(?:ron)?)\s+(?:\d|un|media)|\b(?:ponle|d[eé]jalo\s+en)\s+\d+"
                             r"|\b(?:said|put|logged|typed|wrote|dije|puse|anot[eé]|escrib[ií])\s+\d+\b.{0,20}"
                             r"\b(?:was|were|era[n]?|fue(?:ron)?)\s+\d+"
                             r"|^\W*(?:scrap|scratch|strike)\s+that\W+(?:it|that)\s+was\b"
                             r"|\b(?:that|it|this)\s+should(?:['’]ve|\s+have)?\s+(?:been|said|be)\b"
                             r"|\bdeb\w+\s+(?:haber\s+sido|ser|decir|poner)\b"
                             r"|^\W*(?:that|it|this)\s+was\s+(?:meant|supposed)\s+to\s+(?:be|say)\b|\beso\s+era\s+(?:para|de)\s+(?:ayer|el\s+\w+)\b"
                             r"|\b(?:cambia|pon|corrige|edita)\w{0,2}\s+(?:el|la|lo)\s+[^?\d]{1,30}\s(?:de\s+\d+\s+)?a\s+\d+"
                             r"|^\W*(?:(?:no|ay|uy|ups|oops|wait|espera|perd[oó]n\w*|disculp\w+|sorry|oh)\W+){1,3}(?:it\s+"
                             r"|that\s+)?(?:was|were|era[n]?|fue(?:ron)?)\b[^?]*$"
                             r"|^\W*(?:corrige|corr[ií]jelo|corregir|correction|correcci[oó]n|fix\s+(?:that|it))\b"
                             r"|\b(?:was|were|era[n]?|fue(?:ron)?)\s+\d+\b[^?]{0,20}\b(?:actually|en\s+realidad"
                             r"|not?\s+\d+)"
                             r"|^\W*(?:actually|en\s+realidad)\W+(?:it\s+|that\s+)?(?:was|were|era[n]?|fue(?:ron)?)\b"
                             r"|\bc[aá]mbi[ae]l[oa]s?\b|\bten[ií]an?\s+que\s+(?:ser|decir)\b|\bsupposed\s+to\s+(?:be|say)\s+\w+[^?]*\bnot\b"
                             r"|^\W*(?:please\s+|kindly\s+)?(?:make|set|change|turn|put|pon|cambia|deja)\s+(?:\w+['’]s|today|yesterday)\s"
                             r"|^\W*(?:pon|cambia|deja)\s+\d[^?]{0,20}\s(?:en|a)\s+(?:el|la|lo)\s[^?]{0,30}\bde\s+(?:hoy|ayer|el|los)"
                             r"|\b(?:was|were|era[n]?|fue(?:ron)?)\s+(?:\d|an?\b|one|two|half|una?\b|media|dos)[^?]{0,25},?\s+"
                             r"(?:not|no)\s+(?:\d|an?\b|one|two|half|una?\b|media|dos)")),
    (Intent.JOKE, _JOKE),
    (Intent.MOOD, _MOOD),
    (Intent.CHART, _pattern(r"\b(?:charts?|graphs?|plot)\b|\bgr[aá]fic[oa]s?\b")),
    (Intent.HISTORY, _pattern(r"\bhistor(?:y|ial|ia)\b|\b(?:last|latest|recent|[uú]ltim[ao]s)\s+(?:\d+\s+"
                              r"|few\s+)?(?:sessions|entries|logs|sesiones"
                              r"|entradas|registros|pr[aá]cticas)\b|\b(?:every|each|all(?:\s+my)?)\s+(?:session|entr)"
                              r"|\b(?:show|list|see)\b[^\n]{0,20}\beverything\b"
                              r"|\bwhat\s+(?:did|have|'ve)\s+you\s+(?:just\s+)?(?:log|record|note|put|sav|writ|add)\w*"
                              r"|(?<!por )\bqu[eé]\s+(?:has\s+|me\s+)?(?:anota|apunta|registra|guarda)(?:ste|do)\b"
                              r"|\b(?:show|list|see|mu[eé]stra|ense[nñ]a)\w{0,3}\s+(?:me\s+)?(?:lo\s+de\s+|my\s+|the\s+)?(?:today"
                              r"|yesterday"
                              r"|hoy|ayer)\W*$"
                              r"|\btod[ao]s?\s+(?:las|mis)\s+(?:sesiones|anotaciones)|\bfull\s+report\b"
                              r"|\bmu[eé]strame\s+todo\b")),
    (Intent.STATS, _pattern(r"\bstat(?:s|istics)?\b|^\W*compar[ea]\b|\b(?:behind|ahead)\b[^\n]{0,20}\b(?:compared"
                            r"|than|of)\b|\bcompared\s+(?:to|with)\s+(?:last|my)\b|\bprogress\b|\bhow\s+am\s+i\b"
                            r"|\bhow\s+i['’]?m\s+doing\b|\bstreak\b"
                            r"|\bam\s+i\s+(?:really\s+)?(?:improving|getting\s+(?:any\s+)?better|doing|on\s+track|ahead)\b|\b(?:estoy|voy)\s+mejorando\b"
                            r"|\b(?:my|the)\s+(?:best|worst|busiest|strongest|weakest)\s+(?:week|month|day)\b|\b(?:mejor|peor)\s+(?:semana|mes|d[ií]a)\b"
                            r"|\bhow(?:['’]s|\s+is|\s+are|\s+does)\s+(?:it\s+go|my\b)|\bhow\s+(?:did|was)\s+(?:my|last|this|the)\s+(?:last\s+)?(?:week|month|day)"
                            r"|\bc[oó]mo\s+me\s+(?:fue|ha\s+ido|va)\b|\bvoy\s+mejor\b|\baverage\b|\bpromedio\b|^\W*(?:\w+\W+){0,3}total\W*$|\bc[oó]mo\s+van?\s+(?:mi|mis"
                            r"|el|la|lo|con)\b|\bjourney\b|\bnumbers\b|\bhow\s+(?:much"
                            r"|many)\b(?![^\n]{0,40}\b(?:person|people|takes?|should|would|could|do\s+you"
                            r"|is\s+(?:good|enough|best|ideal|ok|right|too))\b)|\bmy\s+(?:hours|total)\b"
                            r"|\b(?:show|give|tell|what|dame|dime|muestra\w*|cu[aá]l)\b[^\n]{0,30}\btotals?\b"
                            r"|^\W*total\b|\b(?:report|reporte|informe)\b|\b(?:have|did)\s+i\b[^\n]{0,40}\b(?:more|less|better)\b|\b(?:mi|mis)\s+avances?\b|^\W*(?:[^\W\d]+\W+){0,3}(?:hours|horas)\b[^\n\d]{0,20}\b(?:this|last|est[ea])\s+(?:week|month|year|semana|mes|a[nñ]o)\b|\b(?:m[aá]s|menos)\b[^\n]{0,30}\bque\s+(?:el|la)\s+(?:mes|semana|pasad[oa])\b[^\n]{0,20}\?"
                            r"|\b(?:mis|las)\s+horas\s+de\b"
                            r"|\bestad[ií]sticas?\b|\bprogreso\b|\bc[oó]mo\s+voy\b|\bracha\b"
                            r"|\bcu[aá]nt[ao]s?\b(?!\s+(?:se|es|son|debe\w*|cuesta|vale|dura|tarda)\b"
                            r"|[^\n]{0,40}\b(?:hacen?\s+falta|deber|necesit|convien|recom|hay\s+que|est[aá]n?\s+bien|bastan?|es\s+bueno|son\s+buen))"
                            r"|\bmy\s+\w+\s+hours\b|\bmis\s+n[uú]meros\b|\bsummary\b|\bresumen\b"
                            r"|\bwhen\s+was\s+my\b|\bcu[aá]ndo\s+fue\s+mi\b")),
    (Intent.SKILLS, _pattern(r"\bskills?\b|\b(?:am\s+i|are\s+you)\s+(?:track|logg|record)ing\s+(?:any|some)"
                             r"|\bllev[ao]s?\s+(?:el\s+|un\s+)?registro\s+de\s+(?:algo|qu[eé])\b|\bwhat\s+am\s+i\s+(?:tracking|learning|practi[cs]ing)\b"
                             r"|\bqu[eé]\s+estoy\s+(?:registrando|practicando|aprendiendo)\b|\binstrument(?:s|os)\b"
                             r"|\bhabilidad(?:es)?\b|\bwhat\s+do\s+i\s+practi[cs]e\b"
                             r"|\blevels?\b|\bniveles\b")),
    (Intent.GUIDE, _pattern(r"\bguide\b|\b(?:tips?|advice|consejos?)\b"
                            r"(?!\s+(?:for|on|about|to|with|para|sobre|con)\s+(?!(?:my\s+"
                            r"|mi\s+)?(?:practi|ensay|session|sesi)))|\bexplain\b|\bteach\b"
                            r"|\bhow\s+(?:should|do|can|to)\b(?! (?:i )?(?:log|record|add|enter))[^\n]{0,80}\bpracti"
                            r"|\bgu[ií]a\b|\bexplica\b"
                            r"|\bc[oó]mo\s+(?:debo\s+|puedo\s+)?practic")),
    (Intent.HELP, _pattern(r"^\W*help\b|(?<!send )\bhelp\W*$(?<!\?)|\bhelp\W+(?:me\b|please|pls|page|menu|i\b)"
                           r"|\b(?:need|want|get|some)\s+help\b"
                           r"|\b(?:what\s+is\s+this|qu[eé]\s+es\s+esto|i['’]?m\s+new|soy\s+nuev[oa])\b"
                           r"|\bhow\s+(?:do|can|to)\b[^\n]{0,9}\buse\s+(?:this|it|you)\b|\bc[oó]mo\s+(?:se\s+)?us[ao]\b"
                           r"|\b(?:how|what)\s+(?:do|can|should|to)\s+(?:i\s+)?(?:(?:type|write|say|send"
                           r"|put)\s+to\s+)?(?:log|record|add|delete|remove|undo|change|edit|correct)\b"
                           r"|\bc[oó]mo\s+(?:puedo\s+|se\s+)?(?:registr|anot|apunt|borr|quit|elimin|cambi|corrig|corrij)\w*|\bqu[eé]\s+(?:tengo\s+que\s+"
                           r"|debo\s+|hay\s+que\s+)?(?:escrib|pon|dec|mand)\w*\s+para\s+(?:registrar|anotar|apuntar)\b"
                           r"|\bcan\s+i\s+(?:still\s+)?(?:log|record|add|enter|delete|edit|undo)\b[^?]*\?|\b(?:puedo|se\s+puede)\s+(?:registr|anot|apunt|agreg|a[nñ]ad|borr|edit|corrig|correg)\w*\b[^?]*\?"
                           r"|\bwhat\s+are\s+my\s+options\b|\bqu[eé]\s+opciones\b|\bwhat\s+(?:do"
                           r"|should)\s+i\s+do\s+here\b|\bqu[eé]\s+(?:hago"
                           r"|hay\s+que\s+hacer)\s+aqu[ií]\b"
                           r"|\bwhat\s+(?:\w+\s+){0,4}can\s+(?:you|i\s+(?:say|ask|do|tell|type))\b"
                           r"|\bqu[eé]\s+(?:\w+\s+){0,3}(?:puedo\s+(?:preguntar|pedir|decir|escribir)|(?:puedes|pod[eé]s)\s+hacer)|\bqu[eé]\s+te\s+puedo\b|\bhow\s+to\s+use\b"
                           r"|\bc[oó]mo\s+usar\b"
                           r"|\b(?:commands?|comandos?)\b|\bayuda\b(?!\s+(?:a|con|en|m[aá]s|mucho)\b)"
                           r"|\bqu[eé]\s+(?:\w+\s+)?(?:puedes|sabes|pod[eé]s)\b|^/?start\b|\bhow\s+do(?:es)?\s+(?:this|it"
                           r"|you)\s+(?:\w+\s+)?work\b"
                           r"|\bc[oó]mo\s+(?:funciona|va|trabaja)s?\s+(?:esto|eso|este|esta|el\s+bot|la\s+app)\b"
                           r"|\bpara\s+qu[eé]\s+sirves?\b|\bqu[eé]\s+(?:haces|sabes\s+hacer)\b"
                           r"|\binstruc(?:tions|ciones)\b|\bmen[uú]\b"
                           r"|\bwhat\s+are\s+you\s+for\b|\bwhat\s+do\s+you\s+do\b"
                           r"|\b(?:get|getting)\s+started\b|\bhow\s+do\s+i\s+(?:start|begin)\b|\bc[oó]mo\s+funcionas\b")),
    (Intent.THANKS, _pattern(r"\bthank(?:s|\s+you)?\b|\bth?[na]?x+\b|\bt(?:ys|yv)m\b|\bgra(?:x|cie)\b|\bty\b"
                             r"|\bgracias+\b"
                             r"|^\W{0,9}(?:ta|nice\s+one)\b|\bcheers\b|\bmuy\s+amable\b|\bappreciated?\b|\bagrade[cz]\w+"
                             r"|\bdios\s+se\s+lo\s+pague\b|\byou[\'’]?(?:re|\s+are)\s+(?:the\s+best|great|awesome|amazing|a\s+star|so\s+helpful)\b"
                             r"|\beres\s+(?:el|la|lo|un|una)?\s?(?:mejor|m[aá]xim\w+|genial|crack|sol)\b"
                             r"|^\W{0,9}(?:great|perfect|genial)\W{0,9}$")),
    (Intent.FAREWELL, _FAREWELL),
    (Intent.SMALL_TALK, _SMALL_TALK),
    (Intent.GREETING, _pattern(r"^\W{0,9}(?:hi+(?:ya)?|hello+|hey+a?|quiubo|muy\s+buen[oa]s|buen\s+d[ií]a"
                               r"|yo(?=\W{0,9}$|[,!])|hola+|holi+s?|holu|buen[oa]s|g['’]?day|namaste"
                               r"|qu[eé]\s+tal(?=\W{0,9}$)|qu?[eé]\s+(?:onda|tranza|pex|hubo|hay\s+de\s+nuevo)|sup"
                               r"|(?:morning|evening|afternoon)(?=\W{0,9}(?:coach)?\W{0,9}$)|good\s+(?:morning"
                               r"|evening|day|afternoon))\b")),
)  # fmt: skip
_IT = _pattern(r"it|that|this|lo|la|eso|esto")
_ASKS = _pattern(r"[\s¿]*(?:is|why|do(?:es)?|did|will|how|what|when|es|por\s*qu[eé]|c[oó]mo|cu[aá]ndo)\b[^?]*\?")
"""A question about the world, which orders nothing."""

_EXACT = ((Intent.UNDO, _UNDO), (Intent.PLAN, _PLAN), (Intent.YES, _YES), (Intent.NO, _NO))


@lru_cache(maxsize=4)  # one message is read for several things
def read_request(text: str) -> RequestedIntent:
    """The intent of one message."""
    if find_duration(text[:MAX_CHARS]) is not None:
        return RequestedIntent(Intent.TIMED)
    return untimed_request(text)


def asks_for_plan(text: str) -> bool:
    """Whether a message asks in words for a plan to be written, and for nothing else."""
    return read_request(text).intent is Intent.PLAN


@lru_cache(maxsize=4)  # one message is read for several things
def untimed_request(text: str) -> RequestedIntent:
    """The intent of a message, whatever durations it names."""
    text = text[:MAX_CHARS].strip()
    plain = " ".join(text.removeprefix("/").split())
    exact = next((intent for intent, phrases in _EXACT if phrases.fullmatch(plain)), None)
    if exact is not None:
        return RequestedIntent(exact)
    created = _CREATE.match(text) or _PUT_IN.match(text)
    if created is not None and not _IT.fullmatch((created["name"] or created["other"]).strip()):
        return RequestedIntent(Intent.CREATE, name=(created["name"] or created["other"]).strip(" .!\"'“”«»"))
    asked = NOT_ASKED.search(plain_of(text.casefold())) is None
    passed = set() if asked else {Intent.STATS}
    passed |= {Intent.FORGET} if _ASKS.match(text) else set()
    found = (intent for intent, words in _WORDS if intent not in passed and words.search(text))
    return RequestedIntent(next(found, Intent.UNKNOWN))
