"""The sampled rows of a load: which rows stand for the others, and the values of their fields.

If the load has more rows than the sample, each sampled row stands for as many consecutive rows, of
which it is one at random. The values of a field depend on the seed and the field's name only: the
same rows are written to every design.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.value_kinds import (
    FieldValues,
    Numbers,
    chosen_numbers,
    count_of_values,
    rising_maker,
    value_maker,
)
from hbase_orm.advise.lab.load.workloads import FileRows, Workload
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, ConfigurationError
from hbase_orm.schema import TableSchema
from hbase_orm.schema.typed_values import typed_value

DEFAULT_SAMPLE: Final = 100_000
"""The most rows whose keys are computed: 16 equal regions then have an error of about 1 %."""

_MICROS: Final = 1_000_000
_TABLE_OF_VALUES: Final = 1 << 20
"""Up to so many different values are made beforehand, and then only chosen."""


@dataclass(frozen=True, slots=True)
class NeededField:
    """A field whose values a design needs.

    Attributes:
        name: The name of the field.
        codec: The codec of its values.
        schema: The schema of the model.
        is_nullable: Whether rows may have no value.
    """

    name: str
    codec: Codec[Any]
    schema: TableSchema
    is_nullable: bool = False


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The sampled rows of a load, in the order in which they are written.

    Attributes:
        shape: The load.
        workload: What the rows hold.
        most: The largest number of sampled rows.
        seed: The seed of everything random.
    """

    shape: LoadShape
    workload: Workload
    most: int = DEFAULT_SAMPLE
    seed: int = 1
    _made: dict[tuple[str, type], list[Any]] = field(default_factory=dict[Any, Any], repr=False)

    def __len__(self) -> int:
        """Return the number of sampled rows."""
        recorded = self.workload.recorded
        limit = self.most if recorded is None else min(self.most, len(recorded))
        return min(limit, self.shape.rows)

    @property
    def scale(self) -> float:
        """How many rows each sampled row stands for, 1 or more."""
        return self.shape.rows / len(self)

    @property
    def is_exact(self) -> bool:
        """Whether every row of the load is sampled."""
        return len(self) == self.shape.rows

    @cached_property
    def row_numbers(self) -> Numbers:
        """The number of each sampled row in the load, from 0."""
        places = np.arange(len(self), dtype=np.float64)
        if not self.is_exact:
            places += self._random("rows").random(len(self))
        return np.minimum((places * self.scale).astype(np.int64), self.shape.rows - 1)

    @cached_property
    def written_at_s(self) -> npt.NDArray[np.float64]:
        """The seconds from the start of the load to each write."""
        within = self._random("arrival").random(len(self))
        return (self.row_numbers + within) / self.shape.rows * self.shape.seconds

    def values(self, needed: NeededField) -> list[Any]:
        """Return the value of a field in each sampled row.

        Raises:
            ConfigurationError: Values cannot be made, or a value in the file is missing or wrong.
        """
        key = (needed.name, needed.codec.python_type)
        if key not in self._made:
            self._made[key] = self._values(needed)
        return self._made[key]

    def _values(self, needed: NeededField) -> list[Any]:
        if self.workload.recorded is not None:
            return self._recorded_values(self.workload.recorded, needed)
        name, codec = needed.name, needed.codec
        values = self.workload.values_of(name, codec, needed.schema)
        if values.kind == "rising" and not values.choices:
            return self._rising_values(name, codec, values)
        if values.choices:
            values = _typed_choices(values, needed)
        distinct = count_of_values(values, codec, self.shape.rows)
        numbers = chosen_numbers(values, self.row_numbers, distinct, self._random(name))
        make = value_maker(name, values, codec)
        return _made_values(make, numbers, distinct)

    def _rising_values(self, name: str, codec: Codec[Any], values: FieldValues) -> list[Any]:
        at_s = self.written_at_s
        if values.late_s:
            at_s = at_s - self._random(name).random(len(self)) * values.late_s
        micros = (at_s * _MICROS).astype(np.int64)
        make = rising_maker(name, codec)
        return list(map(make, self.row_numbers.tolist(), micros.tolist()))

    def _recorded_values(self, recorded: FileRows, needed: NeededField) -> list[Any]:
        texts = recorded.columns.get(needed.name)
        if texts is None:
            raise ConfigurationError(
                "the CSV file has no column for a field",
                file=recorded.source,
                field=needed.name,
                model=needed.schema.model_name,
                columns=tuple(recorded.columns),
                fix="add a column with this name; the first line has the names",
            )
        places = (self.row_numbers * len(recorded) // max(self.shape.rows, len(recorded))).tolist()
        return [_recorded_value(recorded, needed, texts, place) for place in places]

    def _random(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, crc32(name.encode())])


def _made_values(make: Callable[[int], Any], numbers: Numbers, distinct: int) -> list[Any]:
    if distinct > min(_TABLE_OF_VALUES, len(numbers)):
        return list(map(make, numbers.tolist()))
    made = list(map(make, range(distinct)))
    return list(map(made.__getitem__, numbers.tolist()))


def _typed_choices(values: FieldValues, needed: NeededField) -> FieldValues:
    typed = tuple((_typed(needed, text), weight) for text, weight in values.choices)
    return FieldValues(values.kind, choices=typed)


def _typed(needed: NeededField, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    try:
        return typed_value(needed.codec.python_type, given)
    except CodecError as error:
        raise ConfigurationError(
            "a choice of the workload is not a value of the field",
            field=needed.name,
            choice=given,
            expected=error.details["expected"],
            fix="write a value of the field's type",
        ) from error


def _recorded_value(
    recorded: FileRows, needed: NeededField, texts: Sequence[str], place: int
) -> Any:
    text = texts[place]
    if not text and needed.is_nullable:
        return None
    try:
        if text:
            return typed_value(needed.codec.python_type, text)
        reason = "the value is missing"
    except CodecError as error:
        reason = f"expected {error.details['expected'] or 'another type'}"
    raise ConfigurationError(
        f"the CSV file has {'a wrong' if text else 'no'} value for a field",
        file=recorded.source,
        line=recorded.first_line + place,
        field=needed.name,
        got=text,
        reason=reason,
        fix=f"{'correct the value' if text else 'fill the gap'}, or leave the line out",
    )
