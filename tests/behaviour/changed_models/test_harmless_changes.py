"""Declarations that differ harmlessly from the record: old and new programs agree on the rows."""

from __future__ import annotations

import logging

import pytest

from tests.support.changed_models import FIRST, KINDS, Programs, fill
from tests.support.changed_uses import HARMLESS, OPTIONS, at_first, check_reads, used

NOT_RECORDED = frozenset(change for change in HARMLESS if "new" in change) | {
    "a column less",
    "a required column less",
    "a view",
    "a view with other names",
}
"""The changes that differ from the record until `create_tables` has recorded them."""

in_memory = pytest.mark.only_on("memory")
"""On HBase, programs that are processes of their own do the same: tests/integration."""

ON_HBASE = (
    "a new required column above all",
    "another order",
    "a column less",
    "a column may be None",
    "a view with other names",
)
changes = pytest.mark.parametrize(
    "change",
    [
        change if change in ON_HBASE else pytest.param(change, marks=in_memory)
        for change in HARMLESS
    ],
)
"""Every change in memory, the most different ones on HBase too."""


@changes
def test_the_new_program_reads_all_old_rows_and_both_agree_on_what_it_writes(
    programs: Programs, change: str, shop: str
) -> None:
    old, rows = used(programs.old, programs, FIRST, shop), at_first(shop)
    fill(programs, old.model, shop)
    new = used(programs.new(), programs, HARMLESS[change], shop)
    before = programs.raw()

    check_reads(new, rows)
    assert programs.raw() == before
    new.write(rows, is_simple=programs.kind in {"thrift1", "lww"})

    check_reads(new, rows)
    check_reads(old, rows)


@in_memory
@pytest.mark.parametrize("own", KINDS, indirect=True)
@pytest.mark.parametrize("change", HARMLESS)
def test_programs_agree_after_create_tables_of_the_new_one_and_again_of_the_old_one(
    own: Programs, change: str, shop: str
) -> None:
    old, rows = used(own.old, own, FIRST, shop), at_first(shop)
    fill(own, old.model, shop)
    new = used(own.new(), own, HARMLESS[change], shop)
    before = own.raw()

    created = new.engine.create_tables(new.model)

    assert (created, own.raw()) == ([], before)
    check_reads(new, rows)
    new.write(rows, is_simple=own.kind in {"thrift1", "lww"})
    for use in (new, old, used(own.new(), own, FIRST, shop)):
        check_reads(use, rows)
    old.engine.create_tables(old.model)
    for declared in (FIRST, HARMLESS[change]):
        check_reads(used(own.new(), own, declared, shop), rows)


@in_memory
@pytest.mark.parametrize("own", ["guarded", "lww"], indirect=True)
@pytest.mark.parametrize("change", HARMLESS)
def test_no_entry_is_missing_or_stale_and_only_a_recorded_model_repairs(
    own: Programs, change: str, shop: str
) -> None:
    old, rows = used(own.old, own, FIRST, shop), at_first(shop)
    fill(own, old.model, shop)
    new = used(own.new(), own, HARMLESS[change], shop)
    new.write(rows, is_simple=own.kind == "lww")
    before = own.raw()

    unrecorded = new.repaired()

    assert new.verified() == old.verified() == {"by_city": (0, 0), "by_size": (0, 0)}
    assert unrecorded == (None if change in NOT_RECORDED else 0)
    assert old.repaired() == 0
    new.engine.create_tables(new.model)
    later = used(own.new(), own, FIRST, shop)
    assert new.repaired() == 0
    assert later.repaired() == (None if "new" in change else 0)
    assert own.raw() == before


@pytest.mark.parametrize("programs", ["guarded", "lww"], indirect=True, scope="module")
@changes
def test_reading_by_an_index_repairs_no_good_entry(
    programs: Programs, change: str, shop: str
) -> None:
    old, rows = used(programs.old, programs, FIRST, shop), at_first(shop)
    fill(programs, old.model, shop)
    new = used(programs.later(), programs, HARMLESS[change], shop)
    before = programs.raw()

    check_reads(new, rows)

    assert programs.raw() == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("a time to live", "ttl of family d: recorded None, declared timedelta(seconds=86400)"),
        ("more versions", "versions of family d: recorded 1, declared 3"),
        ("compression", "compression of family d: recorded 'NONE', declared 'GZ'"),
    ],
)
@pytest.mark.parametrize("programs", ["plain", "guarded"], indirect=True, scope="module")
def test_options_of_a_family_that_differ_are_a_warning_that_names_the_command(
    programs: Programs, change: str, named: str, shop: str, caplog: pytest.LogCaptureFixture
) -> None:
    declared = OPTIONS[change]
    new = used(programs.new(), programs, declared, shop)
    before = programs.raw()

    with caplog.at_level(logging.WARNING, "hbase_orm.session"):
        new.numbers()
        new.engine.create_tables(new.model)

    said = [record.getMessage() for record in caplog.records]
    assert any(named in text and "hbase-orm tables alter" in text for text in said)
    assert programs.raw() == before
