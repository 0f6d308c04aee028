"""Reads workloads of TOML files, which describe fields, and of CSV files, which have the rows."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from hbase_orm.advise.lab.load.value_kinds import FieldValues, Kind
from hbase_orm.advise.lab.load.workloads import FileRows, Workload, workload_named
from hbase_orm.errors import ConfigurationError

_FORM: Final = '[fields.host] then kind = "zipf", distinct = 500; docs/lab.md has all keys'
_KEYS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "kind": str,
    "distinct": int,
    "exponent": (int, float),
    "first": int,
    "text": str,
    "late_s": (int, float),
    "choices": dict,
}
_KINDS: Final[tuple[str, ...]] = get_args(Kind)
_MOST_DISTINCT: Final = 50_000_000


def read_workload(name_or_path: str | Path) -> Workload:
    """Return the workload with a name, or that of a file that ends in .toml or .csv.

    Raises:
        ConfigurationError: There is no such workload or file; or the file is wrong, and the error
            names the line or the key.
    """
    path = Path(name_or_path)
    reader = {".toml": _toml, ".csv": _csv}.get(path.suffix.lower())
    if reader is None:
        return workload_named(str(name_or_path))
    try:
        return reader(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            "the file of the workload cannot be read",
            file=str(path),
            reason=str(error),
            fix="name a file in UTF-8 that exists",
        ) from error


def _toml(path: Path) -> Workload:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, "", f"it is no TOML: {error}") from error
    unknown = content.keys() - {"base", "fields"}
    if unknown:
        raise _wrong(path, min(unknown), "the known keys are base and fields")
    fields, name = content.get("fields", {}), content.get("base", "time-ordered")
    if not isinstance(fields, dict) or not isinstance(name, str):
        raise _wrong(path, "fields", "fields is a table, and base is the name of a workload")
    base = workload_named(name)
    values = {name: _field_values(path, name, given, base.usual) for name, given in fields.items()}
    summary = f"as {base.name}, but for {', '.join(values) or 'no field'}"
    return Workload(path.name, summary, values, base.usual, base.has_rising_times)


def _field_values(path: Path, name: str, given: object, usual: FieldValues) -> FieldValues:
    place = f"fields.{name}"
    if not isinstance(given, dict):
        raise _wrong(path, place, "a field has a table of keys")
    for key, value in given.items():
        kind = _KEYS.get(key)
        if kind is None:
            raise _wrong(path, f"{place}.{key}", f"the known keys are {', '.join(_KEYS)}")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise _wrong(path, f"{place}.{key}", f"the value {value!r} has another type")
    choices = _choices(path, place, given.get("choices", {}))
    values = replace(usual, **{**given, "choices": choices})
    _check_values(path, place, values)
    return values


def _choices(path: Path, place: str, given: Mapping[str, object]) -> tuple[tuple[str, float], ...]:
    for text, weight in given.items():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise _wrong(path, f"{place}.choices.{text}", "a weight is a positive number")
        if not 0 < weight < math.inf:
            raise _wrong(path, f"{place}.choices.{text}", "a weight is a positive number")
    return tuple((text, float(weight)) for text, weight in given.items())  # type: ignore[arg-type]  # checked above


def _check_values(path: Path, place: str, values: FieldValues) -> None:
    if values.kind not in _KINDS:
        raise _wrong(path, f"{place}.kind", f"kind is one of {', '.join(_KINDS)}")
    if not 1 <= values.distinct <= _MOST_DISTINCT:
        raise _wrong(path, f"{place}.distinct", f"distinct is from 1 to {_MOST_DISTINCT:,}")
    if not 0 < values.exponent <= 10:  # noqa: PLR2004 - with 10, one value has 99.9 % of the rows
        raise _wrong(path, f"{place}.exponent", "exponent is above 0, and at most 10")
    if values.late_s < 0 or values.first < 0:
        raise _wrong(path, place, "late_s and first are not negative")
    if values.text and "{}" not in values.text and values.distinct > 1:
        raise _wrong(path, f"{place}.text", "text has {} in the place of the number")


def _wrong(path: Path, key: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the file of the workload is wrong",
        file=str(path),
        key=key,
        reason=reason,
        fix=f"write {_FORM}",
    )


def _csv(path: Path) -> Workload:
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, strict=True)
        try:
            columns = _columns(path, lines)
        except csv.Error as error:
            raise _wrong_line(path, lines.line_num, str(error)) from error
    recorded = FileRows(path.name, columns)
    summary = f"the {len(recorded):,} rows of {path.name}, in their order"
    return Workload(path.name, summary, recorded=recorded)


def _columns(path: Path, lines: Any) -> dict[str, list[str]]:
    head: Sequence[str] = [name.strip() for name in next(lines, [])]
    if not head or len(set(head)) < len(head) or "" in head:
        raise _wrong_line(path, 1, "the first line has the names of the fields, each once")
    rows = list(_rows(path, lines, len(head)))
    if not rows:
        raise _wrong_line(path, 2, "the file has no rows")
    return {name: list(texts) for name, texts in zip(head, zip(*rows, strict=True), strict=True)}


def _rows(path: Path, lines: Any, width: int) -> Iterator[list[str]]:
    for row in lines:
        if len(row) != width:
            reason = f"the line has {len(row)} values, and the first line {width} names"
            raise _wrong_line(path, lines.line_num, reason)
        yield row


def _wrong_line(path: Path, line: int, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the CSV file of the workload is wrong",
        file=str(path),
        line=line,
        reason=reason,
        fix="correct the line; the first line has the names of fields, each other line one row",
    )
