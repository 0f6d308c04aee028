"""Completes records of version 1, in which members were left out.

Version 1 left out members with their usual value, and members were added to it later. A missing
member of the first kind gets the usual value. One of the second kind gets null, which means that
the value is unknown: an earlier library wrote the same bytes for every value. What has another form
than version 1 is left as it is, so that the decoder refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.record.declared_options import NO_OPTIONS

FIRST_VERSION: Final = 1

_FIXED_TEXT: Final = ("width_bytes", "pad", "side")
_PACKED_CODECS: Final = frozenset({"json", "msgpack"})
_SYNTHETIC: Final = frozenset({"changing"})
"""A codec that no class has: migrations write it."""

_DIVISIBLE_UNITS: Final = frozenset({"minute", "hour"})
_INDEX: Final[Mapping[str, Any]] = MappingProxyType(
    {"include": [], "where": [], "salt": 0, "unique": False, "covering": False, "nulls": False}
)


def completed(content: Any) -> Any:
    """Return the JSON of a record of version 1 as that of version 2, except for its number."""
    return _with(content, current=_declaration, next=_declaration)


def _with(content: Any, **edits: Callable[[Any], Any]) -> Any:
    """Return a JSON object with edited members; anything else, and missing members, stay."""
    if not isinstance(content, dict):
        return content
    return content | {name: edit(content[name]) for name, edit in edits.items() if name in content}


def _filled(content: Any, members: Mapping[str, Any]) -> Any:
    return {**members, **content} if isinstance(content, dict) else content


def _each(edit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that edits the items of an array, or the members of an object."""

    def edited(content: Any) -> Any:
        if isinstance(content, list):
            return [edit(each) for each in content]
        if isinstance(content, dict):
            return {name: edit(each) for name, each in content.items()}
        return content

    return edited


def _declaration(content: Any) -> Any:
    return _filled(_with(content, rows=_each(_rows), indexes=_each(_index)), {"table": None})


def _rows(content: Any) -> Any:
    return _with(content, key=_each(_spec), columns=_each(_column), models=_each(_model))


def _column(content: Any) -> Any:
    return _filled(_with(content, codec=_spec, names=_spec), {"names": None})


def _model(content: Any) -> Any:
    options = _with(content, options=lambda options: _filled(options, NO_OPTIONS))
    return _filled(options, {"later keys": [], "options": None})


def _index(content: Any) -> Any:
    return _filled(_with(content, spec=_index_spec), {"spec": None})


def _index_spec(content: Any) -> Any:
    return _filled(_with(content, of=_each(lambda of: _with(of, codec=_spec))), _INDEX)


def _spec(content: Any) -> Any:
    """Complete a codec or a part of a row key, with all within it."""
    if not isinstance(content, dict) or not isinstance(content.get("codec"), str):
        return content
    spec = {
        name: _each(_spec)(each) if isinstance(each, list) else _spec(each)
        for name, each in content.items()
    }
    return _usual(spec) | spec


def _usual(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return all members that version 1 may have left out of a specification."""
    name = spec["codec"]
    members: dict[str, Any] = {} if name in _SYNTHETIC else {"desc": False}
    if "ends" in spec:
        members["end"] = ""
    if spec.get("derived") in ("PeriodOf", "OffsetOf"):
        members["every"] = None if spec.get("unit") in _DIVISIBLE_UNITS else 1
    if name == "raw":
        members["width_bytes"] = None
    if name == "text":
        members["digit_reversed"] = None
        # The width and what fills it belong together; such text has no separator.
        is_fixed = any(each in spec for each in _FIXED_TEXT)
        members |= {"separator": None} if is_fixed else dict.fromkeys(_FIXED_TEXT)
    if name in _PACKED_CODECS:
        members["packed"] = None
    return members
