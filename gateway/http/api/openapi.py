"""The OpenAPI document of the route table, and the same as one HTML page without scripts."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.http.api.problems import ApiProblemAnswer
from gateway.http.api.routes import PARAM, ApiRoute

Document = dict[str, Any]

REFUSALS = {
    400: "The request is malformed.",
    401: "The key is missing or invalid.",
    403: "The key's scopes do not allow this, or its person has no access.",
    404: "It does not exist, or it belongs to another person.",
    409: "It is not possible in the current state; the message says why.",
    413: "The body is over 1 MB.",
    415: "The body is not JSON, or it is compressed.",
    422: "A field of the request is invalid.",
    429: "Too many requests; `retry_after_minutes` says when to try again.",
    502: "The agent failed; the message is the one for its person.",
    503: "The store is not available, too many requests wait, or the agents are paused.",
    504: "It took too long. The turn goes on, and you can fetch its answer later.",
}
"""Error statuses of every route."""

DESCRIPTION = """\
Talk to the agent, read what it keeps, run the gateway. A key (`tenk keys create NAME --scope chat`) goes into
`Authorization: Bearer KEY`; its scopes say what it opens. Every error has one shape, with a `code` and `what_to_do`.

A chat request becomes a durable message: it is answered whether the client waits or not. Send an `Idempotency-Key`, and
the same request again is the same turn; fetch an answer later from `/v1/sessions/{session}/turns/{turn}`.
`/v1/chat/completions` and `/v1/responses` speak OpenAI's protocols in front of the same agent."""


def openapi_document(routes: Sequence[ApiRoute], title: str, version: str) -> Document:
    """Return the OpenAPI 3.1 document of these routes."""
    answers = {route.answer for route in routes} | {ApiProblemAnswer}
    bodies = {route.body for route in routes if route.body is not None}
    wanted = [*_by_name(answers, "serialization"), *_by_name(bodies, "validation")]
    names, whole = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, names)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": whole.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
    }


Mode = Literal["validation", "serialization"]


def _by_name(models: Iterable[type[BaseModel]], mode: Mode) -> list[tuple[type[BaseModel], Mode]]:
    return [(model, mode) for model in sorted(models, key=lambda model: model.__name__)]


def _operation(route: ApiRoute, names: Mapping[Any, Any]) -> dict[str, Any]:
    answer = {"application/json": {"schema": names[route.answer, "serialization"]}}
    if route.may_stream:
        answer["text/event-stream"] = {"schema": {"type": "string"}}
    responses: dict[str, Any] = {str(route.status): {"description": "The answer.", "content": answer}}
    if route.late_status is not None:
        content = {"application/json": {"schema": names[route.answer, "serialization"]}}
        responses[str(route.late_status)] = {"description": "The answer is not ready yet.", "content": content}
    problem = {"application/json": {"schema": names[ApiProblemAnswer, "serialization"]}}
    for status, description in REFUSALS.items():
        responses.setdefault(str(status), {"description": description, "content": problem})
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "description": f"Scope: `{route.scope.value}`.",
        "parameters": [*_path_params(route), *_query_params(route.query), *_header_params(route)],
        "responses": responses,
    }
    if route.body is not None:
        body = {"application/json": {"schema": names[route.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _operation_id(route: ApiRoute) -> str:
    words = [segment.strip("{}").replace("_", "-") for segment in route.path.split("/")[2:]]
    return "-".join([route.method.lower(), *words])


def _path_params(route: ApiRoute) -> Iterable[dict[str, Any]]:
    for name in route.params:
        schema = {"type": "string", "pattern": f"^{PARAM}$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_params(model: type[BaseModel] | None) -> Iterable[dict[str, Any]]:
    if model is None:
        return
    schema = model.model_json_schema()
    for name, field in schema.get("properties", {}).items():
        shown = {key: value for key, value in field.items() if key not in {"description", "title"}}
        yield {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", ()),
            "description": field.get("description", ""),
            "schema": shown,
        }


def _header_params(route: ApiRoute) -> Iterable[dict[str, Any]]:
    if route.once:
        yield {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "A request with the same key is carried out once and gets the same answer.",
            "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,128}$"},
        }


STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--get:#0a7a4b;--post:#7a4b0a}
@media (prefers-color-scheme:dark){:root{--get:#4fd39b;--post:#e0ad62}}
body{background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.75rem;overflow:auto;border-radius:.4rem;margin:.5rem 0}
h2{border-bottom:1px solid var(--line);margin-top:2.5rem;text-transform:capitalize}
details{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.5rem .75rem}
summary{cursor:pointer;overflow-wrap:anywhere}summary b{font-family:ui-monospace,monospace}
.get{color:var(--get)}.post{color:var(--post)}
p,td{overflow-wrap:anywhere}table{border-collapse:collapse;width:100%;display:block;overflow:auto}
td,th{border-top:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem}a{color:inherit}
"""

_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

Schema = Mapping[str, Any]


def page_headers() -> Mapping[str, str]:
    """Return the headers that allow the page nothing but its own style."""
    return {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def docs_page(document: Schema) -> str:
    """Return the whole HTML page."""
    info = document["info"]
    tags = [tag["name"] for tag in document["tags"]]
    links = "".join(f'<a href="#{_text(tag)}">{_text(tag)}</a>' for tag in tags)
    sections = "".join(_section(document, tag) for tag in tags)
    schemas = "".join(_schema_block(name, schema) for name, schema in document["components"]["schemas"].items())
    about = "".join(f"<p>{_words(part)}</p>" for part in info["description"].split("\n\n"))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(info["title"])} API</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>{_text(info['title'])} API</h1>{about}"
        f'<p><a href="/v1/openapi.json">OpenAPI document</a></p><nav>{links}<a href="#models">models</a></nav>'
        f'{sections}<h2 id="models">models</h2>{schemas}</body></html>'
    )


def _section(document: Schema, tag: str) -> str:
    operations = "".join(
        _shown_operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    )
    return f'<h2 id="{_text(tag)}">{_text(tag)}</h2>{operations}'


def _shown_operation(path: str, method: str, operation: Schema) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(param['name'])}</code></td><td>{_text(param['in'])}</td>"
        f"<td>{_words(param.get('description', ''))}</td><td><code>{_text(_short(param['schema']))}</code></td></tr>"
        for param in operation["parameters"]
    )
    params = f"<table><tr><th>name</th><th>in</th><th>what</th><th>type</th></tr>{rows}</table>" if rows else ""
    body = operation.get("requestBody")
    sent = f"<p>Body: {_content(body['content'])}</p>" if body else ""
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_words(answer['description'])}</td><td>{_content(answer['content'])}</td></tr>"
        for status, answer in sorted(operation["responses"].items())
    )
    return (
        f'<details id="{_text(operation["operationId"])}"><summary><b class="{_text(method)}">{_text(method.upper())}'
        f"</b> <code>{_text(path)}</code> {_words(operation['summary'])}</summary>"
        f"<p>{_words(operation['description'])}</p>"
        f"{params}{sent}<table><tr><th>status</th><th>when</th><th>body</th></tr>{answers}</table></details>"
    )


def _content(content: Schema) -> str:
    return ", ".join(
        f"{_text(kind)} {_link(media['schema'])}" if kind == "application/json" else _text(kind)
        for kind, media in content.items()
    )


def _link(schema: Schema) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f'<a href="#model-{_text(name)}"><code>{_text(name)}</code></a>' if name else ""


def _schema_block(name: str, schema: Schema) -> str:
    shown = json.dumps(schema, indent=2, ensure_ascii=False)
    return (
        f'<details id="model-{_text(name)}"><summary><code>{_text(name)}</code> '
        f"{_words(schema.get('description', ''))}</summary><pre>{_text(shown)}</pre></details>"
    )


def _short(schema: Schema) -> str:
    kinds = [option.get("type", "") for option in schema.get("anyOf", ())] or [str(schema.get("type", ""))]
    limits = [f"{key} {schema[key]}" for key in ("minimum", "maximum", "default") if schema.get(key) is not None]
    return " or ".join(filter(None, kinds)) + ("; " + ", ".join(limits) if limits else "")


def _text(value: object) -> str:
    return html.escape(str(value))


def _words(value: object) -> str:
    """Escape a text and turn `backticks` into code elements."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(value))
