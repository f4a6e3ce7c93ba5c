"""The name of a conversation, from the place and the person of a message. Pure."""

from channels.messages import ChatKind, InboundEvent


def _escape(part: str) -> str:
    return part.replace("%", "%25").replace(":", "%3A")


def session_key(event: InboundEvent, kind: ChatKind, agent: str = "coach") -> str:
    """`agent:{agent}:{channel}:{account}:direct:{peer}[:thread:{t}]`, or `...:group:{chat}...`.

    The tenant stands first where it is not in the key's own table column; ":" in a part is escaped, so that no two
    places share a key.
    """
    address = event.address
    who = f"direct:{_escape(event.sender.id)}" if kind is ChatKind.DIRECT else f"group:{_escape(address.chat)}"
    key = f"agent:{_escape(agent)}:{_escape(address.channel)}:{_escape(address.account)}:{who}"
    return key if address.thread is None else f"{key}:thread:{_escape(address.thread)}"
