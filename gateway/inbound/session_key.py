"""Session keys, made of the place and the person of a message."""

from dataclasses import replace

from agent.ports import Principal
from channels.messages import Address, ButtonPressed, ChatKind, CommandInvoked, InboundEvent


def _escape(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


def _unescape(part: str) -> str:
    return part.replace("%3A", ":").replace("%25", "%")


def session_key(event: InboundEvent, kind: ChatKind, agent: str) -> str:
    """Return `agent:{agent}:{channel}:{account}:direct:{peer}[:thread:{t}]`, or `...:group:{chat}...`.

    Private replies belong to the person's direct session, also in a group, whose members may not read them. The tenant
    is a column of its own; ":" in a part is escaped, so that keys are unique.
    """
    address = event.address
    direct = direct_key(address, event.sender.id, agent)
    if isinstance(event, CommandInvoked | ButtonPressed) and event.route is not None and event.route.private:
        return direct
    key = group_key(address, agent) if kind is ChatKind.GROUP else direct
    return key if address.thread is None else f"{key}:thread:{_escape(address.thread)}"


def direct_key(address: Address, sender_id: str, agent: str) -> str:
    """Return the key of a direct session, outside threads."""
    return f"{_account(address, agent)}:direct:{_escape(sender_id)}"


def group_key(address: Address, agent: str, chat: str | None = None) -> str:
    """Return the key of a group's session, outside threads; `chat` replaces the address's."""
    return f"{_account(address, agent)}:group:{_escape(address.chat if chat is None else chat)}"


def agent_of(key: str) -> str:
    """Return the name of the agent whose session has this key."""
    return _unescape((*key.split(":", 2), "")[1])


def in_session(principal: Principal, key: str) -> Principal:
    """Return the person as they speak in the session with this key."""
    is_direct = key.split(":")[4:5] == ["direct"]
    return replace(principal, agent=agent_of(key), in_group=not is_direct)


def place_of(key: str) -> str:
    """Return a session's key without its agent."""
    return (*key.split(":", 2), "", "")[2]


def _account(address: Address, agent: str) -> str:
    return f"agent:{_escape(agent)}:{_escape(address.channel)}:{_escape(address.account)}"
