"""What commands say, in every language we speak; an agent's own words stand in place of some."""

from collections.abc import Mapping
from types import MappingProxyType

from agent.language import language_of
from agent.ports import Principal

_EN = {
    "start": "Hello{name}! Write to me as you would to a person.\n\n"
    "Your zone is {timezone}; /timezone changes it. /help lists everything.",
    "help_title": "**What I understand**",
    "help_tail": "Everything else is talk: write as you would to a person. What you send while I answer, I read before "
    "I go on.",
    "unknown": "I don't know /{name}. Did you mean /{nearest}? /help lists everything.",
    "unknown_far": "I don't know /{name}. /help lists everything.",
    "not_allowed": "/{name} is for {role}s of this bot.",
    "stopped": "Stopped.",
    "nothing_to_stop": "Nothing is running.",
    "cleared_one": "Cleared 1 waiting message: {texts}",
    "cleared_many": "Cleared {n} waiting messages: {texts}",
    "cleared_silently": "Cleared what was waiting ({n}).",
    "and_more": "and {n} more",
    "new": "A new conversation. I have put the old one away.",
    "mode_is_steer": "The mode is **steer**: what you send while I answer, I read before I go on. `/mode followup` "
    "has it "
    "wait for its own turn.",
    "mode_is_followup": "The mode is **followup**: what you send while I answer waits and gets its own answer. "
    "`/mode steer` "
    "has me read it at once.",
    "mode_unknown": "There is no mode “{mode}”. Choose `/mode steer` (what you send while I answer, I read at once) or "
    "`/mode followup` (it waits for its own answer).",
    "timezone_is": "Your zone is **{timezone}**; it is {time} there. Change it like `/timezone Europe/Madrid`.",
    "timezone_set": "Your zone is **{timezone}** now; it is {time} there.",
    "timezone_unknown": "I don't know the zone “{zone}”. Write it as region and city, like `/timezone Europe/Madrid`.",
    "timezone_nearest": "I don't know the zone “{zone}”. Did you mean {nearest}? Write `/timezone {first}`.",
}
_ES = {
    "start": "¡Hola{name}! Escríbeme como a una persona.\n\n"
    "Tu zona es {timezone}; /timezone la cambia. /help lo muestra todo.",
    "help_title": "**Lo que entiendo**",
    "help_tail": "Todo lo demás es conversación: escribe como a una persona. Lo que mandes mientras respondo, lo leo "
    "antes de seguir.",
    "unknown": "No conozco /{name}. ¿Querías decir /{nearest}? /help lo muestra todo.",
    "unknown_far": "No conozco /{name}. /help lo muestra todo.",
    "not_allowed": "/{name} es solo para quien tiene el papel {role} en este bot.",
    "stopped": "Parado.",
    "nothing_to_stop": "No hay nada en marcha.",
    "cleared_one": "Quitado 1 mensaje que esperaba: {texts}",
    "cleared_many": "Quitados {n} mensajes que esperaban: {texts}",
    "cleared_silently": "Quitado lo que esperaba ({n}).",
    "and_more": "y {n} más",
    "new": "Conversación nueva. La anterior queda guardada.",
    "mode_is_steer": "El modo es **steer**: lo que mandes mientras respondo, lo leo antes de seguir. `/mode "
    "followup` lo hace "
    "esperar a su propia respuesta.",
    "mode_is_followup": "El modo es **followup**: lo que mandes mientras respondo espera y recibe su propia respuesta. "
    "`/mode steer` hace que lo lea enseguida.",
    "mode_unknown": "No hay ningún modo «{mode}». Elige `/mode steer` (lo que mandes mientras respondo, lo leo "
    "enseguida) o "
    "`/mode followup` (espera a su propia respuesta).",
    "timezone_is": "Tu zona es **{timezone}**; allí son las {time}. Cámbiala así: `/timezone Europe/Madrid`.",
    "timezone_set": "Tu zona es ahora **{timezone}**; allí son las {time}.",
    "timezone_unknown": "No conozco la zona «{zone}». Escríbela como región y ciudad: `/timezone Europe/Madrid`.",
    "timezone_nearest": "No conozco la zona «{zone}». ¿Querías decir {nearest}? Escribe `/timezone {first}`.",
}
TABLES: Mapping[str, Mapping[str, str]] = MappingProxyType({"en": _EN, "es": _ES})


class CommandTexts:
    """The words by language and key; of each language, `own` go before ours."""

    def __init__(self, own: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> None:
        """A language in which the agent has no words of its own has ours."""
        self._texts = {language: {**ours, **own.get(language, {})} for language, ours in TABLES.items()}

    def tell(self, principal: Principal, key: str, **values: object) -> str:
        """The words of this key in the person's language."""
        return self._texts[language_of(principal.locale)][key].format(**values)
