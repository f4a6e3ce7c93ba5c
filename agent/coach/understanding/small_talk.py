"""The words of what is no business of a coach and is answered all the same: a low mood, a joke, how are you. Data."""

import re

_MOODS = (
    r"sad|depressed|hopeless|discouraged|(?:un|de)motivated|miserable|burn(?:t|ed) out|overwhelmed|frustrat(?:ed|ing)",
    r"exhausted|giv(?:e|ing) up|getting nowhere|no motivation|not getting (?:any )?better|i suck|want to quit",
    r"(?:rough|bad|awful|terrible) (?:day|week)|(?:so|too|really|very) tired",
    r"i(?:['’]?m| am) (?:so )?(?:bad|terrible|useless|hopeless|tired)|hate (?:this|practi\w+)",
    r"triste|agotad[oa]|frustrad[oa]|desanimad[oa]|deprimid[oa]|desmotivad[oa]|hart[oa]|cansad[oa]|no avanzo|no mejoro",
    r"quiero dejarlo|rendirme|tirar la toalla|no sirvo|mal d[ií]a|soy (?:muy )?(?:mal|p[eé]sim)\w*|soy un desastre",
    r"sin (?:ganas|motivaci[oó]n)|ganas de (?:dejarlo|llorar)|desesperad[oa]|no puedo m[aá]s",
    r"(?:cada vez|cada d[ií]a) (?:\w+ )?peor",
    r"(?:get|gett|feel)ing worse|worse (?:at|every)|lonely",
    r"fed up|sick of|depressing|never (?:get|be) (?:good|better)|can['’]?t (?:do|take) this",
    r"nunca voy a (?:mejorar|aprender)|(?:feel|feeling) like (?:crying|quitting)",
    r"frustraci[oó]n|me sale (?:todo )?mal|no me sale nada|nada me sale|(?:me sale|va) todo mal|todo me sale mal",
    r"(?:hoy|estoy|d[ií]a) fatal",
    r"can['’]?t (?:play|do|get|remember) anything|nothing (?:works|goes right|is working|sounds right)|(?:no|any",
    r"zero) progress|plateau\w*",
    r"(?:today|this week) (?:was|is) (?:awful|terrible|horrible|the worst|rubbish|rough|bad)|feel like a (?:failure",
    r"fraud|loser)|burnt? ?out",
    r"bajonead[oa]|de baj[oó]n|baj[oó]n|agobiad[oa]|estresad[oa]|ansios[oa]|desmoralizad[oa]|decepcionad[oa]",
    r"ag[uü]itad[oa]|achicopalad[oa]",
    r"stressed(?: out)?|anxious|discouraging|disheartened|demorali[sz]ed|worthless|(?:what['’]?s|is) the point",
    r"para qu[eé] (?:sigo|lo intento)",
    r"(?:lost|losing|no) (?:my )?(?:motivation|drive|mojo)|sin fuerzas|me rindo|i give up|i quit",
    r"me da ganas de dejar\w*|ganas de tirar\w*|no doy (?:una|m[aá]s)",
    r"feel(?:ing|s)? (?:\w{1,12} ){0,2}(?:low|down|bad|awful|lost|terrible|trash|crap|garbage|useless|hopeless)",
    r"me siento (?:\w{1,12} ){0,3}(?:sol[oa]|mal|fatal|fregada|mierda|in[uú]til|horrible|p[eé]simo|perdid[oa])",
)
_JOKES = (
    r"jokes?|(?:something|smth|sth) funny|make me laugh",
    r"chistes?|algo (?:chistoso|gracioso|divertido)|hazme re[ií]r",
)
_TALK = (
    r"how are you|how (?:is|was) your|who are you|what(?:['’]?s| is) your name|what(?:['’]?s| is) up|weather|bye",
    r"are you (?:a )?(?:human|real|bot|robot|there|ok)|good ?(?:night|bye)|see you|i love you",
    r"happy (?:birthday|new year)",
    r"c[oó]mo est[aá]s|qu[eé] tal(?: est[aá]s)?(?=\W{0,9}$)|qui[eé]n eres|c[oó]mo te llamas",
    r"eres (?:un )?(?:humano|bot|robot)|qu[eé] tiempo hace|adi[oó]s|hasta (?:luego|ma[nñ]ana|pronto)|te quiero",
    r"feliz cumplea[nñ]os",
)


def _words(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


MOOD = _words(_MOODS)
JOKE = _words(_JOKES)
SMALL_TALK = _words(_TALK)
