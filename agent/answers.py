"""A person whose turn does not end well reads why, in their language; never a stack trace, never a key."""

import math
from collections.abc import Sequence

from agent.errors import FailureKind
from agent.ports import ModelFailure
from agent.transcript import EndReason

_NOTES = {
    "en": {
        EndReason.MAX_STEPS: "(I stopped looking further here; this is what I know so far.)",
        EndReason.MAX_COST: "(The budget of this answer is used up.)",
        EndReason.MAX_TOKENS: "(The answer was too long and is cut here.)",
        EndReason.TIMEOUT: "(I ran out of time here.)",
        EndReason.STOPPED: "(Stopped.)",
        EndReason.STUCK: "(I was going in circles; this is what I know so far.)",
        EndReason.MODEL_ERROR: "(The answer breaks off here.)",
        EndReason.CONTEXT_EXHAUSTED: "(There is too much in this conversation for me to go on.)",
    },
    "es": {
        EndReason.MAX_STEPS: "(Aquí dejé de buscar; esto es lo que sé hasta ahora.)",
        EndReason.MAX_COST: "(Se agotó el presupuesto de esta respuesta.)",
        EndReason.MAX_TOKENS: "(La respuesta era demasiado larga y se corta aquí.)",
        EndReason.TIMEOUT: "(Aquí se me acabó el tiempo.)",
        EndReason.STOPPED: "(Detenido.)",
        EndReason.STUCK: "(Estaba dando vueltas; esto es lo que sé hasta ahora.)",
        EndReason.MODEL_ERROR: "(La respuesta se interrumpe aquí.)",
        EndReason.CONTEXT_EXHAUSTED: "(Hay demasiado en esta conversación para poder seguir.)",
    },
}
"""Put behind an answer that is not whole."""

_ALONE = {
    "en": {
        EndReason.COMPLETED: "I can't answer that.",
        EndReason.MAX_STEPS: "I looked as far as I may and have no answer yet. Please ask for less at once.",
        EndReason.MAX_COST: "The budget of this answer is used up.",
        EndReason.MAX_TOKENS: "My answer got too long to be of use. Please ask for less at once.",
        EndReason.TIMEOUT: "Sorry, this took too long. Please try again, or ask for less at once.",
        EndReason.STOPPED: "Stopped.",
        EndReason.STUCK: "I was going in circles and stopped. Please put it differently.",
        EndReason.MODEL_ERROR: "Sorry, I have no answer to that just now. Please try again.",
        EndReason.CONTEXT_EXHAUSTED: "That is too much to read at once. Send a shorter message, or use /new.",
    },
    "es": {
        EndReason.COMPLETED: "No puedo responder a eso.",
        EndReason.MAX_STEPS: "Busqué todo lo que puedo y aún no tengo respuesta. Pídeme menos de una vez, por favor.",
        EndReason.MAX_COST: "Se agotó el presupuesto de esta respuesta.",
        EndReason.MAX_TOKENS: "Mi respuesta se hizo demasiado larga. Pídeme menos de una vez, por favor.",
        EndReason.TIMEOUT: "Perdona, tardé demasiado. Inténtalo de nuevo o pídeme menos de una vez.",
        EndReason.STOPPED: "Detenido.",
        EndReason.STUCK: "Estaba dando vueltas y me detuve. Dímelo de otra manera, por favor.",
        EndReason.MODEL_ERROR: "Perdona, ahora mismo no tengo respuesta. Inténtalo de nuevo.",
        EndReason.CONTEXT_EXHAUSTED: "Es demasiado para leerlo de una vez. Envía menos o usa /new.",
    },
}
"""The whole answer where nothing was said."""

_FAILURES = {
    "en": {
        FailureKind.AUTH: "I am not connected to my model: whoever runs this bot has to check its key.",
        FailureKind.QUOTA: "My model's account is out of credit: whoever runs this bot has to top it up.",
        FailureKind.BAD_REQUEST: "My model refuses this request: whoever runs this bot has to check its settings.",
        FailureKind.CONTEXT: _ALONE["en"][EndReason.CONTEXT_EXHAUSTED],
    },
    "es": {
        FailureKind.AUTH: "Sin conexión a mi modelo: quien administra este bot debe revisar su clave.",
        FailureKind.QUOTA: "La cuenta de mi modelo no tiene saldo: quien administra este bot debe recargarla.",
        FailureKind.BAD_REQUEST: "Mi modelo rechaza esto: quien administra este bot debe revisar su configuración.",
        FailureKind.CONTEXT: _ALONE["es"][EndReason.CONTEXT_EXHAUSTED],
    },
}

_BUSY = {
    "en": "My model is busy. Please try again in about {minutes} min.",
    "es": "Mi modelo está ocupado. Inténtalo de nuevo en unos {minutes} min.",
}

_UNREACHABLE = {
    "en": "I can't reach my model right now. Please try again in a moment.",
    "es": "Ahora mismo no puedo contactar con mi modelo. Inténtalo de nuevo en un momento.",
}

_STILL_WORKING = {"en": "Still working on it", "es": "Sigo en ello"}

_UNKNOWN = {
    "en": "(Outcome unknown: {tools}. It may have happened.)",
    "es": "(Resultado desconocido: {tools}. Puede que haya ocurrido.)",
}


def _language(locale: str | None) -> str:
    return "es" if (locale or "").lower().startswith("es") else "en"


def end_text(reason: EndReason, said: str, locale: str | None) -> str:
    """The answer of a turn that ends for this reason with this much said; never empty."""
    language = _language(locale)
    if not said.strip():
        return _ALONE[language][reason]
    if reason is EndReason.COMPLETED:
        return said
    return f"{said.rstrip()}\n\n{_NOTES[language][reason]}"


def failure_text(failure: ModelFailure, said: str, locale: str | None) -> str:
    """The answer of a turn whose model failed, behind what was said before."""
    words = _failure(failure, _language(locale))
    return f"{said.rstrip()}\n\n{words}" if said.strip() else words


def _failure(failure: ModelFailure, language: str) -> str:
    if (known := _FAILURES[language].get(failure.kind)) is not None:
        return known
    if failure.kind is FailureKind.TIMEOUT:
        return _ALONE[language][EndReason.TIMEOUT]
    if failure.retry_after_s is not None or failure.kind in {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED}:
        minutes = max(1, math.ceil((failure.retry_after_s or 0) / 60))
        return _BUSY[language].format(minutes=minutes)
    return _UNREACHABLE[language]


def still_working(locale: str | None) -> str:
    """What a person reads who has waited for a while and has seen nothing yet."""
    return _STILL_WORKING[_language(locale)]


def unknown_calls_text(tools: Sequence[str], locale: str | None) -> str:
    """What the person is told of calls that may have happened."""
    return _UNKNOWN[_language(locale)].format(tools=", ".join(tools))
