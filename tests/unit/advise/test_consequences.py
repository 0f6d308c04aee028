"""What the rules warn of does happen: each consequence is shown once, with its number."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import Engine, Model, connect, select
from hbase_orm.advise import RULES, lint
from hbase_orm.advise.index_rules import _entry_bytes, _row_bytes
from hbase_orm.advise.sizes import CELL_BYTES, row_bytes
from hbase_orm.errors import RowKeyError, UnboundedScanError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import GetRows, Row
from hbase_orm.query import GetPlan, SaltedScanPlan, plan
from hbase_orm.rowkey.leading import leading_bytes
from hbase_orm.rowkey.reach import survey
from hbase_orm.session import Engine as SessionEngine
from tests.support.linted_models import (
    PAIRS,
    AtRandom,
    BucketOfDay,
    BucketOfTime,
    ByKind,
    BySaltedKind,
    BySaltedTime,
    ByTime,
    CopiesAll,
    EagerPhoto,
    Ends,
    EnoughBuckets,
    EvenSplits,
    FewBuckets,
    Film,
    FourFamilies,
    HashOfTime,
    History,
    HostThenNewest,
    Kind,
    LastStays,
    LongNames,
    MobPhoto,
    NewestFirst,
    OneFamily,
    OnlyTime,
    PaddedByX,
    RandomEnd,
    Salted,
    SaltOfHost,
    SaltOfKind,
    Split,
    TimeFirst,
    Underscore,
    UselessTtl,
    Whole,
    WrongSplits,
)
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.replicas import rows_in

T0 = datetime(2026, 1, 1, tzinfo=UTC)
SECOND, MS = timedelta(seconds=1), timedelta(milliseconds=1)
REGIONS = 16


def region_of(split_keys: Sequence[bytes], key: bytes) -> int:
    return bisect_right(split_keys, key)


def split_like(keys: Iterable[bytes]) -> list[bytes]:
    """Return split keys that divide the rows of a table into 16 equal regions."""
    rows = sorted(keys)
    return [rows[len(rows) * number // REGIONS] for number in range(1, REGIONS)]


def largest_share(split_keys: Sequence[bytes], keys: Iterable[bytes]) -> float:
    """Return the share of rows that the busiest region gets."""
    counts = Counter(region_of(split_keys, key) for key in keys)
    return max(counts.values()) / counts.total()


def log_keys(model: Any, first: int, count: int) -> list[bytes]:
    """Return the row keys of rows that are written one a second, by 50 hosts."""
    seconds = range(first, first + count)
    return [model.encode_key(host=f"host{n % 50}", at=T0 + n * SECOND) for n in seconds]


# --- where rows are written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "share"),
    [(TimeFirst, 1.0), (NewestFirst, 1.0), (Salted, 0.15), (HostThenNewest, 0.15)],
    ids=["time first", "newest first", "salted", "host first"],
)
def test_new_rows_of_a_table_of_sixteen_regions(model: Any, share: float) -> None:
    """key-monotone, key-descending: one region of a full table takes every new row."""
    splits = split_like(log_keys(model, 0, 3200))

    busiest = largest_share(splits, log_keys(model, 10_000, 1000))

    assert busiest == share if share == 1.0 else busiest <= share


def test_a_random_end_leaves_the_rows_of_a_host_where_they_are() -> None:
    """key-random-suffix."""
    numbers = range(100)
    hosts = [
        RandomEnd.encode_key(host=f"host{n}", random=k) for n in range(100, 200) for k in numbers
    ]
    busy = [RandomEnd.encode_key(host="host150", random=number) for number in numbers]

    assert largest_share(split_like(hosts), busy) == 1.0


def test_rows_of_one_millisecond_replace_each_other() -> None:
    """key-not-unique: as many as the advice says, 36.79 %."""
    chance = random.Random(7)
    with connect("memory://") as engine:
        engine.create_tables(OnlyTime)
        with engine.session() as session, session.bulk() as bulk:
            for value in range(1000):
                bulk.add(OnlyTime(at=T0 + chance.randrange(1000) * MS, value=value))
        with engine.session() as session:
            kept = session.count(select(OnlyTime).allow_full_scan())

    (advice,) = lint(OnlyTime)
    assert "36.79 %" in advice.why
    assert 1 - kept / 1000 == pytest.approx(0.3679, abs=0.03)


@pytest.mark.parametrize(("model", "used"), [(SaltOfKind, 2), (SaltOfHost, 16)])
def test_a_salt_of_few_values_has_few_buckets(model: Any, used: int) -> None:
    """salt-few-values."""
    keys = [model.encode_key(kind=[*Kind][n % 2], host=f"host{n}") for n in range(1000)]

    assert len({key[0] for key in keys}) == used


@pytest.mark.parametrize(("model", "used"), [(BucketOfDay, 1), (BucketOfTime, 16)])
def test_a_bucket_of_a_day_is_one_bucket_all_day(model: Any, used: int) -> None:
    """salt-of-period."""
    keys = [model.encode_key(at=T0 + n * 1233 * MS, host="a") for n in range(1000)]

    assert len({key[0] for key in keys}) == used


@pytest.mark.parametrize(("model", "used"), [(FewBuckets, 8), (EnoughBuckets, 16)])
def test_new_rows_behind_a_salt_are_in_one_region_a_bucket(model: Any, used: int) -> None:
    """salt-fewer-than-regions."""
    split_keys = model.__schema__.split_keys

    written = {region_of(split_keys, key) for key in log_keys(model, 0, 1000)}

    assert (len(split_keys), len(written)) == (15, used)


@pytest.mark.parametrize(("model", "used"), [(WrongSplits, 4), (EvenSplits, 10)])
def test_hexadecimal_keys_reach_four_of_ten_regions_of_bytes(model: Any, used: int) -> None:
    """regions-unreachable: three in fact, and a fourth by a single key."""
    schema = model.__schema__
    reached = [r for r in survey(schema.split_keys, leading_bytes(schema.layout)) if r.is_reachable]

    keys = [model.encode_key(name=f"name{n}") for n in range(5000)]
    written = {region_of(schema.split_keys, key) for key in keys}

    assert len(reached) == used
    assert len(written) in {used, used - 1}


def test_a_new_table_of_uuids_has_one_region() -> None:
    """regions-one."""
    with connect("memory://") as engine:
        engine.create_tables(Whole, Split)

        regions = [len(engine.regions(model)) for model in (Whole, Split)]

    assert regions == [1, 16]


# --- what reads and values cost -------------------------------------------------------------------


def test_a_get_under_a_random_salt_asks_for_every_bucket() -> None:
    """salt-random."""
    asked = plan(
        select(AtRandom).where(AtRandom.at == T0, AtRandom.host == "a"), AtRandom.__schema__
    )
    computed = plan(select(Salted).where(Salted.at == T0, Salted.host == "a"), Salted.__schema__)

    assert isinstance(asked, GetPlan)
    assert isinstance(computed, GetPlan)
    assert (len(asked.keys), len(computed.keys)) == (8, 1)


def test_a_range_behind_a_hash_of_its_time_is_the_whole_table() -> None:
    """hash-hides-range."""
    with pytest.raises(UnboundedScanError):
        plan(select(HashOfTime).where(HashOfTime.at >= T0), HashOfTime.__schema__)

    salted = plan(select(Salted).where(Salted.at >= T0), Salted.__schema__)

    assert isinstance(salted, SaltedScanPlan)
    assert len(salted.buckets) == 16


def test_values_with_a_separator_or_the_padding_are_refused_as_the_advice_says() -> None:
    """key-separator, key-padding."""
    with pytest.raises(RowKeyError):
        Underscore.encode_key(host="web_1", number=1)
    with pytest.raises(RowKeyError):
        PaddedByX.encode_key(host="box")

    keys = [Underscore.encode_key(host=host, number=1) for host in ("host12", "host1")]
    assert keys == sorted(keys)


# --- sizes ----------------------------------------------------------------------------------------


def stored_bytes(rows: Iterable[Row]) -> int:
    """Return the bytes of all cells as HBase's KeyValue has them."""
    return sum(
        CELL_BYTES + len(row.key) + len(column) - 1 + len(cell.value)
        for row in rows
        for column, cell in row.cells.items()
    )


def stored(engine: Engine, table: str) -> int:
    return stored_bytes(rows_in(gateway_of(engine), table))


@pytest.mark.parametrize(
    ("rule", "values", "saved"),
    [
        ("key-long", {"path": "/" + "x" * 199, "value": 1, "size": 2, "owner": 3}, 314),
        ("number-as-text", {"host": "a", "number": 7, "value": 1}, 5),
    ],
)
def test_sizes_of_rows_are_those_that_the_advice_has(
    rule: str, values: dict[str, Any], saved: int
) -> None:
    """key-long, number-as-text: exact, where every width is declared."""
    pair = PAIRS[rule]
    with connect("memory://") as engine:
        for model in pair:
            engine.create_tables(model)
            with engine.session() as session:
                session.add(model(**values))
        wrong, right = (stored(engine, model.__schema__.table) for model in pair)

    (advice,) = (each for each in lint(pair.wrong) if each.rule == rule)
    assert wrong == row_bytes(pair.wrong.__schema__)
    assert wrong - right == saved
    assert str(saved) in f"{advice.why} {advice.fix}"


def test_long_names_take_as_many_bytes_as_the_advice_says() -> None:
    """names-long: 53 bytes of a row."""
    with connect("memory://") as engine:
        engine.create_tables(LongNames)
        with engine.session() as session:
            session.add(LongNames(name="a", temperature_celsius=20.5, humidity_percent=40.0))
        (row,) = rows_in(gateway_of(engine), "long_names")

    short = Row(row.key, dict(zip((b"d:tc", b"d:hp"), row.cells.values(), strict=True)))
    (advice,) = lint(LongNames)
    assert stored_bytes([row]) - stored_bytes([short]) == 53
    assert "53 bytes more" in advice.why


def test_a_covering_index_is_larger_than_its_table() -> None:
    """index-covering-large: the estimate is within a tenth of what is stored."""
    with connect("memory://") as engine:
        engine.create_tables(CopiesAll)
        with engine.session() as session:
            for number in range(20):
                session.add(
                    CopiesAll(
                        name=f"{number:016}",
                        title="t" * 16,
                        author="a" * 16,
                        placed=T0,
                        kind=Kind.NEW,
                        size=1,
                        price=2,
                    )
                )
        table, entries = (
            stored(engine, name) / 20 for name in ("copies_all", "copies_all_ix_by_title")
        )

    schema = CopiesAll.__schema__
    assert entries > table
    assert entries == pytest.approx(_entry_bytes(schema, schema.indexes[0]), rel=0.1)
    assert table == pytest.approx(_row_bytes(schema), rel=0.1)


def test_a_value_of_more_than_ten_megabytes_is_refused() -> None:
    """cell-large."""
    with connect("memory://") as engine:
        engine.create_tables(Film)
        film = Film(name="a", film=b"x" * 11_000_000)
        with engine.session() as session, pytest.raises(ValidationError, match="larger than"):
            session.insert(film)


@pytest.mark.parametrize(("model", "is_read"), [(EagerPhoto, True), (MobPhoto, False)])
def test_a_large_value_is_read_with_every_object(model: Any, is_read: bool) -> None:  # noqa: FBT001  # a case
    """column-not-deferred."""
    with connect("memory://") as engine:
        engine.create_tables(model)
        sent = RecordsRequests(gateway_of(engine))
        with engine.session() as session:
            session.add(model(name="a", photo=b"x" * 200_000))
        with through(sent, engine).session() as session:
            session.get(model, name="a")

    table = model.__schema__.table
    (read,) = [r for r in sent.requests if isinstance(r, GetRows) and r.table == table]
    assert (b"p" in {column.partition(b":")[0] for column in read.columns}) is is_read


# --- families, versions, lifetimes ----------------------------------------------------------------


@pytest.mark.parametrize(("model", "families"), [(FourFamilies, 4), (OneFamily, 1)])
def test_a_read_of_a_row_asks_each_family(model: Any, families: int) -> None:
    """families-many."""
    read = plan(select(model).where(model.name == "a"), model.__schema__)

    assert len({column.partition(b":")[0] for column in read.fetched}) == families


def test_versions_make_a_row_as_large_as_their_number() -> None:
    """versions-many, versions-as-rows."""
    with connect("memory://") as engine:
        engine.create_tables(History)
        with engine.session() as session:
            row = History(name="a", value=0)
            for value in range(60):
                row.value = value
                session.add(row, timestamp_ms=1_000_000 + value)
                session.flush()
            cells = session.history(row, History.value, limit=1000)

    assert len(cells) == 50


class Clock:
    """A server's clock that is set by hand."""

    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.mark.parametrize(("model", "left"), [(UselessTtl, 3), (LastStays, 1), (Ends, 0)])
def test_a_lifetime_spares_the_versions_that_are_kept_in_any_case(model: Any, left: int) -> None:
    """ttl-no-effect, ttl-min-versions, families-unlike."""
    clock = Clock()
    with connect("memory://") as plain:
        engine = SessionEngine(MemoryGateway(clock), plain.options)
        engine.create_tables(model)
        with engine.session() as session:
            row = model(name="a", value=0)
            for value in range(3):
                row.value = value
                session.add(row)
                session.flush()
                clock.now_ms += 1000
            clock.now_ms += 2 * 86_400_000
            cells = session.history(row, model.value, limit=10)

    assert len(cells) == left


# --- indexes --------------------------------------------------------------------------------------


def entry_keys(model: type[Model], table: str, rows: int) -> list[bytes]:
    """Return the keys of the entries of rows that are placed one a second."""
    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session, session.bulk() as bulk:
            for n in range(rows):
                placed = T0 + n * SECOND
                bulk.add(
                    model(
                        name=f"{n * 7919 % 10_007}", placed=placed, kind=Kind.NEW, size=1, price=1
                    )
                )
        return sorted(row.key for row in rows_in(gateway_of(engine), table))


@pytest.mark.parametrize(
    ("model", "table", "share"),
    [
        (ByTime, "by_time_ix_by_time", 1.0),
        (BySaltedTime, "by_salted_time_ix_by_time", 0.15),
        (ByKind, "by_kind_ix_by_kind", 1.0),
        (BySaltedKind, "by_salted_kind_ix_by_kind", 0.15),
    ],
)
def test_entries_of_new_rows_of_a_table_of_sixteen_regions(
    model: type[Model], table: str, share: float
) -> None:
    """index-monotone, index-low-cardinality."""
    keys = entry_keys(model, table, 1600)
    late = entry_keys_of_the_latest(model, table, keys)

    busiest = largest_share(split_like(set(keys) - set(late)), late)

    assert busiest == share if share == 1.0 else busiest <= share


def entry_keys_of_the_latest(model: type[Model], table: str, keys: Sequence[bytes]) -> list[bytes]:
    """Return the keys of the last hundred entries that were written."""
    return sorted(set(keys) - set(entry_keys(model, table, 1500)))


# --- statements -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            select(Salted).where(Salted.value == 7).allow_full_scan(),
            select(HostThenNewest).where(HostThenNewest.host == "host7"),
            id="statement-full-scan",
        ),
        pytest.param(
            select(Salted).where(Salted.at >= T0, Salted.host == "host7"),
            select(HostThenNewest).where(HostThenNewest.host == "host7"),
            id="statement-filters",
        ),
        pytest.param(
            select(Salted).where(Salted.at >= T0).limit(1),
            select(HostThenNewest).where(HostThenNewest.host == "host7").limit(1),
            id="statement-fan-out",
        ),
    ],
)
def test_a_statement_opens_more_scanners_or_reads_more_rows(wrong: Any, right: Any) -> None:
    """statement-full-scan, statement-filters, statement-fan-out."""
    with connect("memory://") as engine:
        engine.create_tables(Salted, HostThenNewest)
        with engine.session() as session, session.bulk() as bulk:
            for n in range(500):
                at, host = T0 + n * SECOND, f"host{n % 50}"
                bulk.add(Salted(at=at, host=host, value=n))
                bulk.add(HostThenNewest(at=at, host=host, value=n))
        with engine.session() as session:
            costs = [session.explain(each, analyze=True).measured for each in (wrong, right)]

    much, little = (sum(r.count for r in cost.requests) for cost in costs if cost is not None)
    assert much > 5 * little


def test_each_rule_has_a_consequence() -> None:
    docs = " ".join(each.__doc__ or "" for name, each in globals().items() if "test_" in name)

    # MOB files were measured, in docs/lint.md; a reason without use costs nothing.
    shown = set(re.findall(r"[a-z]+(?:-[a-z]+)+", docs))
    assert RULES.keys() - shown == {"cell-without-mob", "silence-unused"}
