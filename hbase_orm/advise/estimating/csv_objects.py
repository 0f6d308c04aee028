"""The objects of a CSV file, whose first line names the fields of a model.

What the model refuses is refused here, with the line: values of the wrong type, and rows that have
the row key of another.
"""

from __future__ import annotations

import csv
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from hbase_orm.errors import CodecError, ConfigurationError, RowKeyError, ValidationError
from hbase_orm.model import Model
from hbase_orm.schema.typed_values import typed_value

_MOST_CHARACTERS: Final = 1 << 28  # of a value; Python's own limit is 131,072


def csv_objects(model: type[Model], path: Path, rows: int) -> list[Model]:
    """Return the objects of the lines of a file, at most `rows`.

    Raises:
        ConfigurationError: The file cannot be read, lacks a field, or has a value that does not
            fit; the error names the line.
    """
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise ConfigurationError(
            "the sample cannot be read",
            file=str(path),
            reason=error.strerror,
            fix="name a CSV file that exists",
        ) from error
    most_before = csv.field_size_limit(_MOST_CHARACTERS)
    with file:
        lines = csv.reader(file, strict=True)
        try:
            return list(_objects(model, path, lines, rows))
        except UnicodeDecodeError as error:
            raise ConfigurationError(
                "the sample is not a text in UTF-8",
                file=str(path),
                reason=str(error),
                fix="save the file as UTF-8",
            ) from error
        except csv.Error as error:
            raise _wrong(path, lines.line_num, str(error)) from error
        finally:
            csv.field_size_limit(most_before)


def first_line(path: Path) -> list[str]:
    """Return the names in the first line of a file that was read before."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [name.strip() for name in next(csv.reader(file), [])]


def _objects(model: type[Model], path: Path, lines: Any, rows: int) -> Iterator[Model]:
    names = _names(model, path, next(lines, []))
    parameters = inspect.signature(model).parameters
    lines_of: dict[tuple[Any, ...], int] = {}
    for texts in lines:
        if len(lines_of) == rows:
            return
        line = lines.line_num
        if len(texts) != len(names):
            reason = f"the line has {len(texts)} values, and the first line {len(names)} names"
            raise _wrong(path, line, reason if texts else "the line is empty")
        pairs = zip(names, texts, strict=True)
        given = {name: text for name, text in pairs if name in parameters}
        try:
            obj = model(**_values(model, path, line, given))
            key = key_values(obj)
        except (CodecError, RowKeyError, ValidationError) as error:
            raise _wrong(path, line, str(error)) from error
        if key in lines_of:
            raise _wrong(path, line, f"the row key is that of line {lines_of[key]}, too")
        lines_of[key] = line
        yield obj
    if not lines_of:
        raise _wrong(path, 2, "the file has no rows")


def key_values(obj: Model) -> tuple[Any, ...]:
    """Return the values that tell an object's row from others.

    Raises:
        RowKeyError: They fit into no row key.
    """
    layout = obj.__schema__.layout
    values = {name: getattr(obj, name) for name in layout.arguments}
    if not layout.lookups:
        obj.encode_key(**values)
    return tuple(values.values())


def _names(model: type[Model], path: Path, head: Sequence[str]) -> list[str]:
    """Return the names in the first line, which has each required field once."""
    names = [name.strip() for name in head]
    parameters = inspect.signature(model).parameters
    lacking = [
        name
        for name, each in parameters.items()
        if each.default is inspect.Parameter.empty and name not in names
    ]
    if lacking:
        reason = f"the first line lacks the fields {', '.join(lacking)}: it has {', '.join(names)}"
        raise _wrong(path, 1, reason if any(names) else f"{reason}no names")
    repeated = sorted({name for name in names if name in parameters and names.count(name) > 1})
    if repeated:
        raise _wrong(path, 1, f"the first line has {', '.join(repeated)} more than once")
    return names


def _values(model: type[Model], path: Path, line: int, texts: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    parameters = inspect.signature(model).parameters
    for name, text in texts.items():
        if not text and parameters[name].default is not inspect.Parameter.empty:
            continue
        if not text:
            raise _wrong(path, line, f"{name} has no value, and needs one")
        codec = model.__schema__.codecs[name]
        try:
            values[name] = typed_value(codec.python_type, text)
        except CodecError as error:
            expected = error.details["expected"] or "another type"
            raise _wrong(path, line, f"{name} is {text!r}, and not {expected}") from error
        try:
            codec.encode(values[name])
        except CodecError as error:
            raise _wrong(path, line, f"{name} is {text!r}: {error.text}") from error
    return values


def _wrong(path: Path, line: int, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the CSV file of the sample is wrong",
        file=str(path),
        line=line,
        reason=reason,
        fix="write the names of the model's fields into the first line, separated by commas, and a "
        "row into each other line",
    )
