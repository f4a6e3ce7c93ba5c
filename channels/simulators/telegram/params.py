"""The parameters of a Bot API call, in any body the Bot API takes. Values stay as sent until they are read."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

import orjson
from pydantic import JsonValue

from channels.simulators.shared.world import File, JsonObject
from channels.simulators.telegram.checks import Refusal


class Params:
    """One call's parameters; nested values may be JSON or JSON text."""

    def __init__(self, raw: JsonObject, files: Mapping[str, File] | None = None) -> None:
        self._raw = raw
        self._files = files or {}

    def file(self, reference: object) -> File | None:
        """Return the uploaded file that a value like "attach://name" points to."""
        return self._files.get(reference.removeprefix("attach://")) if isinstance(reference, str) else None

    def own_file(self, name: str) -> File | None:
        """Return the file that is this parameter, or that it points to."""
        return self._files.get(name) or self.file(self._raw.get(name))

    def text(self, name: str) -> str:
        """Return the parameter as text; "" when absent."""
        value = self._raw.get(name)
        if value is None:
            return ""
        return value if isinstance(value, str) else orjson.dumps(value).decode()

    def integer(self, name: str) -> int | None:
        """Return the parameter as a number; None when absent or not one."""
        value = self._raw.get(name)
        if isinstance(value, bool) or value is None:
            return None
        try:
            return int(value) if isinstance(value, (int, str)) else None
        except ValueError:
            return None

    def flag(self, name: str) -> bool:
        """Return the parameter as the Bot API reads booleans."""
        return self.text(name).lower() in ("true", "yes", "1")

    def json(self, name: str) -> JsonValue:
        """Return the parameter as JSON; None when absent or unreadable."""
        value = self._raw.get(name)
        if not isinstance(value, str):
            return value
        try:
            decoded: JsonValue = orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
        return decoded

    def mapping(self, name: str) -> JsonObject:
        """Return the parameter as a JSON object; empty when absent."""
        value = self.json(name)
        return value if isinstance(value, dict) else {}

    def listing(self, name: str) -> list[JsonValue]:
        """Return the parameter as a JSON list; empty when absent."""
        value = self.json(name)
        return value if isinstance(value, list) else []


def read_params(body: bytes, content_type: str, query: str) -> Params:
    """Return the parameters in the query string and in a form or JSON body.

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
