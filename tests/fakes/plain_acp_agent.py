"""An ACP agent without the library, as other people write them, and as they should not. It starts in no time.

    python plain_acp_agent.py TRICK [FILE]

Tricks are described in `test_acp_bridge.py`. What it is sent is written to FILE, if there is one.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

trick, *rest = sys.argv[1:]
heard = Path(rest[0]) if rest else None


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def send(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}))


def update(kind: str, session: str = "s1", **values: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **values}})


def say(text: str, kind: str = "agent_message_chunk", session: str = "s1") -> None:
    update(kind, session, content={"type": "text", "text": text})


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    if heard:
        with heard.open("a") as file:
            file.write(line)
    return json.loads(line)


def answer(message: dict[str, Any]) -> None:
    id_ = message["id"]
    match message["method"]:
        case "initialize":
            initialize(id_)
        case "session/new" | "session/load" if trick == "login":
            send(id=id_, error={"code": -32000, "message": "Authentication required"})
        case "session/new" if trick == "no room":
            send(id=id_, error={"code": -32603, "message": "No room"})
        case "session/new":
            send(id=id_, result={} if trick == "no session" else {"sessionId": "s1"})
        case "session/load" | "session/resume" if trick == "forgets":
            send(id=id_, error={"code": -32002, "message": "Resource not found"})
        case "session/load" | "session/resume":
            say("said before")
            send(id=id_, result={})
        case "session/prompt":
            prompt(id_)


def initialize(id_: int) -> None:
    if trick == "hangs at its start":
        time.sleep(600)
    if trick == "greets":
        write("Welcome!\n\n[1, 2]")
    able: dict[str, Any] = {"loadSession": trick in ("loads", "forgets", "login", "asks")}
    if trick == "resumes":
        able["sessionCapabilities"] = {"resume": {}}
    version = 7 if trick == "newer" else 1
    methods = [{"id": "web", "name": "Log in with a browser"}]
    send(id=id_, result={"protocolVersion": version, "agentCapabilities": able, "authMethods": methods})


def prompt(id_: int) -> None:
    if trick == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(rest[1]).write_text(str(os.getpid()))
    if trick in TRICKS:
        TRICKS[trick]()
    say("a thought", "agent_thought_chunk")
    say("of another session", session="s2")
    say("Hello")
    if trick == "refuses":
        send(id=id_, error={"code": -32603, "message": "Internal error", "data": {"details": "out of tea"}})
        return
    while trick in ("hangs", "stubborn"):
        if read().get("method") == "session/cancel" and trick == "hangs":
            break
    send(id=id_, result={"stopReason": "cancelled" if trick == "hangs" else "end_turn"})


def die() -> None:
    say("Hel")
    sys.exit("out of memory")


def ask_for_files() -> None:
    for number, method in enumerate(("fs/read_text_file", "session/nonsense"), 7):
        send(id=number, method=method, params={"sessionId": "s1", "path": "/etc/passwd"})
        read()


def ask() -> None:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    for session in ("s2", "s1"):
        call = {"toolCallId": "c1", "title": "order tea"}
        asked = {"sessionId": session, "toolCall": call, "options": options}
        send(id=session, method="session/request_permission", params=asked)
        while read().get("id") != session:
            pass


def babble() -> None:
    for _ in range(200):
        write("not JSON")


def write_nonsense() -> None:
    for _ in range(200):
        update("agent_message_chunk", content=7)


def flood_with_questions() -> None:
    for number in range(1000):
        send(id=number, method="fs/read_text_file", params={})


def flood_with_answers() -> None:
    for _ in range(2000):
        say("x" * 1000)
    Path(rest[1]).touch()


TRICKS = {
    "dies": die,
    "asks": ask,
    "asks for files": ask_for_files,
    "babbles": babble,
    "writes nonsense": write_nonsense,
    "writes a long line": lambda: say("x" * 5_000_000),
    "floods with questions": flood_with_questions,
    "floods with answers": flood_with_answers,
    "answers nonsense": lambda: send(id=[], error=7),
}

if __name__ == "__main__":
    while True:
        answer(read())
