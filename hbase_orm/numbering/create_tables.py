"""Creates the tables of dictionaries and sequences, and other tables, if they are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hbase_orm.errors import (
    FeatureMissingError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.numbering.retries import RETRIES
from hbase_orm.ops import (
    CreateNamespace,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    ListNamespaces,
    Protocol,
    RetryPolicy,
    TableDescriptor,
    ask_with_retry,
)

FAMILY: Final = b"d"
VALUE_COLUMN: Final = b"d:v"
"""The only column in the tables of dictionaries and sequences."""

FORMAT_ATTRIBUTE: Final = "hbase_orm.format"


def descriptor(table: str, table_format: str) -> TableDescriptor:
    """Return the descriptor of a table with one family and an attribute for its row format."""
    return TableDescriptor(table, (FamilyDescriptor(FAMILY),), {FORMAT_ATTRIBUTE: table_format})


def ensure_table(wanted: TableDescriptor) -> Protocol[list[str]]:
    """Create a table and its namespace if they are missing; return the names of created tables.

    Safe to repeat, and safe for several processes at the same time.

    Raises:
        SchemaError: A table of this name exists, and its format attribute or its families differ
            from `wanted`. If the table has no attributes at all, only the families are compared.
        FeatureMissingError: The table is missing, and the engine has no Thrift2 gateway.
    """
    try:
        existing = yield from ask_with_retry(DescribeTable(wanted.name), RETRIES)
    except TableNotFoundError:
        yield from ensure_namespace(wanted.name)
        return (yield from create_if_missing(CreateTable(wanted), is_repeatable=True))
    _check_format(wanted, existing)
    return []


def _check_format(wanted: TableDescriptor, existing: TableDescriptor) -> None:
    # No attributes at all: made by hand, or described by Thrift1, which does not show them.
    has_no_format = not existing.attributes
    families = {family.name for family in existing.families}
    stored = existing.attributes.get(FORMAT_ATTRIBUTE)
    is_wanted = has_no_format or stored == wanted.attributes[FORMAT_ATTRIBUTE]
    if not is_wanted or families != {FAMILY}:
        raise SchemaError(
            "the table exists, but was created for another use",
            table=wanted.name,
            wanted=wanted.attributes[FORMAT_ATTRIBUTE],
            actual=stored,
            families=sorted(families),
            fix="name another table: otherwise rows of different kinds would be mixed",
        )


def ensure_namespace(table: str) -> Protocol[None]:
    """Create the namespace of a table if it is missing; safe to repeat."""
    namespace, colon, _ = table.partition(":")
    if not colon or namespace in (yield from ask_with_retry(ListNamespaces(), RETRIES)):
        return
    try:
        yield from ask_with_retry(CreateNamespace(namespace), RETRIES)
    except NamespaceExistsError:
        return  # somebody else was quicker, or our own request was repeated


def create_if_missing(creation: CreateTable, *, is_repeatable: bool = False) -> Protocol[list[str]]:
    """Create a table if it does not exist.

    Return a list with its name, or an empty list if it existed. A missing namespace is created too.
    If another process has just created the namespace, HBase may refuse tables in it for some
    milliseconds. Then the request is repeated.

    Args:
        creation: The request that creates the table.
        is_repeatable: Whether the request is sent again after an error or a lost answer. If the
            first request created the table and only its answer was lost, the table counts as
            existing, and the list is empty.

    Raises:
        ConnectionLostError: It is unknown whether the table was created.
        NamespaceNotFoundError: The namespace does not exist, and the engine has no Thrift2 gateway
            to create it.
    """
    policy = RETRIES if is_repeatable else replace(RETRIES, attempts=1)
    for failures in range(1, RETRIES.attempts):
        try:
            return (yield from _create(creation, policy))
        except NamespaceNotFoundError as error:
            yield from RETRIES.pause(failures)
            yield from _make_missing(creation.descriptor.name, error)
    return (yield from _create(creation, policy))


def _make_missing(table: str, error: NamespaceNotFoundError) -> Protocol[None]:
    try:
        yield from ensure_namespace(table)
    except FeatureMissingError:
        namespace = table.partition(":")[0]
        raise NamespaceNotFoundError(
            "the namespace does not exist, and a Thrift1 gateway cannot create one",
            namespace=namespace,
            table=table,
            fix=f"create_namespace '{namespace}' in the hbase shell, or add thrift2=host:9091 to "
            "the URL",
        ) from error


def _create(creation: CreateTable, policy: RetryPolicy) -> Protocol[list[str]]:
    try:
        yield from ask_with_retry(creation, policy)
    except TableExistsError:
        return []
    return [creation.descriptor.name]
