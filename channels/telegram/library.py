"""Import of aiogram that builds its models at their first use, not all at once.

aiogram's `types/__init__` calls `model_rebuild` on every model, which is slow (aiogram 3.31, November 2026), and an
adapter that reads raw JSON uses none of them. Here those calls only store the namespace for resolving annotations;
the base classes pass it on if pydantic builds a model later.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

Namespace = dict[str, object]


def load_aiogram() -> None:
    """Import aiogram with its model building deferred; do nothing if it is imported already."""
    if "aiogram" in sys.modules:
        return
    with _deferred_rebuilds() as namespace:
        importlib.import_module("aiogram")
    types_base = importlib.import_module("aiogram.types.base")
    methods_base = importlib.import_module("aiogram.methods.base")
    for base in (types_base.TelegramObject, methods_base.TelegramMethod, methods_base.Response):
        _build_at_first_use(base, namespace)


@contextmanager
def _deferred_rebuilds() -> Iterator[Namespace]:
    original = BaseModel.__dict__["model_rebuild"]
    namespace: Namespace = {}

    def note(cls: type[BaseModel], *, _types_namespace: Namespace | None = None, **options: object) -> object:
        if not cls.__module__.startswith("aiogram."):
            return original.__func__(cls, _types_namespace=_types_namespace, **options)
        namespace.update(_types_namespace or {})
        return None

    BaseModel.model_rebuild = classmethod(note)  # type: ignore[assignment,method-assign,arg-type]  # restored below
    try:
        yield namespace
    finally:
        BaseModel.model_rebuild = original  # type: ignore[method-assign]  # the original


def _build_at_first_use(base: type[BaseModel], namespace: Namespace) -> None:
    original = BaseModel.__dict__["model_rebuild"].__func__

    def rebuild(cls: type[BaseModel], *, _types_namespace: Namespace | None = None, **options: object) -> object:
        return original(cls, _types_namespace=_types_namespace or namespace, **options)

    base.model_rebuild = classmethod(rebuild)  # type: ignore[assignment,method-assign,arg-type]  # see the module
