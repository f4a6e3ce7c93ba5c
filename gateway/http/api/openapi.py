"""The OpenAPI document of a table of routes, made from its models. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.http.api.problems import ApiProblemAnswer
from gateway.http.api.routes import PARAM, ApiRoute

Document = dict[str, Any]

REFUSALS = {
    400: "What was sent is no request of this API.",
    401: "No key, or one that does not hold.",
    403: "The key does not open this, or its person is not let in.",
    404: "There is no such thing, or it is somebody else's.",
    409: "Not possible as things stand; the message says why.",
    413: "The body is over 1 MB.",
    415: "The body is not JSON, or compressed.",
    422: "The request is JSON, and one of its fields is not as it should be.",
    429: "Too much at once; `retry_after_minutes` says when again.",
    502: "The agent failed; the message is what its person was told.",
    503: "Not now: the store does not take it, or everything waits.",
    504: "It took too long; the turn goes on, and its answer can be fetched.",
}
"""What every route may answer beside what it is for."""

DESCRIPTION = """\
Talk to the agent, read what it keeps, run the gateway. A key (`tenk keys create NAME --scope chat`) goes into
`Authorization: Bearer KEY`; its scopes say what it opens. Every error has one shape, with a `code` and `what_to_do`.

A chat request becomes a durable message: it is answered whether the client waits or not. Send an `Idempotency-Key`, and
the same request again is the same turn; fetch an answer later from `/v1/sessions/{session}/turns/{turn}`.
`/v1/chat/completions` speaks OpenAI's protocol in front of the same agent."""


def openapi_document(routes: Sequence[ApiRoute], title: str, version: str) -> Document:
    """OpenAPI 3.1 for these routes."""
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
    responses: dict[str, Any] = {str(route.status): {"description": "As asked.", "content": answer}}
    if route.late_status is not None:
        content = {"application/json": {"schema": names[route.answer, "serialization"]}}
        responses[str(route.late_status)] = {"description": "It is not there yet.", "content": content}
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
            "description": "The same key again is the same request: it is done once, and answered the same.",
            "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,128}$"},
        }
