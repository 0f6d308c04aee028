"""Column families over Thrift2: descriptors with all options, converted in both directions.

Some options have a field in Thrift's struct. The others are attributes of the family, as text, with
the names of HBase's `ColumnFamilyDescriptorBuilder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.thrift.decoding.answers import text
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.gateway import FOREVER_S
from hbase_orm.gateway.thrift.wire import HBASE2
from hbase_orm.ops import FAMILY_ATTRIBUTES, FIELD_ATTRIBUTES, FamilyDescriptor, merged_settings

# Numbers of the server's enumerations.
_COMPRESSIONS: Final = {
    "LZO": 0,
    "GZ": 1,
    "NONE": 2,
    "SNAPPY": 3,
    "LZ4": 4,
    "BZIP2": 5,
    "ZSTD": 6,
}
_BLOOMS: Final = {"NONE": 0, "ROW": 1, "ROWCOL": 2, "ROWPREFIX_FIXED_LENGTH": 3}
_BLOCK_ENCODINGS: Final = {"NONE": 0, "PREFIX": 2, "DIFF": 3, "FAST_DIFF": 4, "ROW_INDEX_V1": 7}
_KEEP_DELETED_CELLS: Final = {"FALSE": 0, "TRUE": 1, "TTL": 2}

_DEFAULTS: Final = FamilyDescriptor(b"d")

# All attributes that have an option, whether Thrift's struct has a field for it or not.
_HBASE_ATTRIBUTES: Final = {**FAMILY_ATTRIBUTES, **FIELD_ATTRIBUTES}
# For each option that Thrift's struct has a field for: the field.
_THRIFT_FIELDS: Final = {option: option for option in FIELD_ATTRIBUTES.values()} | {
    "block_size_bytes": "block_size"
}


def number_of(numbers: Mapping[str, int], option: str, name: str) -> int:
    """Return the number of a name in one of the server's enumerations.

    Raises:
        RejectedError: The enumeration has no such name.
    """
    number = numbers.get(name.upper())
    if number is None:
        raise RejectedError(
            "the option does not allow this value",
            option=option,
            value=name,
            fix=f"use one of {', '.join(numbers)}",
        )
    return number


def name_of(numbers: Mapping[str, int], number: int | None, default: str) -> str:
    """Return the name of a number in one of the server's enumerations, or `default`."""
    return next((name for name, each in numbers.items() if each == number), default)


def thrift_family(family: FamilyDescriptor) -> Any:
    """Return a family's Thrift descriptor with all options.

    HBase would use its own defaults for options that are left out.
    """
    attributes = {name.encode(): value.encode() for name, value in _attributes(family).items()}
    return HBASE2.Family(
        name=family.name,
        attributes=attributes or None,
        configuration=dict(family.configuration) or None,
        block_size=family.block_size_bytes,
        bloom=number_of(_BLOOMS, "bloom", family.bloom),
        compression=number_of(_COMPRESSIONS, "compression", family.compression),
        dfs_replication=family.dfs_replication or None,
        block_encoding=number_of(_BLOCK_ENCODINGS, "block_encoding", family.block_encoding),
        keep_deleted_cells=number_of(
            _KEEP_DELETED_CELLS, "keep_deleted_cells", family.keep_deleted_cells
        ),
        versions=family.versions,
        min_versions=family.min_versions,
        scope=family.scope,
        ttl_s=FOREVER_S if family.ttl_s is None else family.ttl_s,
        block_cache=family.block_cache,
        cache_blooms_on_write=family.cache_blooms_on_write,
        cache_data_on_write=family.cache_data_on_write,
        cache_indexes_on_write=family.cache_indexes_on_write,
        # Left out if it is HBase's default, so that the shell does not show it.
        compress_tags=None if family.compress_tags else False,
        evict_on_close=family.evict_on_close,
        in_memory=family.in_memory,
    )


def _attributes(family: FamilyDescriptor) -> dict[str, str]:
    """Return the attributes to store: those of `family`, and its options without a Thrift field.

    Options with the default value are left out.
    """
    attributes = dict(family.attributes)
    for name, option in FAMILY_ATTRIBUTES.items():
        value = getattr(family, option)
        if value != getattr(_DEFAULTS, option):
            attributes[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return attributes


def family_descriptor(described: Any) -> FamilyDescriptor:
    """Convert the gateway's Thrift descriptor of a family to a `FamilyDescriptor`.

    Raises:
        GarbledAnswerError: An attribute of HBase does not have the form that HBase writes.
    """
    attributes = _texts(described.attributes)
    own = {
        option: _value_of(getattr(_DEFAULTS, option), attributes[name])
        for name, option in FAMILY_ATTRIBUTES.items()
        if name in attributes
    }
    return FamilyDescriptor(
        described.name,
        versions=described.versions,
        min_versions=described.min_versions,
        ttl_s=None if described.ttl_s == FOREVER_S else described.ttl_s,
        compression=name_of(_COMPRESSIONS, described.compression, "NONE"),
        bloom=name_of(_BLOOMS, described.bloom, "ROW"),
        block_encoding=name_of(_BLOCK_ENCODINGS, described.block_encoding, "NONE"),
        keep_deleted_cells=name_of(_KEEP_DELETED_CELLS, described.keep_deleted_cells, "FALSE"),
        block_size_bytes=described.block_size,
        block_cache=described.block_cache,
        in_memory=described.in_memory,
        cache_data_on_write=described.cache_data_on_write,
        evict_on_close=described.evict_on_close,
        scope=described.scope,
        dfs_replication=described.dfs_replication or 0,
        cache_blooms_on_write=bool(described.cache_blooms_on_write),
        cache_indexes_on_write=bool(described.cache_indexes_on_write),
        compress_tags=described.compress_tags is not False,
        configuration=_texts(described.configuration),
        attributes={
            name: value
            for name, value in attributes.items()
            if name not in FAMILY_ATTRIBUTES and name not in FIELD_ATTRIBUTES
        },
        **own,
    )


def copied_family(described: Any) -> Any:
    """Return a Thrift descriptor with which HBase stores the described family unchanged.

    HBase describes every stored option as an attribute too: options that have a field in Thrift,
    and options that this library does not know. So only attributes and settings are copied, and no
    other field is set.
    """
    return HBASE2.Family(
        name=described.name,
        attributes=described.attributes or None,
        configuration=described.configuration or None,
    )


def changed_family(described: Any, options: Mapping[str, Any]) -> Any:
    """Return the Thrift descriptor of a described family with changed options.

    All other options are copied byte by byte (see `copied_family`).

    Args:
        described: The family as the gateway described it.
        options: The options as `ModifyFamily` has them.

    Raises:
        RejectedError: An option does not allow its value.
    """
    wanted = FamilyDescriptor(described.name).with_options(options)
    with_fields, changed = thrift_family(wanted), copied_family(described)
    for option in options.keys() & _THRIFT_FIELDS.keys():
        field = _THRIFT_FIELDS[option]
        setattr(changed, field, getattr(with_fields, field))
    if "configuration" in options:
        settings = merged_settings(_texts(described.configuration), options["configuration"])
        changed.configuration = settings or None
    others = {name for name, option in _HBASE_ATTRIBUTES.items() if option in options}
    replaced = {name.encode() for name in (*others, *options.get("attributes", ()))}
    kept = {k: v for k, v in (described.attributes or {}).items() if k not in replaced}
    added = {name.encode(): value.encode() for name, value in _attributes(wanted).items()}
    changed.attributes = {**kept, **added} or None
    return changed


def _texts(stored: Mapping[Any, Any] | None) -> dict[str, str]:
    return {text(name): text(value) for name, value in (stored or {}).items()}


def _value_of(default: object, shown: str) -> Any:
    """Convert the text of an attribute to the type of `default`, the option's default value."""
    if isinstance(default, bool):
        return shown.lower() == "true"
    if not isinstance(default, int):
        return shown
    if not (shown.isascii() and shown.isdecimal()):
        message = "a numeric attribute of a family that is not a number"
        raise GarbledAnswerError(message)
    return int(shown)
