"""Results of the servers' calls as bounded data for the model; pure."""

from collections.abc import Iterator

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agent.tools.base import ToolError

MAX_TEXT_CHARS = 400_000
"""Maximum characters of all texts of a result."""

MOST_PARTS = 100
"""Maximum parts of a result."""

MAX_LINE_CHARS = 500
"""Maximum characters of a name, an address or a kind in a description."""


def result_data(result: CallToolResult) -> dict[str, object]:
    """Return the texts and the structured data of a result; other content is described.

    Raises:
        ToolError: the server reports that the call failed.
    """
    text = _join(_words(part) for part in result.content[:MOST_PARTS])
    if len(result.content) > MOST_PARTS:
        text += f"\n({len(result.content) - MOST_PARTS} more parts are left out)"
    if result.is_error:
        raise ToolError(text[:4000] or "The tool reports an error without words.")
    if result.structured_content is None:
        return {"text": text}
    data = result.structured_content
    # For older clients, servers repeat the data as JSON, or its only value as text.
    values = list(data.values()) if isinstance(data, dict) else [data]
    repeats = len(result.content) == 1 and (text[:1] in {"{", "["} or [text] == values)
    return {"data": data} if repeats or not text else {"text": text, "data": data}


def _join(parts: Iterator[str]) -> str:
    left, found = MAX_TEXT_CHARS, []
    for part in parts:
        found.append(part[:left])
        left -= len(part)
        if left <= 0:
            found.append("(the rest is left out)")
            break
    return "\n".join(found)


def _words(part: ContentBlock) -> str:
    match part:
        case TextContent():
            return part.text
        case ImageContent() | AudioContent():
            kind = "picture" if isinstance(part, ImageContent) else "recording"
            return f"({kind}, {_line(part.mime_type)}, {_bytes_in(part.data)} bytes, not shown)"
        case ResourceLink():
            return f"(resource {_line(part.uri)}: {_line(part.title or part.name)})"
        case EmbeddedResource(resource=TextResourceContents() as text):
            return f"(resource {_line(text.uri)})\n{text.text}"
        case EmbeddedResource(resource=BlobResourceContents() as blob):
            kind = _line(blob.mime_type or "unknown type")
            return f"(resource {_line(blob.uri)}, {kind}, {_bytes_in(blob.blob)} bytes, not shown)"
    return f"(content of the kind {_line(type(part).__name__)}, not shown)"


def _line(text: object) -> str:
    return " ".join(str(text).split())[:MAX_LINE_CHARS]


def _bytes_in(encoded: str) -> int:
    return len(encoded) * 3 // 4
