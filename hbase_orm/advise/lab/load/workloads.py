"""Workloads: what the rows of a load hold, and in which order they are written.

`uniform`, `zipf` and `time-ordered` need no file. `workload_files` reads workloads of TOML files,
and rows of CSV files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.advise.lab.load.value_kinds import FieldValues
from hbase_orm.advise.rising import is_rising_field
from hbase_orm.codecs import Codec
from hbase_orm.errors import ConfigurationError
from hbase_orm.schema import TableSchema

_NO_FIELDS: Final[Mapping[str, FieldValues]] = MappingProxyType({})
_MANY: Final = 1 << 31
_TIMES: Final = (datetime, date)
_IDS: Final = frozenset({"UUID", "bytes"})


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a file, in the order in which they are written.

    Attributes:
        source: The name of the file.
        columns: The texts of each field by its name; each list has one text for each row.
        first_line: The number of the line that has the first row.
    """

    source: str
    columns: Mapping[str, Sequence[str]]
    first_line: int = 2

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True, slots=True)
class Workload:
    """What the rows of a load hold.

    Attributes:
        name: The name, for reports.
        summary: A description in one sentence.
        fields: How the values of fields are chosen, by the names of the fields.
        usual: How the values of all other fields are chosen.
        has_rising_times: Whether times and sequences rise in the order of the writes, unless
            `fields` says otherwise.
        recorded: The rows of a file, or None.
    """

    name: str
    summary: str
    fields: Mapping[str, FieldValues] = field(default_factory=lambda: _NO_FIELDS)
    usual: FieldValues = field(default_factory=FieldValues)
    has_rising_times: bool = True
    recorded: FileRows | None = None

    def values_of(self, name: str, codec: Codec[Any], schema: TableSchema) -> FieldValues:
        """Return how the values of a field are chosen."""
        given = self.fields.get(name)
        if given is not None:
            return given
        is_time = issubclass(codec.python_type, _TIMES)
        if is_time or is_rising_field(name, codec, schema):
            return FieldValues("rising") if self.has_rising_times else FieldValues(distinct=_MANY)
        if codec.python_type.__name__ in _IDS or _is_unique(name, schema):
            return FieldValues("unique")
        return self.usual


def _is_unique(name: str, schema: TableSchema) -> bool:
    """Return whether a unique index has this field only, so that no two rows have one value."""
    names = ([each.name for each in index.columns] for index in schema.indexes if index.unique)
    return [name] in names


UNIFORM: Final = Workload(
    "uniform",
    "every field is random, times too: a backfill in no order",
    has_rising_times=False,
)
ZIPF: Final = Workload(
    "zipf",
    "rows are written as time goes on; few names have most of the rows (Zipf, exponent 1.1)",
    usual=FieldValues("zipf"),
)
TIME_ORDERED: Final = Workload(
    "time-ordered",
    "rows are written as time goes on; all names are equally frequent",
)

WORKLOADS: Final[Mapping[str, Workload]] = MappingProxyType(
    {each.name: each for each in (TIME_ORDERED, UNIFORM, ZIPF)}
)
"""The workloads that need no file, by name."""


def workload_named(name: str) -> Workload:
    """Return the workload with a name.

    Raises:
        ConfigurationError: There is no such workload.
    """
    if name not in WORKLOADS:
        raise ConfigurationError(
            "there is no workload with this name",
            workload=name,
            known=tuple(WORKLOADS),
            fix="name one of them, or a file that ends in .toml or .csv",
        )
    return WORKLOADS[name]
