"""The API's documentation as one page of our own, made from its OpenAPI document. Pure; nothing comes from elsewhere.

Without a script: what there is can be read, searched by the browser and linked to.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from typing import Any

STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--get:#0a7a4b;--post:#7a4b0a}
@media (prefers-color-scheme:dark){:root{--get:#4fd39b;--post:#e0ad62}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}
code,pre{font:.875rem/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.75rem;overflow:auto;border-radius:.4rem;margin:.5rem 0}
h2{border-bottom:1px solid var(--line);margin-top:2.5rem;text-transform:capitalize}
details{border:1px solid var(--line);border-radius:.4rem;margin:.5rem 0;padding:.5rem .75rem}
summary{cursor:pointer;overflow-wrap:anywhere}summary b{font-family:ui-monospace,monospace}
.get{color:var(--get)}.post{color:var(--post)}
table{border-collapse:collapse;width:100%;display:block;overflow:auto}
td,th{border-top:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
nav a{margin-right:1rem}a{color:inherit}
"""

_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

Schema = Mapping[str, Any]


def page_headers() -> Mapping[str, str]:
    """What forbids the page all but its own style."""
    return {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }


def docs_page(document: Schema) -> str:
    """The whole page."""
    info = document["info"]
    tags = [tag["name"] for tag in document["tags"]]
    links = "".join(f'<a href="#{_text(tag)}">{_text(tag)}</a>' for tag in tags)
    sections = "".join(_section(document, tag) for tag in tags)
    schemas = "".join(_schema_block(name, schema) for name, schema in document["components"]["schemas"].items())
    about = "".join(f"<p>{_text(part)}</p>" for part in info["description"].split("\n\n"))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(info["title"])} API</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>{_text(info['title'])} API</h1>{about}"
        f'<p><a href="/v1/openapi.json">OpenAPI document</a></p><nav>{links}<a href="#models">models</a></nav>'
        f'{sections}<h2 id="models">models</h2>{schemas}</body></html>'
    )


def _section(document: Schema, tag: str) -> str:
    operations = "".join(
        _operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation["tags"]
    )
    return f'<h2 id="{_text(tag)}">{_text(tag)}</h2>{operations}'


def _operation(path: str, method: str, operation: Schema) -> str:
    rows = "".join(
        f"<tr><td><code>{_text(param['name'])}</code></td><td>{_text(param['in'])}</td>"
        f"<td>{_text(param.get('description', ''))}</td><td><code>{_text(_short(param['schema']))}</code></td></tr>"
        for param in operation["parameters"]
    )
    params = f"<table><tr><th>name</th><th>in</th><th>what</th><th>type</th></tr>{rows}</table>" if rows else ""
    body = operation.get("requestBody")
    sent = f"<p>Body: {_content(body['content'])}</p>" if body else ""
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_text(answer['description'])}</td><td>{_content(answer['content'])}</td></tr>"
        for status, answer in sorted(operation["responses"].items())
    )
    return (
        f'<details id="{_text(operation["operationId"])}"><summary><b class="{_text(method)}">{_text(method.upper())}'
        f"</b> <code>{_text(path)}</code> {_text(operation['summary'])}</summary>"
        f"<p>{_text(operation['description'])}</p>"
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
        f"{_text(schema.get('description', ''))}</summary><pre>{_text(shown)}</pre></details>"
    )


def _short(schema: Schema) -> str:
    kinds = [option.get("type", "") for option in schema.get("anyOf", ())] or [str(schema.get("type", ""))]
    limits = [f"{key} {schema[key]}" for key in ("minimum", "maximum", "default") if schema.get(key) is not None]
    return " or ".join(filter(None, kinds)) + ("; " + ", ".join(limits) if limits else "")


def _text(value: object) -> str:
    return html.escape(str(value))
