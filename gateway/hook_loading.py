"""Finds what the operator's hooks name: programs, Python functions, and what other distributions offer."""

import difflib
import importlib
import shutil
from collections.abc import Sequence
from typing import cast

from agent.hooks.chain import HookFunction, program_hook, python_hook
from agent.hooks.points import Hook, HookConfig
from gateway.errors import SettingsError
from gateway.extensions import FLAWS, HOOKS, first_words, load_extension


def load_hooks(configs: Sequence[HookConfig]) -> tuple[Hook, ...]:
    """The hooks, in the order they are asked.

    Raises:
        SettingsError: one names nothing that can be asked.
    """
    return tuple(hook for config in configs for hook in load_hook(config))


def load_hook(config: HookConfig) -> tuple[Hook, ...]:
    """What one table stands for; a name may stand for several.

    Raises:
        SettingsError: it names nothing that can be asked.
    """
    if config.use is not None:
        return _find_offered(config.use)
    assert config.point is not None, "the settings hold none without"
    if config.python is not None:
        name, call = config.python, python_hook(_function(config.python))
    else:
        name = config.command[0]
        if shutil.which(name) is None:
            raise SettingsError(f"there is no program {name!r} that could be run")
        call = program_hook(config.command)
    return (
        Hook(
            name=name, point=config.point, call=call, tools=config.tools, timeout_s=config.timeout_s,
            required=config.required,
        ),
    )  # fmt: skip


def _find_offered(name: str) -> tuple[Hook, ...]:
    found = load_extension(HOOKS, name)
    if callable(found) and not isinstance(found, Hook):
        found = found()
    hooks = tuple(found) if isinstance(found, list | tuple) else (found,)
    if not hooks or not all(isinstance(hook, Hook) for hook in hooks):
        raise SettingsError(f"the hook {name!r} is no Hook, and gives none")
    return hooks


def _function(path: str) -> HookFunction:
    module, _, name = path.partition(":")
    try:
        found = importlib.import_module(module)
    except FLAWS as error:
        raise SettingsError(f"the hook {path!r} cannot be imported: {first_words(error)}") from None
    function = getattr(found, name, None)
    if not callable(function):
        near = difflib.get_close_matches(name, [each for each in dir(found) if callable(getattr(found, each))], 1)
        meant = f"; did you mean {module}:{near[0]}?" if near else ""
        raise SettingsError(f"the hook {path!r} names no function{meant}")
    return cast("HookFunction", function)
