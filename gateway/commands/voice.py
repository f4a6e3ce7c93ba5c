"""`/voice`: a person says if their answers are to be spoken, too."""

from agent.voice.config import VoiceConfig
from agent.wellformed import clean
from channels.base import CommandOption
from gateway.access.config import Role
from gateway.commands.base import Command, HelpGroup, Invocation, Reply, Write
from gateway.commands.session import person_changed
from gateway.store import people
from gateway.store.engine import Connection

WORDS = {
    **dict.fromkeys(("on", "yes", "sí", "si"), True),
    **dict.fromkeys(("off", "no"), False),
}


def voice_command(config: VoiceConfig | None) -> Command:
    """Return `/voice`; it is in no menu if nothing speaks."""
    speaks = config is not None and config.speech_url is not None
    option = CommandOption("wanted", "menu.voice.wanted", choices=("on", "off"))
    handle = _choose if speaks else _tell_missing
    return Command("voice", "menu.voice", handle, options=(option,), hidden=not speaks, group=HelpGroup.CHAT)


async def _tell_missing(asked: Invocation) -> Reply:
    is_owner = asked.principal.role == Role.OWNER
    return Reply(asked.say("voice.no_speech_owner" if is_owner else "voice.no_speech"))


async def _choose(asked: Invocation) -> Reply | Write:
    wanted = WORDS.get(clean(asked.arguments).casefold())
    if wanted is not None:
        return Write(_set_voice, asked, wanted)
    return Reply(asked.say("voice.is_on" if asked.principal.wants_voice else "voice.is_off"))


def _set_voice(connection: Connection, asked: Invocation, wanted: bool) -> Reply:
    people.set_voice(connection, asked.principal.user_id, wanted=wanted)
    return Reply(asked.say("voice.on" if wanted else "voice.off"), changed=person_changed(connection, asked))
