"""A real Synapse on loopback, and people who talk to each other over it."""

import hashlib
import hmac
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen
from uuid import uuid4

SYNAPSE = os.environ.get("SYNAPSE_PYTHON", "")
"""The interpreter of an environment with Synapse; `make matrix` makes one."""

SECRET = "a-shared-secret"
START_S = 60.0
FAST = {"per_second": 10_000, "burst_count": 10_000}


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


class Refused(Exception):
    """The homeserver refused a call."""


class Homeserver:
    """A homeserver that listens."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, body: Any = None, token: str = "", **query: str) -> dict[str, Any]:
        """Make a call, blocking: it takes some milliseconds, in another process."""
        request = Request(
            f"{self.url}{path}?{urlencode(query)}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )
        try:
            with urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except HTTPError as refusal:
            raise Refused(f"{refusal.code} {refusal.read().decode()}") from None

    def register(self, name: str) -> "Account":
        """Make an account; its name is followed by some letters of its own."""
        user, path = f"{name.lower()}-{uuid4().hex[:8]}", "/_synapse/admin/v1/register"
        nonce = self.call("GET", path)["nonce"]
        mac = hmac.new(SECRET.encode(), f"{nonce}\0{user}\0pw\0notadmin".encode(), hashlib.sha1).hexdigest()
        given = {"nonce": nonce, "username": user, "password": "pw", "mac": mac, "admin": False, "displayname": name}
        made = self.call("POST", path, given)
        return Account(self, made["user_id"], made["access_token"])


class Account:
    """A person, or the bot's own account."""

    def __init__(self, server: Homeserver, user: str, token: str) -> None:
        self.server, self.user, self.token = server, user, token

    def call(self, method: str, *segments: str, body: Any = None, base: str = "v3", **query: str) -> dict[str, Any]:
        path = "/".join(quote(segment, safe="") for segment in segments)
        return self.server.call(method, f"/_matrix/client/{base}/{path}", body, self.token, **query)

    def make_room(self, *invited: "Account", **more: Any) -> str:
        """Make a room without encryption; return its id."""
        given = {"preset": "private_chat", "invite": [each.user for each in invited], **more}
        return str(self.call("POST", "createRoom", body=given)["room_id"])

    def say(self, room: str, text: str, **content: Any) -> str:
        return self.send(room, {"msgtype": "m.text", "body": text, **content})

    def send(self, room: str, content: dict[str, Any], kind: str = "m.room.message") -> str:
        return str(self.call("PUT", "rooms", room, "send", kind, uuid4().hex, body=content)["event_id"])

    def members(self, room: str) -> set[str]:
        return set(self.call("GET", "rooms", room, "joined_members")["joined"])

    def events(self, room: str) -> list[dict[str, Any]]:
        """Return the timeline of a room."""
        return list(self.call("GET", "rooms", room, "messages", dir="f", limit="1000")["chunk"])

    def seen(self, room: str, author: "Account") -> list[dict[str, Any]]:
        """Return the contents of the author's messages as they read now, in order."""
        shown: dict[str, dict[str, Any]] = {}
        for event in self.events(room):
            content = event["content"]
            if event["sender"] != author.user or event["type"] != "m.room.message" or not content:
                continue
            relation = content.get("m.relates_to", {})
            edits = relation["event_id"] if relation.get("rel_type") == "m.replace" else None
            if edits is None:
                shown[event["event_id"]] = content
            elif edits in shown:
                shown[edits] = content["m.new_content"]
        return list(shown.values())

    def said_since(self, room: str, token: str) -> int:
        """Return how many messages this person said after a /sync that ended with a token."""
        page = self.call("GET", "rooms", room, "messages", dir="f", limit="1000", **{"from": token})["chunk"]
        return sum(event["sender"] == self.user and event["type"] == "m.room.message" for event in page)


@contextmanager
def synapse(directory: Path) -> Iterator[Homeserver]:
    """Run a homeserver without limits on rates, with its data in this directory."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    listener = {"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client"]}]}
    config = {
        "server_name": "localhost",
        "listeners": [listener],
        "database": {"name": "sqlite3", "args": {"database": str(directory / "homeserver.db")}},
        "media_store_path": str(directory / "media"),
        "signing_key_path": str(directory / "signing.key"),
        "registration_shared_secret": SECRET,
        "trusted_key_servers": [],
        "report_stats": False,
        "bcrypt_rounds": 4,
        "rc_message": FAST,
        "rc_room_creation": FAST,
        "rc_joins": {"local": FAST, "remote": FAST},
        "rc_invites": {"per_room": FAST, "per_user": FAST, "per_issuer": FAST},
    }
    file = directory / "homeserver.yaml"
    file.write_text(json.dumps(config))  # JSON is YAML
    command = [SYNAPSE, "-m", "synapse.app.homeserver", "-c", str(file)]
    with (directory / "homeserver.log").open("w") as log:
        subprocess.run([*command, "--generate-keys"], check=True, stdout=log, stderr=log, timeout=START_S)
        running = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _until_up(url, running, directory / "homeserver.log")
            yield Homeserver(url)
        finally:
            running.kill()
            running.wait()


def _until_up(url: str, running: "subprocess.Popen[bytes]", log: Path) -> None:
    ends_s = time.monotonic() + START_S
    while True:
        try:
            urlopen(f"{url}/health", timeout=5).close()
            return
        except OSError:
            assert running.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < ends_s, "the homeserver does not answer"
            time.sleep(0.05)
