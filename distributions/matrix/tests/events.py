"""Raw events as a homeserver tells them, for tests of the translation."""

from typing import Any

from tenk_matrix.translate import MatrixIdentity, MatrixRoom

BOT = MatrixIdentity("main", "@bot:example.org", "Coach")
ADA, BOB = "@ada:example.org", "@bob:example.org"
DIRECT = MatrixRoom("!two:example.org", {ADA: "Ada", BOT.user: "Coach"})
GROUP = MatrixRoom("!many:example.org", {ADA: "Ada", BOB: "", BOT.user: "Coach"})


def event(content: dict[str, Any], kind: str = "m.room.message", sender: str = ADA, **more: Any) -> dict[str, Any]:
    common = {"type": kind, "event_id": "$1", "sender": sender, "origin_server_ts": 1_790_000_000_000}
    return common | {"content": content} | more


def text(body: str, **content: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **content}
