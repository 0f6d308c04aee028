"""Tables and namespaces in memory: names, descriptors and states, with HBase's checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hbase_orm.errors import (
    FeatureMissingError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    RejectedError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.gateway.memory.table import MemoryTable
from hbase_orm.ops import (
    BLOOM_PREFIX_SETTING,
    FLUSH_SIZE_ATTRIBUTE,
    MAX_FILE_SIZE_ATTRIBUTE,
    FamilyDescriptor,
    TableDescriptor,
)

_DEFAULT_NAMESPACE = "default"
_SYSTEM_NAMESPACES = frozenset({_DEFAULT_NAMESPACE, "hbase"})

_COMPRESSIONS = frozenset({"NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"})
_BLOOMS = frozenset({"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"})
_ENCODINGS = frozenset({"NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"})
_KEEPS = frozenset({"FALSE", "TRUE", "TTL"})

_IN_MEMORY_COMPACTIONS = frozenset({None, "NONE", "BASIC", "EAGER", "ADAPTIVE"})

# TableDescriptorChecker's lower limits: hbase.hregion.max.filesize.limit and
# hbase.hregion.memstore.flush.size.limit.
_LEAST_SIZES = {MAX_FILE_SIZE_ATTRIBUTE: 2 * 1024 * 1024, FLUSH_SIZE_ATTRIBUTE: 1024 * 1024}

# How long HBase needs at least to drop a table and to create it again.
_CREATION_MS = 1000

# TableDescriptorChecker: a block holds 1 KiB to 16 MiB.
_BLOCK_SIZES = range(1024, 16 * 1024 * 1024 + 1)


@dataclass(slots=True)
class MemoryTables:
    """All tables and namespaces of one store."""

    tables: dict[str, MemoryTable] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=lambda: set(_SYSTEM_NAMESPACES))
    newest_ms: int = 0

    def get(self, name: str) -> MemoryTable:
        """Return a table, enabled or disabled; raise an error if the table does not exist."""
        table = self.tables.get(_check_name(name))
        if table is None:
            raise TableNotFoundError(
                "the table does not exist", table=name, fix="create the table, or correct its name"
            )
        return table

    def names(self) -> list[str]:
        """Return the names of all tables, sorted."""
        return sorted(self.tables)

    def create(
        self, descriptor: TableDescriptor, split_keys: Sequence[bytes], now_ms: int = 0
    ) -> None:
        """Create a table with regions that are split at `split_keys`, which may be in any order."""
        name = _check_name(descriptor.name)
        namespace = _namespace_of(name)
        if namespace not in self.namespaces:
            raise _namespace_missing(namespace)
        if name in self.tables:
            raise TableExistsError("the table exists already", table=name, fix="use it as it is")
        _check_families(descriptor)
        _check_sizes(descriptor)
        _check_splits(split_keys)
        families = tuple(sorted(descriptor.families, key=lambda family: family.name))
        stored = replace(
            descriptor, name=name, families=families, attributes=dict(descriptor.attributes)
        )
        self.newest_ms = max(now_ms, self.newest_ms + _CREATION_MS)
        self.tables[name] = MemoryTable(stored, sorted(split_keys), self.newest_ms)

    def drop(self, name: str) -> None:
        """Remove a table and its rows, enabled or not."""
        self.get(name)
        del self.tables[_check_name(name)]

    def truncate(self, name: str, now_ms: int = 0) -> None:
        """Remove all rows of a table, and enable it; new regions replace the old ones."""
        table = self.get(name)
        self.newest_ms = max(now_ms, self.newest_ms + _CREATION_MS)
        emptied = MemoryTable(table.descriptor, table.split_keys, self.newest_ms)
        self.tables[_check_name(name)] = emptied

    def disable(self, name: str) -> None:
        """Disable a table; raise an error if it is disabled already, as HBase does."""
        table = self.get(name)
        table.check_enabled()
        table.is_enabled = False

    def enable(self, name: str) -> None:
        """Enable a table; raise an error if it is enabled already, as HBase does."""
        table = self.get(name)
        if table.is_enabled:
            raise RejectedError("the table is enabled", table=name, fix="nothing needs to be done")
        table.is_enabled = True

    def add_family(self, name: str, family: FamilyDescriptor) -> None:
        """Add a family; raise an error if it exists already."""
        table = self.get(name)
        if family.name in table.families:
            raise RejectedError(
                "the column family exists already",
                table=name,
                family=family.name,
                fix="use it as it is",
            )
        _check_family(family)
        families = sorted((*table.descriptor.families, family), key=lambda each: each.name)
        table.descriptor = replace(table.descriptor, families=tuple(families))
        table.families[family.name] = family

    def delete_family(self, name: str, family: bytes) -> None:
        """Delete a family with its cells; raise an error if the table has no such or no other."""
        table = self.get(name)
        others = tuple(each for each in table.descriptor.families if each.name != family)
        if family not in table.families or not others:
            raise RejectedError(
                "the column family does not exist, or is the only one of the table",
                table=name,
                family=family,
                fix="name one of several families of the table",
            )
        table.descriptor = replace(table.descriptor, families=others)
        del table.families[family]
        for key in [key for key, cells in table.rows.items() if cells.pop(family, None)]:
            if not table.rows[key]:
                del table.rows[key]
                table.keys.remove(key)

    def modify_family(self, name: str, family: bytes, options: Mapping[str, Any]) -> None:
        """Change some options of a family; raise an error if the table does not have it."""
        table = self.get(name)
        changed = table.family(family).with_options(options)
        _check_family(changed)
        families = (changed if each.name == family else each for each in table.descriptor.families)
        table.descriptor = replace(table.descriptor, families=tuple(families))
        table.families[family] = changed

    def modify(self, name: str, options: Mapping[str, Any]) -> None:
        """Change some options of a table."""
        table = self.get(name)
        changed = table.descriptor.with_options(options)
        _check_sizes(changed)
        table.descriptor = changed

    def list_namespaces(self) -> list[str]:
        """Return the names of all namespaces, sorted, including HBase's own."""
        return sorted(self.namespaces)

    def create_namespace(self, namespace: str) -> None:
        """Create a namespace; raise an error if it exists already."""
        if not _is_word(namespace):
            raise RejectedError(
                "the namespace's name is not allowed",
                namespace=namespace,
                fix="use letters, digits and underscores",
            )
        if namespace in self.namespaces:
            raise NamespaceExistsError(
                "the namespace exists already", namespace=namespace, fix="use it as it is"
            )
        self.namespaces.add(namespace)

    def drop_namespace(self, namespace: str) -> None:
        """Remove a namespace; raise an error if it has tables, or belongs to HBase itself."""
        if namespace not in self.namespaces:
            raise _namespace_missing(namespace)
        if namespace in _SYSTEM_NAMESPACES:
            raise RejectedError("the namespace belongs to HBase itself", namespace=namespace)
        if any(_namespace_of(name) == namespace for name in self.tables):
            raise RejectedError(
                "the namespace is not empty", namespace=namespace, fix="drop its tables first"
            )
        self.namespaces.remove(namespace)


def _namespace_missing(namespace: str) -> NamespaceNotFoundError:
    return NamespaceNotFoundError(
        "the namespace does not exist", namespace=namespace, fix="create the namespace"
    )


def _check_name(name: str) -> str:
    """Check a table's name, and return it without the prefix `default:`.

    Raises:
        RejectedError: HBase does not allow the name.
    """
    namespace, colon, table = name.rpartition(":")
    first_is_legal = table[:1] not in {"", "-", "."}
    if not first_is_legal or not _is_word(table, more="-.") or (colon and not _is_word(namespace)):
        raise RejectedError(
            "the table's name is not allowed",
            table=name,
            fix="use letters, digits, '_', '-' and '.', after 'namespace:' if it has one",
        )
    return table if namespace == _DEFAULT_NAMESPACE else name


def _is_word(text: str, *, more: str = "") -> bool:
    return bool(text) and all(sign.isalnum() or sign == "_" or sign in more for sign in text)


def _namespace_of(name: str) -> str:
    return name.rpartition(":")[0] or _DEFAULT_NAMESPACE


def _check_splits(split_keys: Sequence[bytes]) -> None:
    if b"" in split_keys or len(set(split_keys)) < len(split_keys):
        raise RejectedError(
            "a split key is empty or occurs twice",
            split_keys=tuple(split_keys),
            fix="give distinct, non-empty split keys",
        )


def _check_sizes(descriptor: TableDescriptor) -> None:
    for name, least in _LEAST_SIZES.items():
        size = descriptor.attributes.get(name, str(least))
        if not (size.isascii() and size.isdecimal()) or int(size) < least:
            raise RejectedError(
                "a size in the table's attributes is too small, or not a number",
                table=descriptor.name,
                attribute=name,
                value=size,
                fix=f"give {least} bytes or more",
            )


def _check_families(descriptor: TableDescriptor) -> None:
    names = [family.name for family in descriptor.families]
    if not names or len(set(names)) < len(names):
        raise RejectedError(
            "a table needs one family or more, with distinct names",
            table=descriptor.name,
            families=tuple(names),
            fix="name each family once",
        )
    for family in descriptor.families:
        _check_family(family)


def _check_family(family: FamilyDescriptor) -> None:
    problems = {
        "name": not family.name or b":" in family.name or family.name.startswith(b"."),
        "versions": family.versions < 1,
        "min_versions": not 0 <= family.min_versions <= family.versions,
        "ttl_s": family.ttl_s is not None and family.ttl_s < 1,
        "compression": family.compression not in _COMPRESSIONS,
        "bloom": family.bloom not in _BLOOMS,
        "block_encoding": family.block_encoding not in _ENCODINGS,
        "keep_deleted_cells": family.keep_deleted_cells not in _KEEPS,
        "block_size_bytes": family.block_size_bytes not in _BLOCK_SIZES,
        "scope": family.scope < 0,
        "dfs_replication": family.dfs_replication < 0,
        "in_memory_compaction": family.in_memory_compaction not in _IN_MEMORY_COMPACTIONS,
        "index_block_encoding": family.index_block_encoding not in {"NONE", "PREFIX_TREE"},
        "compaction_compression": family.compaction_compression not in {None, *_COMPRESSIONS},
        "configuration": family.bloom == "ROWPREFIX_FIXED_LENGTH"
        and not family.configuration.get(BLOOM_PREFIX_SETTING, "").isdecimal(),
    }
    for option, is_wrong in problems.items():
        if is_wrong:
            raise RejectedError(
                "a family's option is out of range",
                family=family.name,
                option=option,
                value=getattr(family, option),
                fix="FamilyDescriptor describes the values that HBase allows",
            )
    if family.new_version_behavior:
        raise FeatureMissingError(
            "the gateway in memory orders puts and deletes by timestamps only",
            family=family.name,
            option="new_version_behavior",
            fix="test this model on a real HBase",
        )
