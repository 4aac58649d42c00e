"""Finds all messages and activities that the contract declares."""

import importlib
import pkgutil
from types import ModuleType

from pydantic import BaseModel

import contracts
from contracts.activities import Activity
from contracts.messages import Command, Message, Public


def modules() -> list[ModuleType]:
    found = pkgutil.iter_modules(contracts.__path__)
    return [importlib.import_module(f"contracts.{one.name}") for one in found]


def models() -> dict[str, type[BaseModel]]:
    """Every message, by name, without the base classes."""
    found = {
        value.__name__: value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseModel)
    }
    return {n: m for n, m in found.items() if m not in (BaseModel, Command, Message, Public)}


def activities() -> dict[str, Activity[BaseModel, BaseModel]]:
    """Every activity, by its place in the code."""
    return {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, Activity)
    }
