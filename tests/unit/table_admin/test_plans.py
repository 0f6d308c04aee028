"""The steps of a plan: their order, and which changes one request makes."""

from __future__ import annotations

from hbase_orm.ops import AddFamily, FamilyDescriptor, ModifyFamily, ModifyTable
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.plans import steps_of


def ttl(table: str, actual: int | None, declared: int | None, *, is_own: bool) -> TableChange:
    return TableChange(
        table, "family option", b"d", "ttl_s", actual=actual, declared=declared, is_own=is_own
    )


def test_options_of_one_family_are_one_request() -> None:
    changes = [
        TableChange("t", "family option", b"d", "versions", actual=1, declared=3),
        TableChange("t", "family option", b"d", "configuration", "a", None, "1"),
        TableChange("t", "family option", b"d", "configuration", "b", "1", None),
        TableChange("t", "family option", b"e", "versions", actual=1, declared=2),
    ]

    requests = [step.request for step in steps_of(changes)]

    assert requests == [
        ModifyFamily("t", b"d", {"versions": 3, "configuration": {"a": "1", "b": None}}),
        ModifyFamily("t", b"e", {"versions": 2}),
    ]


def test_options_of_a_table_are_one_request() -> None:
    changes = [
        TableChange("t", "table option", option="durability", declared="SYNC_WAL"),
        TableChange("t", "table option", option="attributes", setting="a", declared="1"),
    ]

    (step,) = steps_of(changes)

    assert step.request == ModifyTable("t", {"durability": "SYNC_WAL", "attributes": {"a": "1"}})


def test_a_family_is_added_and_a_record_is_no_request() -> None:
    family = FamilyDescriptor(b"e")
    changes = [TableChange("t", "family", b"e", declared=family), TableChange("t", "record")]

    assert [step.request for step in steps_of(changes)] == [AddFamily("t", family), None]
