"""The parameters of a Bot API call, read from any body the Bot API takes. Values stay as sent until asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

import orjson
from pydantic import JsonValue

from channels.simulators.telegram.checks import JsonObject, Refusal


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that came with a call."""

    name: str
    mime: str
    content: bytes


class Params:
    """Typed reading of one call's parameters; nested values may be JSON or JSON text."""

    def __init__(self, raw: JsonObject, files: Mapping[str, UploadedFile] | None = None) -> None:
        self._raw = raw
        self._files = files or {}

    def file(self, reference: object) -> UploadedFile | None:
        """The uploaded file that a value like "attach://name" points to."""
        return self._files.get(reference.removeprefix("attach://")) if isinstance(reference, str) else None

    def own_file(self, name: str) -> UploadedFile | None:
        """The file that is this parameter, or that it points to."""
        return self._files.get(name) or self.file(self._raw.get(name))

    def text(self, name: str) -> str:
        """The parameter as text; "" when absent."""
        value = self._raw.get(name)
        if value is None:
            return ""
        return value if isinstance(value, str) else orjson.dumps(value).decode()

    def integer(self, name: str) -> int | None:
        """The parameter as a number; None when absent or not one."""
        value = self._raw.get(name)
        if isinstance(value, bool) or value is None:
            return None
        try:
            return int(value) if isinstance(value, (int, str)) else None
        except ValueError:
            return None

    def flag(self, name: str) -> bool:
        """The parameter as the Bot API reads booleans."""
        return self.text(name).lower() in ("true", "yes", "1")

    def refuse_parse_mode(self) -> None:
        """Telegram would parse the text; here only entities are known.

        Raises:
            Refusal: the call asks for it.
        """
        if self.text("parse_mode").lower() not in ("", "none"):
            raise Refusal(400, "Bad Request: unsupported parse_mode (the simulator takes entities only)")

    def json(self, name: str) -> JsonValue:
        """The parameter as JSON; None when absent or unreadable."""
        value = self._raw.get(name)
        if not isinstance(value, str):
            return value
        try:
            decoded: JsonValue = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
        return decoded

    def mapping(self, name: str) -> JsonObject:
        """The parameter as a JSON object; empty when absent."""
        value = self.json(name)
        return value if isinstance(value, dict) else {}

    def listing(self, name: str) -> list[JsonValue]:
        """The parameter as a JSON list; empty when absent."""
        value = self.json(name)
        return value if isinstance(value, list) else []


def read_params(body: bytes, content_type: str, query: str) -> Params:
    """The parameters in the query string and in a form or JSON body.

    Raises:
        Refusal: 400, the body cannot be read.
    """
    raw: JsonObject = dict(parse_qsl(query))
    if content_type == "application/json" and body:
        try:
            decoded = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise Refusal(400, "Bad Request: can't parse request JSON object") from None
        if not isinstance(decoded, dict):
            raise Refusal(400, "Bad Request: can't parse request JSON object")
        raw.update(decoded)
    elif body:
        try:
            raw.update(parse_qsl(body.decode(), keep_blank_values=True))
        except UnicodeDecodeError:
            raise Refusal(400, "Bad Request: strings must be encoded in UTF-8") from None
    return Params(raw)
