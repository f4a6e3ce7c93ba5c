"""What access says to people and to the operator, in English and Spanish. When it is said is decided elsewhere."""

from datetime import datetime
from math import ceil

from gateway.access.codes import BULLETS
from gateway.access.pairing import Approved, NotApproved, Why
from gateway.invocation import PLAIN, CommandLine
from gateway.safety.names import Lookalikes
from gateway.store.pairing import PairingRequest

_CODE = {
    "en": (
        "Hello! This bot is private. To be let in, give its operator this code:\n\n"
        f"`{BULLETS}`\n\n"
        f"They let you in with `tenk pairing approve {BULLETS}`. The code holds for 60 minutes."
    ),
    "es": (
        "¡Hola! Este bot es privado. Para entrar, dale este código a quien lo administra:\n\n"
        f"`{BULLETS}`\n\n"
        f"Te deja entrar con `tenk pairing approve {BULLETS}`. El código vale 60 minutos."
    ),
}

_GAVE_WAY = {
    "en": "So many people asked that your earlier request gave way: the code from then is void.\n\n",
    "es": "Preguntó tanta gente que tu petición anterior cedió su sitio: el código de entonces ya no vale.\n\n",
}

_NO_INVITATION = {
    "en": "That invitation does not hold (any more).\n\n",
    "es": "Esa invitación no vale (o ya no).\n\n",
}

_FULL = {
    "en": (
        "So many people are asking to be let in that there is no place for your request just now, and an earlier code "
        "of yours is void. Write again in ten minutes, or ask the operator for an invitation: it works at once."
    ),
    "es": (
        "Tanta gente pide entrar que ahora no hay sitio para tu petición, y un código anterior tuyo ya no vale. "
        "Escribe de nuevo en diez minutos, o pide una invitación a quien administra este bot: funciona al momento."
    ),
}

_MEMBER = {
    "en": "You are in. Write to me whenever you like, or send /help to see what I can do.",
    "es": "Ya estás dentro. Escríbeme cuando quieras, o envía /help para ver qué puedo hacer.",
}

_OWNER = {
    "en": (
        "You are in. You are the first one here, so you are the **owner** of this bot: you decide who else may use it. "
        "Send /help to see what I can do."
    ),
    "es": (
        "Ya estás dentro. Eres la primera persona aquí, así que este bot es **tuyo**: tú decides quién más lo usa. "
        "Envía /help para ver qué puedo hacer."
    ),
}

_TOO_FAST = {
    "en": "That is more than I can take from you at once. I read on in about {seconds} s; please send this again then.",
    "es": "Es más de lo que puedo recibir de ti a la vez. Sigo leyendo en unos {seconds} s; envíalo de nuevo entonces.",
}

_TOO_MANY = {
    "en": "{waiting} of your messages are waiting already. I did not take this one; please send it again later.",
    "es": "Ya hay {waiting} mensajes tuyos esperando. Este no lo he tomado; envíalo de nuevo más tarde.",
}

_NOT_HERE = {
    "en": "I do not answer you here. If you think I should, ask whoever runs me.",
    "es": "Aquí no te respondo. Si crees que debería, pregunta a quien me administra.",
}

_WHY = {
    Why.WRONG: "that is nobody's code; look at it again",
    Why.MALFORMED: "that cannot be a code: codes have 8 letters and digits, and no 0, O, 1 or I; look at it again",
    Why.USED: "that code was used already",
    Why.EXPIRED: "that code has run out; its person gets a new one by writing to the bot again",
    Why.DISPLACED: "that request gave way to later ones; its person gets a new code by writing to the bot again",
    Why.DENIED: "that request was denied; its person may ask again an hour after they first did",
    Why.BLOCKED: "that person is blocked; give them another role first",
    Why.NOT_ALLOWED: "only an operator decides that",
    Why.NO_OWNER: "there is no owner yet; the first one is let in at the machine, with `tenk pairing approve`",
    Why.UNKNOWN: "there is no such request; see `tenk pairing list`",
}


def language_of(locale: str | None) -> str:
    """The language, of those we have, for a BCP 47 tag; English where nothing is known."""
    return "es" if (locale or "").lower().replace("_", "-").split("-")[0] == "es" else "en"


def code_text(locale: str | None, *, tenk: str = "tenk", gave_way: bool = False, invited: bool = False) -> str:
    """Markdown for a stranger, bullets where the code goes.

    `tenk` is the command as the operator types it; `gave_way` an earlier request of theirs, `invited` in vain.
    """
    language = language_of(locale)
    before = (_NO_INVITATION[language] if invited else "") + (_GAVE_WAY[language] if gave_way else "")
    return before + _CODE[language].replace("`tenk ", f"`{tenk} ")


def full_text(locale: str | None) -> str:
    """What a stranger reads whose request gave way and who cannot have another place now."""
    return _FULL[language_of(locale)]


def welcome_text(approved: Approved) -> str:
    """Markdown for whoever was let in just now."""
    return (_OWNER if approved.became_owner else _MEMBER)[language_of(approved.person.locale)]


def too_fast_text(locale: str | None, retry_after_s: float) -> str:
    """What somebody over their rate is told."""
    return _TOO_FAST[language_of(locale)].format(seconds=max(1, ceil(retry_after_s)))


def too_many_text(locale: str | None, waiting: int) -> str:
    """What somebody with too much waiting is told."""
    return _TOO_MANY[language_of(locale)].format(waiting=waiting)


def refusal(refused: NotApproved, now: datetime) -> str:
    """What the operator is told."""
    if refused.why is not Why.LOCKED or refused.until is None:
        return _WHY[refused.why]
    minutes = max(1, ceil((refused.until - now).total_seconds() / 60))
    return (
        f"too many wrong codes: none is taken for {minutes} min, not even a right one; "
        "at the machine, `tenk pairing approve --request NUMBER` goes on working"
    )


def asked_text(asked: PairingRequest, names: Lookalikes, tenk: CommandLine = PLAIN) -> str:
    """What an owner reads when somebody asks to be let in. The name is a stranger's own word, so it is quoted."""
    name = names.introduce(asked.display_name).replace("`", "'")
    return (
        f"`{name}` ({asked.sender}) asks to be let in.\n\nThey were given a code; you can also decide here, or with "
        f"`{approve_command(asked, tenk)}`."
    )


def approve_command(asked: PairingRequest, tenk: CommandLine) -> str:
    """What lets this person in, typed at the machine; no code is in it."""
    return tenk.command("pairing", "approve", "--request", asked.id[-8:])


def crowd_text(account: str, tenk: CommandLine = PLAIN) -> str:
    """What owners read, once an hour at most, when strangers come in numbers."""
    return (
        f"Many strangers are writing to `{account}`, so I tell you about each of them no more. Whoever asks for the "
        f"first time is given a code as ever. `{tenk.command('pairing', 'list')}` has who waits, the likeliest first; "
        f"`{tenk.command('invite')}` makes links that let the right ones in at once."
    )


def not_here_text(locale: str | None) -> str:
    """What somebody reads whose command has to be answered and who is not let in."""
    return _NOT_HERE[language_of(locale)]
