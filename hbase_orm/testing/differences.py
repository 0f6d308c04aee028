"""What pytest prints for two objects of a model that are not equal: the fields that differ."""

from __future__ import annotations

import reprlib
from typing import Any, Final

from hbase_orm.model import Model

_MOST_CHARACTERS: Final = 120
_SHOWN: Final = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = _MOST_CHARACTERS
_NOT_LOADED: Final = "(not loaded)"


def differences(left: object, right: object) -> list[str] | None:
    """Return the lines for pytest; None if the values are not objects of one model."""
    if not isinstance(left, Model) or type(left) is not type(right) or not isinstance(right, Model):
        return None
    ours, theirs = left.to_dict(), right.to_dict()
    names = [*ours, *(name for name in theirs if name not in ours)]
    lines = [f"{type(left).__name__} objects differ"]
    equal = 0
    for name in names:
        if name in ours and name in theirs and ours[name] == theirs[name]:
            equal += 1
        else:
            lines.append(f"  {name}: {_text(ours, name)} != {_text(theirs, name)}")
    lines.append(f"  {equal} other field{'' if equal == 1 else 's'} equal")
    return lines


def _text(values: dict[str, Any], name: str) -> str:
    return _SHOWN.repr(values[name]) if name in values else _NOT_LOADED
