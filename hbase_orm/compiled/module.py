"""Imports the compiled module, and decides whether it is used.

It is used only if it was built from the source beside it. A package that is imported from its
source tree can have an old module: its source was changed, or building it failed. Such a module
could read rows in another way than the rest of the package expects.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from zlib import crc32

PURE: Final = "HBASE_ORM_PURE"
"""The environment variable that switches the compiled reader off, if it is 1."""

_NAME: Final = "hbase_orm.compiled._cells"
_SOURCE: Final = Path(__file__).with_name("_cells.pyx")
_FIX: Final = "install this package from its source again"


def imported() -> tuple[Any, str]:
    """Return the compiled module and an empty text; or None, and why rows are read by Python."""
    if os.environ.get(PURE) == "1":
        return None, f"{PURE} is 1"
    try:
        module = import_module(_NAME)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == _NAME:
            return None, f"it was not built for this Python: install a C compiler, then {_FIX}"
        return None, f"it does not load ({error}): {_FIX}"
    if not _is_current(module):
        return None, f"it was built from another source than that of this package: {_FIX}"
    return module, ""


def _is_current(module: Any) -> bool:
    """Return whether a module was built from this package's source, as far as that is there."""
    try:
        source = _SOURCE.read_bytes()
    except OSError:  # a program may be bundled without it
        return hasattr(module, "SOURCE")
    # A module of an earlier release has no checksum.
    return bool(getattr(module, "SOURCE", None) == crc32(source))
