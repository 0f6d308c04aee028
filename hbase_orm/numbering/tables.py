"""Make the tables of dictionaries and sequences where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hbase_orm.errors import (
    FeatureMissingError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.numbering.patience import MAX_SENDS, ask_patiently, pause
from hbase_orm.ops import (
    CreateNamespace,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    ListNamespaces,
    Protocol,
    TableDescriptor,
    ask,
)

FAMILY: Final = b"d"
VALUE_COLUMN: Final = b"d:v"
"""The one column of these tables."""

FORMAT_ATTRIBUTE: Final = "hbase_orm.format"


def descriptor(table: str, table_format: str) -> TableDescriptor:
    """Return a table of one family that says what its rows are."""
    return TableDescriptor(table, (FamilyDescriptor(FAMILY),), {FORMAT_ATTRIBUTE: table_format})


def ensure_table(wanted: TableDescriptor) -> Protocol[list[str]]:
    """Create a table, and its namespace, if it is missing; return the names of what was made.

    Safe to repeat, and for several processes at once.

    Raises:
        SchemaError: A table of this name exists and is of another format. One that says nothing of
            its format is taken for the caller's.
        FeatureMissingError: The engine has no Thrift2 gateway.
    """
    try:
        existing = yield from ask_patiently(DescribeTable(wanted.name))
    except TableNotFoundError:
        yield from ensure_namespace(wanted.name)
        return (yield from create_if_missing(CreateTable(wanted), ask_patiently))
    _check_format(wanted, existing)
    return []


def _check_format(wanted: TableDescriptor, existing: TableDescriptor) -> None:
    # No attributes at all: made by hand, or described by Thrift1, which does not show them.
    says_nothing = not existing.attributes
    families = {family.name for family in existing.families}
    found = existing.attributes.get(FORMAT_ATTRIBUTE)
    is_wanted = says_nothing or found == wanted.attributes[FORMAT_ATTRIBUTE]
    if not is_wanted or families != {FAMILY}:
        raise SchemaError(
            "the table exists and was made for something else",
            table=wanted.name,
            wanted=wanted.attributes[FORMAT_ATTRIBUTE],
            found=found,
            families=sorted(families),
            fix="name another table: this one's rows would be mixed up with others",
        )


def ensure_namespace(table: str) -> Protocol[None]:
    """Create the namespace that a table's name names, if it is missing; safe to repeat."""
    namespace, colon, _ = table.partition(":")
    if not colon or namespace in (yield from ask_patiently(ListNamespaces())):
        return
    try:
        yield from ask_patiently(CreateNamespace(namespace))
    except NamespaceExistsError:
        return  # somebody else was quicker, or our own request was repeated


def create_if_missing(
    creation: CreateTable, send: Callable[[CreateTable], Protocol[None]] = ask
) -> Protocol[list[str]]:
    """Create a table unless somebody did; return its name if it was made.

    A namespace that another process is just making is told to exist some milliseconds before tables
    can be created in it: such a refusal is waited out, up to `MAX_SENDS` times.

    Args:
        creation: What makes the table.
        send: Asks for it. `ask_patiently`, where it makes no difference who made the table.

    Raises:
        ConnectionLostError: It is not known whether the table was made.
        NamespaceNotFoundError: There is none, and without Thrift2 none can be made.
    """
    for sends in range(1, MAX_SENDS):
        try:
            return (yield from _create(creation, send))
        except NamespaceNotFoundError as error:
            yield from pause(sends)
            yield from _make_missing(creation.descriptor.name, error)
    return (yield from _create(creation, send))


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


def _create(
    creation: CreateTable, send: Callable[[CreateTable], Protocol[None]]
) -> Protocol[list[str]]:
    try:
        yield from send(creation)
    except TableExistsError:
        return []
    return [creation.descriptor.name]
