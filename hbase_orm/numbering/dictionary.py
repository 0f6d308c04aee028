r"""A dictionary: a table that holds one number for each name (a text), and the name of each number.

The design follows OpenTSDB's `tsdb-uid`: a counter, one row for each name and one row for each
number. The cells of names and numbers are written once and never changed, and number 0 is never
used. Unlike in OpenTSDB, each dictionary has its own table. All cells are in column `d:v`.

| row key                               | value                                             |
| ------------------------------------- | ------------------------------------------------- |
| `c`                                   | the counter: the highest reserved number, 8 bytes |
| `n` and the name in UTF-8             | the name's number, 8 bytes big-endian, 1 or more  |
| `r` and a number, 8 bytes big-endian  | the row key of the name that it was reserved for  |

The name's row decides which number the name has. A name gets its number in three steps:

1. The counter is incremented. From here on the number belongs to this process only.
2. The number's row is written if it does not exist. If it exists, the number is in use, because the
    counter was lost or set back. The number is then skipped.
3. The name's row is written if it does not exist. The first process that writes it decides the
    name's number. Every other process reads that number, and does not use the number that it
    reserved.

A number stays unused in three cases: a process dies between two steps, the answer to an increment
is lost, or another process is first in step 3. After step 2 the number's row remains, but it is
ignored: `names_of` returns a name only if the name's row has the number too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from hbase_orm.errors import (
    CodecError,
    ConfigurationError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    RetryableError,
    RowKeyError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.numbering.counters import MAX_NUMBER, take
from hbase_orm.numbering.create_tables import VALUE_COLUMN, descriptor, ensure_table
from hbase_orm.numbering.retries import RETRIES
from hbase_orm.ops import (
    CheckAndMutate,
    GetRows,
    Protocol,
    Put,
    RowMutation,
    TableDescriptor,
    ask_all,
    longest_row_key_bytes,
)

T = TypeVar("T")

FORMAT: Final = "dictionary 1"

COUNTER_ROW: Final = b"c"
_NAME: Final = b"n"
_NUMBER: Final = b"r"
_NUMBER_BYTES: Final = 8

# One request is ten Thrift calls, which end well within a time limit.
_ROWS_PER_REQUEST: Final = 1000
# If the gateway hangs, each parallel request waits for its timeout before the error is raised.
_CLAIMS_AT_ONCE: Final = 32
_MAX_ROUNDS: Final = 10


def dictionary_descriptor(table: str) -> TableDescriptor:
    """Return the descriptor of a dictionary's table."""
    return descriptor(table, FORMAT)


def ensure_dictionary(table: str) -> Protocol[list[str]]:
    """Create a dictionary's table and namespace if missing; return the names of created tables.

    Safe to repeat, and safe for several processes at the same time.

    Raises:
        SchemaError: A table of this name exists and has another use.
        FeatureMissingError: The table is missing, and the engine has no Thrift2 gateway.
    """
    return (yield from ensure_table(dictionary_descriptor(table)))


def check_can_allocate(table: str, features: frozenset[Feature]) -> None:
    """Raise an error if the gateway cannot give numbers to new names; nothing is sent.

    Raises:
        ConfigurationError: The gateway has no check-and-mutate.
    """
    if Feature.CHECK_AND_MUTATE not in features:
        raise ConfigurationError(
            "new names need a Thrift2 gateway, because they get their numbers by check-and-mutate",
            dictionary=table,
            fix="add thrift2=host:9091 to the URL; names that already have numbers can be used "
            "without it",
        )


def look_up(table: str, names: Iterable[str]) -> Protocol[dict[str, int]]:
    """Return the existing numbers of names, by name; nothing is written.

    Names without a number are left out. If the table does not exist, no name has a number.

    Raises:
        CodecError: A name is not a str, or cannot be encoded as UTF-8 (lone surrogates).
        RowKeyError: A name is longer than a row key may be.
    """
    rows = _name_rows(table, names)
    try:
        held = yield from _read(table, list(rows.values()))
    except TableNotFoundError:
        return {}
    return {name: _number_in(table, row, held[row]) for name, row in rows.items() if row in held}


def names_of(table: str, numbers: Iterable[int]) -> Protocol[dict[int, str]]:
    """Return the names of numbers, by number; nothing is written.

    Numbers without a name are left out. A number that was reserved but not used has no name, even
    if its row exists. If the table does not exist, no number has a name.
    """
    rows = {number: _number_row(number) for number in numbers if 1 <= number <= MAX_NUMBER}
    try:
        taken_for = yield from _read(table, list(rows.values()))
        held = yield from _read(table, list(dict.fromkeys(taken_for.values())))
    except TableNotFoundError:
        return {}
    return {
        number: _name_in(table, row, taken_for[row])
        for number, row in rows.items()
        if row in taken_for and held.get(taken_for[row]) == _number_value(number)
    }


def allocate(
    table: str, names: Iterable[str], *, max_number: int = MAX_NUMBER
) -> Protocol[dict[str, int]]:
    """Return the numbers of all `names`, by name; give a number to each name that has none.

    Safe to repeat after any failure. Several processes may call it at the same time: all of them
    get the same number for a name. The new names of one call get consecutive numbers in their
    order, unless another process reserves numbers at the same time.

    Args:
        table: The table of the dictionary.
        names: The names, in any order; repetitions count once.
        max_number: The largest number that may be given to a name. It depends on the width of the
            number in the row keys of the model.

    Raises:
        CodecError: A name is not a str or cannot be encoded as UTF-8. Or there are not enough
            numbers up to `max_number` for the new names. Then no new name got a number, unless
            another process reserved the last numbers at the same time.
        RowKeyError: A name is longer than a row key may be.
        TableNotFoundError: The dictionary does not exist.
        FeatureMissingError: The gateway has no check-and-mutate; see `check_can_allocate`.
        ConnectionLostError: Some names may have got their numbers: call again.
        CorruptRowError: The table has rows that are not a dictionary's.
    """
    rows = _name_rows(table, names)
    if not rows:
        return {}
    limit = min(max_number, MAX_NUMBER)
    held = yield from _read(table, [COUNTER_ROW, *rows.values()])
    new = [row for row in rows.values() if row not in held]
    if new:
        # Checked before a number is reserved, so that a full dictionary's counter stays as it is.
        _check_room(table, _last_taken(table, held), len(new), limit)
        held.update((yield from _allocate_rows(table, new, limit)))
    return {name: _number_in(table, row, held[row]) for name, row in rows.items()}


def _allocate_rows(
    table: str, name_rows: Sequence[bytes], limit: int
) -> Protocol[dict[bytes, bytes]]:
    held: dict[bytes, bytes] = {}
    for some in _slices(name_rows, _ROWS_PER_REQUEST):
        if held:  # meanwhile another process may have numbered the same names
            held.update((yield from _read(table, some)))
        reserved = yield from _reserve(table, [row for row in some if row not in held], limit)
        wanted = {row: _number_value(number) for row, number in reserved.items()}
        held.update((yield from _write_once(table, wanted)))
    return held


def _reserve(table: str, name_rows: Sequence[bytes], limit: int) -> Protocol[dict[bytes, int]]:
    """Reserve a number for each name and write the number's row; return the numbers by name row."""
    reserved: dict[bytes, int] = {}
    for _ in range(_MAX_ROUNDS):
        waiting = [row for row in name_rows if row not in reserved]
        if not waiting:
            return reserved
        taken = yield from take(table, COUNTER_ROW, VALUE_COLUMN, len(waiting))
        _check_room(table, taken.start - 1, len(taken), limit)
        pairs = list(zip(waiting, taken, strict=True))
        written = yield from _write_once(table, {_number_row(number): row for row, number in pairs})
        reserved.update(
            {row: number for row, number in pairs if written[_number_row(number)] == row}
        )
    raise CorruptRowError(
        "the dictionary's counter returns numbers that are already in use",
        table=table,
        row=COUNTER_ROW,
        fix="write into the counter's cell the number of the last row that starts with 'r'",
    )


def _write_once(table: str, wanted: Mapping[bytes, bytes]) -> Protocol[dict[bytes, bytes]]:
    """Write the rows in `wanted` that do not exist; return the stored values of all these rows."""
    held: dict[bytes, bytes] = {}
    for some in _slices(list(wanted), _CLAIMS_AT_ONCE):
        held.update((yield from _write_some_once(table, {row: wanted[row] for row in some})))
    return held


def _write_some_once(table: str, wanted: Mapping[bytes, bytes]) -> Protocol[dict[bytes, bytes]]:
    """Do the work of `_write_once` for a few rows, in parallel.

    After a failed check or a lost answer, the stored value is read. An earlier attempt of this
    process may have written it. An attempt that HBase executes later does no harm: it writes the
    same cell, or its check fails.
    """
    held: dict[bytes, bytes] = {}
    failure: Exception | None = None
    for failures in range(RETRIES.attempts):
        if failures:
            yield from RETRIES.pause(failures)
        waiting = [row for row in wanted if row not in held]
        try:
            answers = yield from ask_all([_claim(table, row, wanted[row]) for row in waiting])
        except (RetryableError, ConnectionLostError) as error:
            answers, failure = (False,) * len(waiting), error
        won = [row for row, is_won in zip(waiting, answers, strict=True) if is_won]
        held.update({row: wanted[row] for row in won})
        held.update((yield from _read(table, [row for row in waiting if row not in held])))
        if len(held) == len(wanted):
            return held
    raise failure or ConflictError(
        "HBase refused changes although their condition is true",
        table=table,
        rows=len(wanted) - len(held),
    )


def _claim(table: str, row: bytes, value: bytes) -> CheckAndMutate:
    # The expected value b"" means that the row has no cell: no value here is empty.
    return CheckAndMutate(table, VALUE_COLUMN, b"", RowMutation(row, (Put(VALUE_COLUMN, value),)))


def _read(table: str, rows: Sequence[bytes]) -> Protocol[dict[bytes, bytes]]:
    """Return the stored values by row key; rows that do not exist are left out."""
    if not rows:
        return {}
    answers = yield from ask_all(
        [GetRows(table, tuple(some), (VALUE_COLUMN,)) for some in _slices(rows, _ROWS_PER_REQUEST)]
    )
    return {row.key: row.cells[VALUE_COLUMN].value for answer in answers for row in answer if row}


def _slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))


# --- rows and values ------------------------------------------------------------------------------


def _name_rows(table: str, names: Iterable[str]) -> dict[str, bytes]:
    limit_bytes = longest_row_key_bytes(table)
    return {name: _name_row(name, limit_bytes) for name in names}


def _name_row(name: str, limit_bytes: int) -> bytes:
    if not isinstance(name, str):
        raise CodecError("a name in a dictionary is not a str", name=name, fix="use a str")
    try:
        row = _NAME + name.encode()
    except UnicodeEncodeError as error:
        raise CodecError(
            "a name in a dictionary cannot be encoded as UTF-8",
            name=name,
            position=error.start,
            fix="remove the lone surrogates",
        ) from None
    if len(row) > limit_bytes:
        raise RowKeyError(
            "a name in a dictionary is longer than a row key may be",
            length_bytes=len(row) - 1,
            limit_bytes=limit_bytes - 1,
            starts_with=name[:16],
            fix="shorten the name",
        )
    return row


def _number_row(number: int) -> bytes:
    return _NUMBER + _number_value(number)


def _number_value(number: int) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big")


def _number_in(table: str, row: bytes, value: bytes) -> int:
    number = int.from_bytes(value, "big", signed=True)
    if len(value) != _NUMBER_BYTES or number < 1:
        raise _no_dictionary(table, row, value)
    return number


def _name_in(table: str, row: bytes, value: bytes) -> str:
    try:
        return value.removeprefix(_NAME).decode()
    except UnicodeDecodeError:
        raise _no_dictionary(table, row, value) from None


def _last_taken(table: str, held: Mapping[bytes, bytes]) -> int:
    return _number_in(table, COUNTER_ROW, held[COUNTER_ROW]) if COUNTER_ROW in held else 0


def _no_dictionary(table: str, row: bytes, value: bytes) -> CorruptRowError:
    return CorruptRowError(
        "the dictionary's table holds a row that is not a dictionary entry",
        table=table,
        row=row,
        value=value,
        fix="give the dictionary its own table, which nothing else writes",
    )


def _check_room(table: str, last: int, wanted: int, max_number: int) -> None:
    if last + wanted > max_number:
        raise CodecError(
            "the dictionary has too few numbers left that fit the width in the row key",
            table=table,
            last=last,
            wanted=wanted,
            max_number=max_number,
            fix="declare a wider codec, together with another dictionary or another table for "
            "the rows",
        )
