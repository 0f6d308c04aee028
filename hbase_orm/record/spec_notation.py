"""Shows codecs and row keys of a record in the notation of a declaration.

A record may have specifications of a codec or component that are damaged, or that this version does
not know. They are shown too: no function here raises an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hbase_orm.record.specifications import Spec

_FACTORIES: Final = frozenset(
    {
        *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float64"),
        *("text", "raw", "digits", "decimal", "uuid", "ipv4", "ipv6", "json", "msgpack"),
        *("millis", "micros", "seconds", "strftime", "millis_of_day", "minute_of_day"),
    }
)
"""The codecs with a function of their own: `codecs.uint32()`."""

_COMPONENTS: Final[Mapping[str, tuple[str, str]]] = {
    "SaltOf": ("Salt", "numbers"),
    "RandomBucket": ("RandomSalt", "numbers"),
    "BucketOf": ("Bucket", "numbers"),
    "HashOf": ("HashPrefix", "width_bytes"),
    "PeriodOf": ("Period", "unit"),
    "OffsetOf": ("Offset", "unit"),
    "NumberOfName": ("Substitute", ""),
    "Calculated": ("Computed", ""),
    "AnyRecordType": ("RecordType", ""),
    "Fixed": ("RecordType", "value"),
}
"""For each derivation, the component that declares it and its positional argument."""

# What every declaration has unless it names something else.
_USUAL: Final[Mapping[str, object]] = {
    "pad": "00",
    "side": "right",
    "digit_reversed": False,
    "every": 1,
    "hash_name": "phoenix",
    "algorithm": "md5",
    "form": "raw",
    "desc": False,
}
_BYTES: Final = frozenset({"pad", "separator"})
_NAMES: Final[Mapping[str, str]] = {"hash_name": "hash"}
# These follow from the other arguments and from the place in the key.
_IMPLIED: Final = frozenset(
    {"field", "derived", "of", "codec", "ends", "end", "resolution_micros", "python_type"}
)
_LONGEST: Final = 60


def codec_text(spec: Mapping[str, Any]) -> str:
    """Return a codec as it is declared, such as `codecs.uint32(desc=True)`."""
    name = spec.get("codec")
    if name == "code":
        return _call("codecs.code", [_codes(spec.get("codes")), *_options(spec, {"codes"})])
    if name == "enum":
        return _call("codecs.enum", ["...", f"values={_nested(spec.get('values'))}"])
    packed = spec.get("packed")
    if isinstance(packed, dict):
        version = packed.get("version")
        shown = [str(packed.get("type")), *([] if version == 1 else [f"version={version}"])]
        return _call(f"codecs.{name}", shown)
    options = _options(spec, set())
    if isinstance(name, str) and name in _FACTORIES:
        return _call(f"codecs.{name}", options)
    return _call("codecs.get", [_plain(name), *options])


def part_text(part: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return one part of a row key as it is declared, without its codec: `host`, or `Salt(4)`."""
    kind = part.get("derived")
    if kind is None:
        return _field(part, names)
    component, positional = _COMPONENTS.get(str(kind), (str(kind), ""))
    arguments = [_plain(part[positional])] if positional in part else []
    inputs = part.get("of")
    if isinstance(inputs, list):
        fields = [_field(each, names) if isinstance(each, dict) else "?" for each in inputs]
        arguments.append(f"of={fields[0]}" if len(fields) == 1 else f"of=[{', '.join(fields)}]")
    return _call(component, [*arguments, *_options(part, {"width_bytes", "desc", positional})])


def key_text(parts: Sequence[Spec], names: Sequence[str]) -> str:
    """Return a row key as it is declared: `rowkey(Salt(4), host, at)`.

    Args:
        parts: The specifications of the parts.
        names: The names of the key fields, in the order in which the parts mention them.
    """
    return _call("rowkey", [part_text(part, names) for part in parts])


def exact_text(part: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return one part of a row key with its codec: `host: codecs.text()`, or `Salt(4)`."""
    shown = part_text(part, names)
    if part.get("derived") is None:
        return f"{shown}: {codec_text(part)}"
    if part.get("codec") == "raw":  # the bytes of a salt or of a hash
        return shown
    kept = {"codec", "desc", "width_bytes", "digit_reversed", "separator"}
    codec = {name: value for name, value in part.items() if name in kept}
    return f"{shown[:-1]}, codec={codec_text(codec)})"


def raw_text(part: Mapping[str, Any]) -> str:
    """Return the whole specification of one part, for parts whose declarations look the same."""
    return json.dumps(part, default=str)


def _field(part: Mapping[str, Any], names: Sequence[str]) -> str:
    number = part.get("field")
    if part.get("derived") is not None:
        return part_text(part, names)
    if type(number) is int and 0 <= number < len(names):
        return names[number]
    return "?"


def _nested(spec: object) -> str:
    return codec_text(spec) if isinstance(spec, dict) else _plain(spec)


def _codes(codes: object) -> str:
    if not isinstance(codes, dict):
        return _plain(codes)
    return f"{{{', '.join(f'{value}: {_data(data)}' for value, data in codes.items())}}}"


def _options(spec: Mapping[str, Any], shown: set[str]) -> list[str]:
    """Return `name=value` for each item that is not a default, unknown, implied or in `shown`."""
    return [
        f"{_NAMES.get(name, name)}={_data(value) if name in _BYTES else _plain(value)}"
        for name, value in spec.items()
        if value is not None
        and name not in _IMPLIED | shown
        and (name not in _USUAL or _USUAL[name] != value)
    ]


def _data(value: object) -> str:
    """Return a bytes literal for the hexadecimal text by which a specification holds bytes."""
    try:
        return repr(bytes.fromhex(value)) if isinstance(value, str) else _plain(value)
    except ValueError:
        return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, dict) and "codec" in value:
        return codec_text(value)
    text = json.dumps(value) if isinstance(value, str | dict | list) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _call(name: str, arguments: Sequence[str]) -> str:
    return f"{name}({', '.join(arguments)})"
