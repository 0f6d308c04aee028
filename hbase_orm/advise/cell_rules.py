"""Rules about large values, where a declaration or samples of objects tell their size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hbase_orm.advise.remarks import LintRule, LintTarget, Remark
from hbase_orm.advise.sizes import bytes_text
from hbase_orm.ops import MAX_CELL_BYTES, FamilyDescriptor
from hbase_orm.schema import ColumnSchema

MOB_BYTES: Final = 102_400
_FETCH_ROWS: Final = 1000
_MAX_LENGTH: Final = re.compile(r"\bmax_length\((\d+)\)")
_GUIDE: Final = "HBase Reference Guide"


@dataclass(frozen=True, slots=True)
class _Size:
    """The largest known size of a column's values, and how it is known."""

    column: ColumnSchema
    family: FamilyDescriptor
    size_bytes: int
    known_by: str


def _sizes(target: LintTarget) -> Iterator[_Size]:
    families = {family.name: family for family in target.schema.families}
    for column in target.schema.columns:
        family = families.get(column.column.partition(b":")[0])
        if family is None:
            continue
        sizes = [_declared(target, column), _sampled(target, column)]
        size_bytes, known_by = max(sizes)
        yield _Size(column, family, size_bytes, known_by)


def _declared(target: LintTarget, column: ColumnSchema) -> tuple[int, str]:
    """Return the length that a validator allows; 0 if none does, or if it counts items."""
    validate = getattr(target.schema.fields.get(column.name), "validate", None)
    if column.codec.python_type not in {str, bytes} or validate is None:
        return 0, ""
    lengths = [int(each) for each in _MAX_LENGTH.findall(repr(validate))]
    return (min(lengths), "max_length allows") if lengths else (0, "")


def _sampled(target: LintTarget, column: ColumnSchema) -> tuple[int, str]:
    loaded = [vars(obj).get(column.name) for obj in target.samples]
    sizes = [len(column.codec.encode(value)) for value in loaded if value is not None]
    return max(sizes, default=0), f"{len(sizes)} samples have up to"


def _large(target: LintTarget) -> Iterator[Remark]:
    for size in _sizes(target):
        if size.size_bytes > MAX_CELL_BYTES:
            name, shown = size.column.name, bytes_text(size.size_bytes)
            yield Remark(
                name,
                f"{size.known_by} {shown} in {name}",
                f"one value has {size.size_bytes / MAX_CELL_BYTES:.1f} times the 10 MiB that a "
                "cell may have with its key (hbase.server.keyvalue.maxsize): the put is refused",
                f"store the value in files or an object store, and its address here: {name}_url: "
                "Mapped[str] = column(d)",
            )


def _without_mob(target: LintTarget) -> Iterator[Remark]:
    for size in _sizes(target):
        if MOB_BYTES <= size.size_bytes <= MAX_CELL_BYTES and not size.family.mob_enabled:
            name, family = size.column.name, size.family.name.decode()
            yield Remark(
                name,
                f"{size.known_by} {bytes_text(size.size_bytes)} in {name}, and family {family} has "
                "no MOB files",
                "each compaction writes the values again: "
                f"{bytes_text(size.size_bytes * target.rows)} for {target.rows:,} rows of this "
                "size, several times in a table's life",
                f"{family}_large = Family(mob_enabled=True); {name} = column({family}_large, "
                "deferred=True)",
            )


def _not_deferred(target: LintTarget) -> Iterator[Remark]:
    for size in _sizes(target):
        is_mob = size.family.mob_enabled and size.column.codec.width_bytes is None
        is_large = is_mob or size.size_bytes >= MOB_BYTES
        if not is_large or size.column.deferred or size.size_bytes > MAX_CELL_BYTES:
            continue
        each = max(size.size_bytes, size.family.mob_threshold_bytes if is_mob else 0)
        name = size.column.name
        known = (
            f"{size.known_by} {bytes_text(size.size_bytes)}"
            if size.size_bytes
            else (
                f"family {size.family.name.decode()} is for values of {bytes_text(each)} and more"
            )
        )
        yield Remark(
            name,
            f"{name} is read with each object, though {known}",
            f"{_FETCH_ROWS:,} objects bring {bytes_text(each * _FETCH_ROWS)} with them, whether "
            f"{name} is used or not",
            f"{name} = column({size.family.name.decode()}, deferred=True)",
        )


CELL_RULES: Final = (
    LintRule(
        "cell-large",
        "warning",
        "values of more than 10 MiB",
        "a value is read, sent and written as a whole",
        f"{_GUIDE}: Supported Datatypes; hbase.server.keyvalue.maxsize",
        _large,
        of_table=False,
    ),
    LintRule(
        "cell-without-mob",
        "note",
        "values from 100 kB on, in a family without MOB files",
        "HBase is good at values of up to 100 kB; MOB files keep larger ones out of compactions",
        f"{_GUIDE}: Storing Medium-sized Objects (MOB)",
        _without_mob,
        of_table=False,
    ),
    LintRule(
        "column-not-deferred",
        "warning",
        "large values that are read with every object",
        "a read of objects fetches all columns that are not deferred",
        "docs/models.md: deferred columns",
        _not_deferred,
        of_table=False,
    ),
)
"""The rules of this module."""
