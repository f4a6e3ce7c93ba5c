"""An MCP server without the SDK, as other people write them, and as they should not. It starts in no time.

    python plain_mcp_server.py [TRICK [NOTED]]

`nonsense` writes lines that are no JSON, `silent` answers nothing, `floods` says all the time that
its tools have changed, `many` has 10,000 tools, `loops` has tools whose
schemas cannot be used, and `stubborn` neither ends with its input nor by SIGTERM, and has a child;
it writes both process ids to the file NOTED.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TEXT = {"type": "object", "properties": {"text": {"type": "string", "x-note": "kept"}}, "required": ["text"]}
LOOP = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "$defs": {"node": {"$ref": "#/$defs/node"}}}
LARGE = {"type": "object", "properties": {f"field_{number}": {"type": "string"} for number in range(2000)}}

TOOLS = [
    {"name": "echo", "description": "Return the text.", "inputSchema": TEXT, "annotations": {"readOnlyHint": True}},
    {"name": "die", "description": "End in the middle of a call.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answer.", "inputSchema": {"type": "object"}},
    {"name": "huge", "description": "Return 100 MB.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fail.", "inputSchema": {"type": "object"}},
    {"name": "environment", "description": "Return the names of its variables.", "inputSchema": {"type": "object"}},
    {"name": "halve", "description": "Return half a character.", "inputSchema": {"type": "object"}},
    {"name": "sample", "description": "Ask for our model.", "inputSchema": {"type": "object"}},
]


def tools(trick: str) -> list[dict[str, object]]:
    if trick == "many":
        return [{**TOOLS[0], "name": f"tool_{number}"} for number in range(10_000)]
    if trick == "loops":
        bad = {"loop": LOOP, "large": LARGE}
        return [TOOLS[0], *({"name": name, "inputSchema": schema} for name, schema in bad.items())]
    return TOOLS


def call(name: str, arguments: dict[str, str]) -> dict[str, object]:
    match name:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)
        case "huge":
            return {"content": [{"type": "text", "text": "x" * 100_000_000}]}
        case "fail":
            return {"content": [{"type": "text", "text": "the string is broken"}], "isError": True}
        case "environment":
            return {"content": [], "structuredContent": {"names": sorted(os.environ)}}
        case "halve":
            return {"content": [{"type": "text", "text": "\ud800"}]}
        case "sample":
            send({"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
            return {"content": [{"type": "text", "text": json.dumps(json.loads(sys.stdin.readline()))}]}
    return {"content": [{"type": "text", "text": arguments.get("text", "")}]}


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main(trick: str = "", noted: str = "") -> None:
    if trick == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "600"])
        Path(noted).write_text(f"{os.getpid()} {child.pid}")
    while trick == "nonsense":
        sys.stdout.write("Listening on port 3000. \x1b[31mReady!\n")
    if trick == "greeting":
        sys.stdout.write("Welcome!\n")
        sys.stdout.flush()
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["method"]:
            case _ if trick in {"silent", "greeting"} or "id" not in asked:
                continue
            case "initialize":
                version = asked["params"]["protocolVersion"]
                info = {"name": "plain", "version": "1"}
                answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
            case "tools/list":
                answer = {"result": {"tools": tools(trick)}}
            case "tools/call":
                answer = {"result": call(asked["params"]["name"], asked["params"].get("arguments", {}))}
            case _:
                answer = {"error": {"code": -32601, "message": "no such method"}}
        send({"id": asked["id"], **answer})
        while trick == "floods" and asked["method"] == "tools/list":
            send({"method": "notifications/tools/list_changed"})
    while trick == "stubborn":
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
