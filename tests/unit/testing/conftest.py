"""Imports what runs of pytest within these tests could import: each of them forgets its imports.

A module of the library that was forgotten would be imported again by later tests, with other
classes of the same names; NumPy cannot be imported twice at all.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import hbase_orm


@pytest.fixture(scope="session", autouse=True)
def _imported() -> None:
    for module in pkgutil.walk_packages(hbase_orm.__path__, "hbase_orm."):
        importlib.import_module(module.name)
    importlib.import_module("pyarrow")
