"""Imports pyarrow, which only the columnar reads need."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from hbase_orm.errors import ConfigurationError


def arrow() -> Any:
    """Return the module `pyarrow`.

    Raises:
        ConfigurationError: pyarrow is not installed.
    """
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise ConfigurationError(
            "Arrow tables need pyarrow, which is not installed",
            fix="pip install 'hbase-orm[arrow]'",
        ) from None


def check_pandas() -> None:
    """Check that pandas can be imported.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    if find_spec("pandas") is None:
        raise ConfigurationError(
            "to_pandas() needs pandas, which is not installed",
            fix="pip install pandas, or use session.arrow(), which does without it",
        )
