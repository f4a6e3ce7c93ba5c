"""Results of servers as data for the model."""

import pytest
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from agent.mcp.results import MAX_TEXT_CHARS, result_data
from agent.tools.base import ToolError


def text(words: str) -> TextContent:
    return TextContent(type="text", text=words)


def test_texts_are_joined() -> None:
    assert {"text": "one\ntwo"} == result_data(CallToolResult(content=[text("one"), text("two")]))


def test_structured_data_is_not_repeated_as_text() -> None:
    found = CallToolResult(content=[text('{"sum": 3}')], structured_content={"sum": 3})
    assert {"data": {"sum": 3}} == result_data(found)
    found = CallToolResult(content=[text("Hello.")], structured_content={"content": "Hello."})
    assert {"data": {"content": "Hello."}} == result_data(found)


def test_pictures_and_files_are_described() -> None:
    picture = ImageContent(type="image", data="AAAA", mime_type="image/png")
    blob = BlobResourceContents(uri="file:///a.bin", blob="AAAA")
    note = TextResourceContents(uri="file:///note", text="Hello")
    link = ResourceLink(type="resource_link", name="Report", uri="https://example.com/r")
    parts = [picture, EmbeddedResource(type="resource", resource=blob), link]
    assert {
        "text": "(picture, image/png, 3 bytes, not shown)\n"
        "(resource file:///a.bin, unknown type, 3 bytes, not shown)\n"
        "(resource https://example.com/r: Report)\n"
        "(resource file:///note)\nHello"
    } == result_data(CallToolResult(content=[*parts, EmbeddedResource(type="resource", resource=note)]))


def test_an_error_says_the_servers_words() -> None:
    with pytest.raises(ToolError, match="no such town"):
        result_data(CallToolResult(content=[text("no such town")], is_error=True))


def test_many_and_long_texts_are_cut() -> None:
    found = result_data(CallToolResult(content=[text("x" * MAX_TEXT_CHARS)] * 3))
    assert MAX_TEXT_CHARS + 100 > len(str(found["text"]))
    found = result_data(CallToolResult(content=[text("x")] * 1000))
    assert str(found["text"]).endswith("(900 more parts are left out)")
