"""Short texts that show the row keys and codecs of a record to users."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.record.declaration import RecordedModel, RecordedRows
from hbase_orm.record.specifications import Spec
from hbase_orm.rowkey.notation import to_string_binary

_HIDDEN: Final = frozenset(
    {"codec", "codes", "derived", "desc", "end", "ends", "field", "of", "packed", "separator"}
    | {"value", "values"}
)
# The word for a derived part, and its parameters that are shown without their names.
_DERIVED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "SaltOf": ("salt", ("numbers",)),
        "RandomBucket": ("random salt", ("numbers",)),
        "BucketOf": ("bucket", ("numbers",)),
        "HashOf": ("hash", ("width_bytes", "algorithm")),
        "PeriodOf": ("period", ("unit",)),
        "OffsetOf": ("offset", ("unit",)),
        "NumberOfName": ("number", ("dictionary",)),
        "Fixed": ("type", ()),
        "AnyRecordType": ("type", ()),
        "Calculated": ("computed", ()),
    }
)
# What these derivations store as a matter of course.
_USUAL: Final = MappingProxyType({"hash_name": "phoenix", "form": "raw", "every": 1})


def codec_notation(codec: Spec) -> str:
    """Return a short text that shows a codec and its parameters.

    Examples:
        >>> codec_notation({"codec": "millis", "desc": True})
        'millis desc'
        >>> codec_notation({"codec": "digits", "width_bytes": 5})
        'digits(width_bytes=5)'
        >>> codec_notation({"codec": "enum", "values": {"codec": "text", "separator": None}})
        'enum of text'
    """
    inner = codec.get("values", codec.get("value"))
    shown = f"{codec['codec']}{_parameters(codec)}"
    if isinstance(codec.get("packed"), dict):
        shown += f" of {codec['packed'].get('type')}"
    shown += f" of {codec_notation(inner)}" if isinstance(inner, dict) else ""
    return f"{shown} desc" if codec.get("desc") else shown


def _parameters(spec: Spec, named: Collection[str] = ()) -> str:
    """Return the parameters in parentheses, without usual values and those in `named`."""
    shown = [
        f"{name}={_shown(value)}"
        for name, value in spec.items()
        if name not in _HIDDEN | set(named) and not _is_usual(name, value)
    ]
    if "codes" in spec:
        shown += [f"{value}={data}" for value, data in spec["codes"].items()]
    return f"({', '.join(shown)})" if shown else ""


def _is_usual(name: str, value: object) -> bool:
    return value is None or value is False or _USUAL.get(name) == value


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return codec_notation(value) if "codec" in value else str(value)
    return "/".join(map(_shown, value)) if isinstance(value, list) else str(value)


def key_notation(rows: RecordedRows) -> str:
    """Return a text that shows a row key: each part with its codec, in square brackets.

    Parts are shown under the field names of the first recorded model.
    """
    model = next(iter(rows.models.values()), RecordedModel((), {}))
    return "".join(f"[{_part(part, model.key)}]" for part in rows.key)


def _part(part: Spec, names: Sequence[str]) -> str:
    if "derived" not in part:
        return f"{_name(part, names)} {codec_notation(part)}{_ending(part)}"
    word, shown = _DERIVED.get(part["derived"], (str(part["derived"]), ()))
    if part["derived"] == "Fixed":
        word = f"{word} {_fixed(part['value'])}"
    words = [word, *(_shown(part[name]) for name in shown if part.get(name) is not None)]
    inputs = ", ".join(dict.fromkeys(_inputs(part.get("of", ()), names)))
    own = _parameters(part, {*shown, "width_bytes"})
    return " ".join(words) + own + (f" of {inputs}" if inputs else "")


def _fixed(value: str) -> str:
    """Return a record type as text; `value` has its bytes as hexadecimal digits."""
    try:
        return to_string_binary(bytes.fromhex(value))
    except ValueError:
        return value


def _name(part: Spec, names: Sequence[str]) -> str:
    number = part.get("field", len(names))
    return names[number] if number < len(names) else "?"


def _ending(part: Spec) -> str:
    """Return " until" and the separator of a part; empty if no separator is declared."""
    end = bytes.fromhex(part.get("end", ""))
    return f" until {to_string_binary(end)}" if end and part.get("ends") != "escaped" else ""


def _inputs(parts: Iterable[Spec], names: Sequence[str]) -> Iterable[str]:
    for part in parts:
        if "derived" in part:
            yield from _inputs(part.get("of", ()), names)
        else:
            yield _name(part, names)
