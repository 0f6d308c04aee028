"""Makes the models of a table from its record.

The models encode the same keys, cells and index entries as the original classes, and decode what
these wrote. Enum members are read as their values, and packed values of the program's own classes
as their bytes. What records do not hold is left out: validators, hooks, methods, `onupdate`,
related objects, and columns of the base of record types, which each type declares itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.errors import DeclarationError
from hbase_orm.model import Model
from hbase_orm.record.declaration import NO_TYPE, Declaration
from hbase_orm.record.rebuilding.class_bodies import RecordedClass, RecordedFamily
from hbase_orm.record.rebuilding.class_making import ClassMaker
from hbase_orm.record.rebuilding.supplied import Supplied
from hbase_orm.schema import Family

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def rebuilt_models(
    declaration: Declaration, table: str, *, functions: Mapping[str, Any] = _NOTHING
) -> dict[str, type[Model]]:
    """Return the models of a table by name, with the bases of record types.

    Args:
        declaration: The declaration in the table's record.
        table: The name of the table; for a table for each period the pattern of their names.
        functions: What records cannot hold, each by one of these names:

            - "function(field, ...)", the name of a computed part of the row key: its function,
            - "values of function(field, ...)": the function that returns its possible values,
            - "default of Model.field": the function that makes the field's default,
            - "codec of Model.field": a codec that is not the library's own, or that of packed
              values of a class; without it these are read as bytes.

    Raises:
        DeclarationError: The record lacks something that is not in `functions`, or describes what
            this version of the library does not have.
        RecordError: The record is damaged.
    """
    supplied = Supplied(table, functions)
    families = {name: RecordedFamily(each) for name, each in declaration.families.items()}
    maker = ClassMaker(declaration, table)
    models: dict[str, type[Model]] = {}
    for group in _groups(_classes(declaration, families, supplied)):
        for name, model in maker.classes(group):
            if name in models:
                raise DeclarationError(
                    "two models of the record have the same name", table=table, model=name
                )
            models[name] = model
    return models


def _classes(
    declaration: Declaration, families: Mapping[bytes, Family], supplied: Supplied
) -> Iterator[RecordedClass]:
    for rows in declaration.rows:
        for name, model in rows.models.items():
            yield RecordedClass(name, rows, model, families, supplied)


def _groups(classes: Iterator[RecordedClass]) -> list[list[RecordedClass]]:
    """Return the classes in groups: record types with the same base, any other class by itself."""
    groups: dict[str, list[RecordedClass]] = {}
    for each in classes:
        is_type = each.rows.record_type != NO_TYPE
        groups.setdefault(f"types {each.options.base}" if is_type else each.name, []).append(each)
    return list(groups.values())
