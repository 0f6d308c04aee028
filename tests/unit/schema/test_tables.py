"""Declared families, tables and indexes: what they become, and what is refused."""

from __future__ import annotations

import dataclasses
import inspect
from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    Table,
    codecs,
    column,
    counter,
    key,
    rowkey,
)
from hbase_orm.errors import SchemaError
from hbase_orm.ops import FamilyDescriptor


def test_a_family_without_options_is_hbase_own() -> None:
    assert Family("d").descriptor() == FamilyDescriptor(b"d")


def test_every_family_option_reaches_hbase() -> None:
    family = Family(
        "d",
        versions=3,
        min_versions=2,
        ttl=timedelta(days=1),
        compression="GZ",
        bloom="ROWCOL",
        block_encoding="FAST_DIFF",
        block_size_bytes=4096,
        block_cache=False,
        keep_deleted_cells=True,
        in_memory=True,
        cache_data_on_write=True,
        evict_on_close=True,
        scope=1,
        cache_blooms_on_write=True,
        cache_indexes_on_write=True,
        prefetch_on_open=True,
        compress_tags=False,
        new_version_behavior=True,
        mob_enabled=True,
        mob_threshold_bytes=5000,
        dfs_replication=2,
        in_memory_compaction="EAGER",
        storage_policy="ONE_SSD",
        compaction_compression="GZ",
        index_block_encoding="PREFIX_TREE",
        configuration={"hbase.hstore.blockingStoreFiles": "20"},
        attributes={"MOB_COMPACT_PARTITION_POLICY": "WEEKLY"},
    )

    assert family.descriptor() == FamilyDescriptor(
        name=b"d",
        versions=3,
        min_versions=2,
        ttl_s=86_400,
        compression="GZ",
        bloom="ROWCOL",
        block_encoding="FAST_DIFF",
        keep_deleted_cells="TRUE",
        block_size_bytes=4096,
        scope=1,
        block_cache=False,
        in_memory=True,
        cache_data_on_write=True,
        evict_on_close=True,
        cache_blooms_on_write=True,
        cache_indexes_on_write=True,
        prefetch_on_open=True,
        compress_tags=False,
        new_version_behavior=True,
        mob_enabled=True,
        mob_threshold_bytes=5000,
        dfs_replication=2,
        in_memory_compaction="EAGER",
        storage_policy="ONE_SSD",
        compaction_compression="GZ",
        index_block_encoding="PREFIX_TREE",
        configuration={"hbase.hstore.blockingStoreFiles": "20"},
        attributes={"MOB_COMPACT_PARTITION_POLICY": "WEEKLY"},
    )


def test_every_field_of_a_descriptor_has_an_option() -> None:
    options = inspect.signature(Family).parameters.keys() - {"bloom_prefix_bytes"}
    names = {"ttl_s" if option == "ttl" else option for option in options}

    assert {each.name for each in dataclasses.fields(FamilyDescriptor)} == names


def test_the_prefix_of_a_bloom_filter_is_a_setting() -> None:
    family = Family("d", bloom="ROWPREFIX_FIXED_LENGTH", bloom_prefix_bytes=4).descriptor()

    assert family.configuration == {"RowPrefixBloomFilter.prefix_length": "4"}


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"bloom": "ROWPREFIX_FIXED_LENGTH"}, "bloom_prefix_bytes=4"),
        ({"bloom_prefix_bytes": 4}, "leave bloom_prefix_bytes out"),
        ({"mob_threshold_bytes": 4}, "add mob_enabled=True"),
        ({"configuration": {"RowPrefixBloomFilter.prefix_length": "4"}}, "bloom_prefix_bytes="),
        ({"attributes": {"TTL": "5"}}, "use the option of Family"),
        ({"attributes": {"IS_MOB": "true"}}, "use the option of Family"),
    ],
)
def test_options_that_need_or_repeat_each_other_are_refused(
    options: dict[str, Any], fix: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Family("d", **options)

    assert fix in caught.value.fix


def test_a_family_of_arrival_order_cannot_have_guarded_rows() -> None:
    with pytest.raises(SchemaError, match="new_version_behavior") as caught:

        class Arrived(Model, table="rows"):
            d = Family(new_version_behavior=True)
            n: Key[int] = key()
            v: Mapped[int] = column(d)
            by_v = Index(v)

    assert (caught.value.model, caught.value.families) == ("Arrived", ["d"])


def test_deleted_cells_may_be_kept_for_their_time_to_live() -> None:
    assert Family("d", keep_deleted_cells="TTL").descriptor().keep_deleted_cells == "TTL"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("versions", 0),
        ("min_versions", 2),
        ("min_versions", -1),
        ("ttl", timedelta(milliseconds=1500)),
        ("ttl", timedelta(0)),
        ("ttl", timedelta(seconds=-1)),
        ("block_size_bytes", 0),
        ("versions", "3"),
        ("versions", True),
        ("versions", 1.0),
        ("min_versions", False),
        ("ttl", 5),
        ("block_size_bytes", "64k"),
        ("compression", "gz"),
        ("compression", None),
        ("bloom", "ROWS"),
        ("block_encoding", "FAST"),
        ("keep_deleted_cells", "TRUE"),
        ("keep_deleted_cells", 1),
        ("scope", 2),
        ("scope", True),
        ("block_cache", "no"),
        ("in_memory", 1),
        ("cache_data_on_write", None),
        ("evict_on_close", 0),
        ("mob_enabled", 1),
        ("dfs_replication", -1),
        ("dfs_replication", 32_768),
        ("in_memory_compaction", "LAZY"),
        ("storage_policy", "FAST"),
        ("compaction_compression", "gz"),
        ("index_block_encoding", "PREFIX"),
        ("compress_tags", None),
        ("configuration", {"a": 5}),
        ("configuration", {"a": ""}),
        ("attributes", [("a", "b")]),
    ],
)
def test_an_option_out_of_its_range_is_named(option: str, value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Family("d", **{option: value})

    assert (caught.value.option, caught.value.value) == (option, value)
    assert caught.value.fix.startswith("allowed: ")


def test_the_allowed_values_are_shown() -> None:
    with pytest.raises(SchemaError, match="allowed: 'NONE', 'ROW', 'ROWCOL'"):
        Family("d", bloom="ROWS")  # type: ignore[arg-type]  # meant wrong
    with pytest.raises(SchemaError, match="allowed: a whole number, 0 to 2"):
        Family("d", versions=2, min_versions=3)


@pytest.mark.parametrize(
    "name", [b"d", "", "a:b", ".a", "a/b", "a\\b", "a\n", "_", "recovered.edits"]
)
def test_a_name_that_hbase_or_we_need_is_no_family(name: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Family(name)

    assert caught.value.family == name


def test_a_family_is_called_as_its_attribute_unless_named() -> None:
    class Row(Model, table="rows"):
        d = Family()
        e = Family("events")
        n: Key[int] = key()

    assert Row.__schema__.family_names == (b"d", b"events")


# --- tables ---------------------------------------------------------------------------------------


def declared(table: Table | str, *, salt: int = 0) -> type[Model]:
    class Row(Model, table=table):
        d = Family()
        n: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(*([Salt(salt)] if salt else []), n)

    return Row


def test_a_salted_table_is_cut_at_every_bucket() -> None:
    assert declared("rows", salt=3).__schema__.split_keys == (b"\x01", b"\x02")
    assert declared("rows").__schema__.split_keys == ()


def test_split_keys_out_of_order_are_refused() -> None:
    assert declared(Table("rows", splits=[b"a", b"b"])).__schema__.split_keys == (b"a", b"b")
    with pytest.raises(SchemaError) as caught:
        declared(Table("rows", splits=[b"a", b"c", b"b"]))

    assert (caught.value.table, caught.value.out_of_order) == ("rows", (b"c", b"b"))
    assert "sorted" in caught.value.fix


@pytest.mark.parametrize("splits", [[b"a", b"a"], [b"", b"a"]])
def test_split_keys_are_distinct_and_not_empty(splits: list[bytes]) -> None:
    with pytest.raises(SchemaError) as caught:
        declared(Table("rows", splits=splits))

    assert caught.value.table == "rows"


def test_table_options_reach_the_schema() -> None:
    schema = declared(Table("ns:rows", durability="ASYNC_WAL", region_replication=2)).__schema__

    assert (schema.table, schema.durability, schema.region_replication) == (
        "ns:rows",
        "ASYNC_WAL",
        2,
    )


def test_sizes_and_free_attributes_of_a_table_reach_the_schema() -> None:
    table = Table(
        "rows",
        max_file_size_bytes=5 * 2**30,
        flush_size_bytes=64 * 2**20,
        attributes={"COMPACTION_ENABLED": "false", "owner": "sales"},
    )

    assert declared(table).__schema__.attributes == {
        "COMPACTION_ENABLED": "false",
        "owner": "sales",
        "MAX_FILESIZE": "5368709120",
        "MEMSTORE_FLUSHSIZE": "67108864",
    }


def test_a_record_type_has_the_attributes_of_its_base() -> None:
    class Base(Model, table=Table("records", max_file_size_bytes=5 * 2**30)):
        d = Family()
        owner: Key[str] = key()
        __rowkey__ = rowkey(owner, RecordType())

    class Item(Base, record_type="i"):
        value: Mapped[int] = column(Base.d)

    assert Item.__schema__.attributes == {"MAX_FILESIZE": "5368709120"}


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("MAX_FILESIZE", "max_file_size_bytes="),
        ("MEMSTORE_FLUSHSIZE", "flush_size_bytes="),
        ("DURABILITY", "durability="),
        ("REGION_REPLICATION", "region_replication="),
        ("READONLY", "after its rows were written"),
        ("hbase_orm.row_key", "choose a name"),
        ("hbase.hregion.keyvalue.timestamp.slop.millisecs", "the library sets it"),
    ],
)
def test_attributes_that_have_an_option_or_belong_to_the_library_are_refused(
    name: str, fix: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        Table("rows", attributes={name: "5"})

    assert caught.value.name == name
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_file_size_bytes", 0),
        ("flush_size_bytes", "1 GB"),
        ("attributes", {"a": 5}),
        ("durability", "NEVER"),
        ("durability", None),
        ("region_replication", 0),
        ("region_replication", "2"),
        ("region_replication", True),
        ("splits", "a"),
        ("splits", b"ab"),
        ("splits", ["a"]),
        ("splits", None),
    ],
)
def test_a_table_option_out_of_its_range_is_named(option: str, value: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        Table("rows", **{option: value})

    assert (caught.value.option, caught.value.value) == (option, value)
    assert caught.value.fix.startswith("allowed: ")


@pytest.mark.parametrize("name", ["rows", "_r", "r-1.x", "9", "ns_1:r-1.x", "größe"])
def test_a_name_that_hbase_takes_is_taken(name: str) -> None:
    assert declared(name).__schema__.table == name


@pytest.mark.parametrize(
    "name",
    ["", "a:b:c", ":a", "a:", "-a", ".a", "n:-a", "n:.a", "n-1:a", "a b", "a/b", "a\n", b"a", 5],
)
def test_a_name_that_hbase_does_not_take_is_no_table(name: Any) -> None:
    with pytest.raises(SchemaError, match="the name is not allowed for a table") as caught:
        declared(name)

    assert caught.value.table == name
    assert caught.value.fix


class Guarded(Model, table="ns:guarded"):
    d = Family()
    e = Family()
    n: Key[int] = key(codecs.uint8())
    maybe: Mapped[int | None] = column(e, default=None)
    surely: Mapped[int] = column(e)
    hits: Counter = counter(d)
    by_maybe = Index(maybe, n.desc())


class Plain(Model, table="plain"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    hits: Counter = counter(d)


def test_the_first_required_column_is_the_anchor() -> None:
    assert Guarded.__schema__.anchor is Guarded.__schema__.column_by_name["surely"]
    assert Guarded.__schema__.marker is None


def test_a_model_without_required_columns_has_a_marker() -> None:
    assert (Plain.__schema__.anchor, Plain.__schema__.marker) == (None, b"d:_0")


def test_a_model_with_indexes_is_guarded() -> None:
    assert [model.__schema__.is_guarded for model in (Guarded, Plain)] == [True, False]


# --- indexes --------------------------------------------------------------------------------------


def test_an_index_has_a_table_of_its_own() -> None:
    (index,) = Guarded.__schema__.indexes

    assert (index.name, index.table) == ("by_maybe", "ns:guarded_ix_by_maybe")
    assert [(p.name, p.is_descending) for p in index.layout.parts] == [
        ("maybe", False),
        ("n", True),
    ]


def test_an_index_prints_as_it_was_written() -> None:
    assert repr(Guarded.by_maybe) == "Index(Guarded.maybe, Guarded.n.desc())"


def test_an_index_names_fields() -> None:
    def declare(*components: Any) -> None:
        class Row(Model, table="rows"):
            d = Family()
            n: Key[int] = key()
            by_what = Index(*components)

    with pytest.raises(SchemaError, match="the index has no fields"):
        declare()
    with pytest.raises(SchemaError, match="an argument of Index"):
        declare("unit")


def test_a_counter_cannot_be_indexed() -> None:
    with pytest.raises(SchemaError) as caught:

        class Row(Model, table="rows"):
            d = Family()
            n: Key[int] = key()
            hits: Counter = counter(d)
            by_hits = Index(hits)

    assert (caught.value.index, caught.value.field) == ("by_hits", "hits")


def test_bytes_that_do_not_sort_cannot_be_indexed() -> None:
    with pytest.raises(SchemaError, match="does not keep the order") as caught:

        class Separated(Model, table="rows"):
            d = Family()
            n: Key[int] = key()
            v: Mapped[str] = column(d, codec=codecs.text(separator=b"_"))
            by_v = Index(v)

    assert (caught.value.field, caught.value.codec) == ("v", "text")


def test_hbase_own_numbers_cannot_be_indexed() -> None:
    with pytest.raises(SchemaError, match="does not keep the order") as caught:

        class Signed(Model, table="rows"):
            d = Family()
            n: Key[int] = key()
            v: Mapped[int] = column(d, codec=codecs.get("bytes.int64"))
            by_v = Index(v)

    assert (caught.value.field, caught.value.codec) == ("v", "bytes.int64")
