"""Model servers with the endpoints of Ollama, llama.cpp, vLLM, LM Studio and OpenRouter, by their documents (2026-11).

`ModelServer` answers their chat completions from its script; this module adds what each says of its models.
"""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tests.fakes.model_server import MESSAGES, ModelServer

Said = Mapping[str, Any]
"""By method and path, the JSON that is answered; anything else is 404."""


def _list(*entries: Mapping[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": [{"object": "model", "created": 1, **entry} for entry in entries]}


def ollama(*names: str, num_ctx: int | None = None, loaded: int | None = None, tools: bool = True) -> Said:
    """Return models of 131,072 tokens, whose instances get the window they are set to; the first may be loaded."""
    parameters = 'stop                           "<|eot_id|>"'
    shown = {
        "parameters": parameters if num_ctx is None else f"num_ctx                        {num_ctx}\n{parameters}",
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        "capabilities": ["completion", "tools"] if tools else ["completion"],
    }
    running = [] if loaded is None else [{"name": names[0], "model": names[0], "context_length": loaded}]
    return {
        "GET /v1/models": _list(*({"id": name, "owned_by": "library"} for name in names)),
        "GET /api/version": {"version": "0.17.7"},
        "POST /api/show": shown,
        "GET /api/ps": {"models": running},
    }


def llama_cpp(n_ctx: int, *, vision: bool = False) -> Said:
    """Return one model, named by its file; a slot's share of the window counts."""
    return {
        "GET /v1/models": _list({"id": "qwen3-8b.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40_960}}),
        "GET /props": {
            "default_generation_settings": {"n_ctx": n_ctx},
            "total_slots": 4,
            "modalities": {"vision": vision, "audio": False},
        },
    }


def vllm(name: str, max_model_len: int) -> Said:
    """Return a list that names the window."""
    return {"GET /v1/models": _list({"id": name, "owned_by": "vllm", "max_model_len": max_model_len})}


def lm_studio(name: str, loaded: int) -> Said:
    """Return an API of its own beside OpenAI's."""
    entry = {"id": name, "type": "vlm", "state": "loaded", "max_context_length": 32_768, "capabilities": ["tool_use"]}
    embeddings = {"id": "nomic-embed", "type": "embeddings", "max_context_length": 2048}
    return {
        "GET /v1/models": _list({"id": name, "owned_by": "organization_owner"}, {"id": "nomic-embed"}),
        "GET /api/v0/models": _list({**entry, "loaded_context_length": loaded}, embeddings),
    }


def openrouter(name: str, context_length: int) -> Said:
    """Return a list that names nearly everything."""
    return {
        "GET /v1/models": {
            "data": [
                {
                    "id": name,
                    "context_length": context_length,
                    "supported_parameters": ["max_tokens", "temperature"],
                    "architecture": {"input_modalities": ["text", "image"]},
                    "top_provider": {"context_length": context_length, "max_completion_tokens": 4000},
                }
            ]
        }
    }


class LocalServer(ModelServer):
    """A `ModelServer` that describes itself by `said`, which may change while it runs."""

    def __init__(self, said: Said, **more: Any) -> None:
        super().__init__(**more)
        self.said = said
        self.looks_at: list[str] = []  # what was asked of it beside chat completions

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/chat/completions", self.answer)
        app.router.add_post(MESSAGES, self.answer)
        app.router.add_route("*", "/{path:.*}", self._say)

    async def _say(self, request: web.Request) -> web.Response:
        asked = f"{request.method} {request.path}"
        self.looks_at.append(asked)
        if asked not in self.said:
            return web.json_response({"error": "not found"}, status=404)
        return web.json_response(self.said[asked])
