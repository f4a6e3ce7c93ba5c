"""The OpenAPI document and its page: exactly the table of routes."""

import json
import re
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import ValidationError

from channels.clocks import steady_now
from gateway.coach.api import coach_routes
from gateway.commands.connect import Connecting
from gateway.http.api.chat import ChatRequest, ChatRoutes, chat_routes
from gateway.http.api.oauth import OAuthRoutes, oauth_routes
from gateway.http.api.openai_chat import OpenAiRoutes, openai_routes
from gateway.http.api.openai_responses import ResponseRoutes, response_routes
from gateway.http.api.openapi import Document, docs_page, openapi_document, page_headers
from gateway.http.api.operators import operator_routes
from gateway.http.api.problems import from_server
from gateway.http.api.routes import ApiRoute, RouteTable
from gateway.operators.process import DetachedProcess
from gateway.operators.service import Operators
from gateway.store.engine import Store

NOTHING: object = None  # no handler is called here


def routes() -> tuple[ApiRoute, ...]:
    store: Store = NOTHING  # type: ignore[assignment]  as above
    return (
        *chat_routes(ChatRoutes(NOTHING, store)),  # type: ignore[arg-type]  as above
        *coach_routes(store, NOTHING),  # type: ignore[arg-type]  as above
        *oauth_routes(OAuthRoutes(store, Connecting())),
        *openai_routes(OpenAiRoutes(NOTHING, "coach")),  # type: ignore[arg-type]  as above
        *response_routes(ResponseRoutes(NOTHING, "coach")),  # type: ignore[arg-type]  as above
        *operator_routes(Operators(store, b"", steady_now, DetachedProcess())),
    )


def document() -> Document:
    return openapi_document(routes(), "Coach", "1")


def test_a_method_that_is_not_asked_is_answered_with_those_that_are() -> None:
    with pytest.raises(web.HTTPMethodNotAllowed) as refused:
        RouteTable(routes()).find("PUT", "/v1/chat")
    answer = from_server(refused.value).to_response()
    assert (405, "POST") == (answer.status, answer.headers["Allow"])


def test_yes_and_no_are_no_seconds() -> None:
    assert 5.0 == ChatRequest.model_validate_json('{"message": "hi", "wait_s": 5}').wait_s
    with pytest.raises(ValidationError):
        ChatRequest.model_validate_json('{"message": "hi", "wait_s": false}')
    with pytest.raises(ValidationError):
        ChatRequest.model_validate_json('{"message": "hi", "stream": "no"}')


def test_the_document_has_every_route_and_no_other() -> None:
    paths = document()["paths"]
    found = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    ids = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert {(route.method, route.path) for route in routes()} == found
    assert len(found) == len(set(ids)) == len(routes())


def test_every_reference_leads_to_a_schema() -> None:
    whole = document()
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(whole)))
    assert set() == names - set(whole["components"]["schemas"])
    assert {"ChatRequest", "TurnAnswer", "ApiProblemAnswer", "CompletionRequest"} <= names


def test_what_must_be_known_of_a_route_is_in_it() -> None:
    chat = document()["paths"]["/v1/chat"]["post"]
    turn = document()["paths"]["/v1/sessions/{session}/turns/{turn}"]["get"]
    assert ["Idempotency-Key"] == [param["name"] for param in chat["parameters"]]
    assert ["session", "turn", "user"] == [param["name"] for param in turn["parameters"]]
    assert {"application/json", "text/event-stream"} == set(chat["responses"]["200"]["content"])
    problem = {"$ref": "#/components/schemas/ApiProblemAnswer"}
    assert problem == chat["responses"]["429"]["content"]["application/json"]["schema"]
    assert {"202", "401", "403", "404", "413", "422", "502", "503"} <= set(chat["responses"])


def test_the_page_brings_all_it_needs() -> None:
    page = docs_page(document())
    assert [] == re.findall(r"<script|<link|<img|<iframe|\bsrc=|@import|url\(|https?://|//cdn", page)
    assert [] == [route.path for route in routes() if f"<code>{route.path}</code>" not in page]
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert set() == links - set(re.findall(r'id="([^"]+)"', page))
    assert "default-src 'none'" in page_headers()["Content-Security-Policy"]


def test_the_page_shows_what_stands_in_a_document_as_text() -> None:
    whole = document()
    whole["info"]["title"] = "<script>alert(1)</script>"
    assert "<script>" not in docs_page(whole)
    assert "`" not in docs_page(document()).partition("<h2")[0]


def test_the_page_on_the_api_and_the_routes_agree() -> None:
    text = (Path(__file__).parents[3] / "docs" / "http-api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:GET |POST )?(/v1/[a-z{}/-]+)[`)]", text))
    assert named
    assert set() == named - {route.path for route in routes()}
