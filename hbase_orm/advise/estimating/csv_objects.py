"""The objects of a CSV file, whose first line names the fields of a model."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hbase_orm.errors import CodecError, ConfigurationError
from hbase_orm.model import Model
from hbase_orm.schema.typed_values import typed_value


def csv_arguments(model: type[Model], path: Path, rows: int) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a model's constructor for each line of a file, at most `rows`.

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
    with file:
        lines = csv.reader(file, strict=True)
        try:
            yield from _objects(model, path, lines, rows)
        except (csv.Error, UnicodeDecodeError) as error:
            raise _wrong(path, lines.line_num, str(error)) from error


def first_line(path: Path) -> list[str]:
    """Return the names in the first line of a file that was read before."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [name.strip() for name in next(csv.reader(file), [])]


def _objects(model: type[Model], path: Path, lines: Any, rows: int) -> Iterator[dict[str, Any]]:
    names = [name.strip() for name in next(lines, [])]
    parameters = inspect.signature(model).parameters
    lacking = [
        name
        for name, each in parameters.items()
        if each.default is inspect.Parameter.empty and name not in names
    ]
    if lacking:
        raise _wrong(path, 1, f"the first line lacks the fields {', '.join(lacking)}")
    count = 0
    for texts in lines:
        if count == rows:
            return
        if len(texts) != len(names):
            reason = f"the line has {len(texts)} values, and the first line {len(names)} names"
            raise _wrong(path, lines.line_num, reason)
        pairs = zip(names, texts, strict=True)
        given = {name: text for name, text in pairs if name in parameters}
        yield _values(model, path, lines.line_num, given)
        count += 1
    if not count:
        raise _wrong(path, 2, "the file has no rows")


def _values(model: type[Model], path: Path, line: int, texts: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    parameters = inspect.signature(model).parameters
    for name, text in texts.items():
        has_default = parameters[name].default is not inspect.Parameter.empty
        if not text and has_default:
            continue
        codec = model.__schema__.codecs[name]
        try:
            values[name] = typed_value(codec.python_type, text) if text else None
        except CodecError as error:
            expected = error.details["expected"] or "another type"
            raise _wrong(path, line, f"{name} is {text!r}, and not {expected}") from error
        if not text:
            raise _wrong(path, line, f"{name} has no value, and needs one")
    return values


def _wrong(path: Path, line: int, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the CSV file of the sample is wrong",
        file=str(path),
        line=line,
        reason=reason,
        fix="write the names of the model's fields into the first line, and rows into the others",
    )
