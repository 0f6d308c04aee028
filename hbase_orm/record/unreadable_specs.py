"""Finds what makes a specification in a record unreadable: damage, or members of a newer version.

Only specifications of one codec, or of one derivation, can be compared member by member. Codecs of
applications may have any members, so their differences are differences of declarations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hbase_orm.codecs import names
from hbase_orm.errors import RecordError
from hbase_orm.record.declaration import RecordedRows
from hbase_orm.record.specifications import PACKED, PACKED_MEMBERS, SPEC_MEMBERS
from hbase_orm.record.stored_values import damaged, newer_members
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.record_types import RecordTypeCodec

Members = Mapping[str, Any]

_OWN_CODECS: Final = frozenset({*names(), "bytes.int64", OrNone.name, RecordTypeCodec.name})
"""The names of the library's codecs."""


def refuse_unreadable(recorded: RecordedRows, declared: RecordedRows, table: str) -> None:
    """Raise an error if recorded codecs or parts of the row key cannot be compared with a model.

    Args:
        recorded: The rows that the record describes.
        declared: The rows that the model declares.
        table: The table, for the error.

    Raises:
        RecordError: A member is missing that every record has, or a newer version of the library
            has written a member that this version does not know.
    """
    for error in _errors(recorded, declared, table):
        raise error


def _errors(recorded: RecordedRows, declared: RecordedRows, table: str) -> Iterator[RecordError]:
    if len(recorded.key) == len(declared.key):
        pairs = zip(recorded.key, declared.key, strict=True)
        for number, (old, new) in enumerate(pairs, 1):
            yield from _of_spec(old, new, table, f"row key, component {number}")
    for name, own in declared.columns.items():
        known = recorded.columns.get(name)
        if known is None or known.role != own.role:
            continue
        place = f"column {name.decode('utf-8', 'backslashreplace')}"
        yield from _of_spec(known.codec, own.codec, table, place)
        if own.names is not None:
            yield from _of_spec(known.names, own.names, table, place)


def _of_spec(old: Any, new: Any, table: str, place: str) -> Iterator[RecordError]:
    """Yield errors of a specification and of those within it, as far as they are of one kind."""
    if isinstance(new, list):
        inner = zip(old, new, strict=False) if isinstance(old, list) else ()
        for one, other in inner:
            yield from _of_spec(one, other, table, place)
    elif isinstance(new, Mapping) and "codec" in new:
        if not isinstance(old, Mapping):
            yield damaged(table, place, old)
        elif _is_of_one_kind(old, new):
            yield from _of_members(old, new, table, place)
            for name in new.keys() & old.keys():
                yield from _of_spec(old[name], new[name], table, place)


def _is_of_one_kind(old: Members, new: Members) -> bool:
    same_codec = old.get("codec", new["codec"]) == new["codec"]
    return same_codec and old.get("derived") == new.get("derived")


def _of_members(old: Members, new: Members, table: str, place: str) -> Iterator[RecordError]:
    if new["codec"] not in _OWN_CODECS:
        return
    unknown = old.keys() - new.keys() - SPEC_MEMBERS
    packed = old.get(PACKED)
    if isinstance(packed, Mapping):
        unknown |= packed.keys() - PACKED_MEMBERS
    if unknown:
        yield newer_members(table, place, unknown)
    is_cut = isinstance(packed, Mapping) and not packed.keys() >= PACKED_MEMBERS
    if is_cut or new.keys() & SPEC_MEMBERS - old.keys():
        yield damaged(table, place, dict(old))
