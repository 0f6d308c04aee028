from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from examples import versions
from examples.versions import Config, Forgetful
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

MS = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, dict[str, Rows]]:
    printed = stage.play(versions)
    tables = ("configs", "configs_forgetful", "configs_brief")
    return printed, {table: stage.rows(table) for table in tables}


def test_now_14_is_seen(first: tuple[str, dict[str, Rows]]) -> None:
    for table in ("configs", "configs_forgetful"):
        assert first[1][table] == {b"r1": {b"e:c1": b"value 14", b"e:_0": b"x"}}


@pytest.mark.usefixtures("first")
def test_before_the_delete_10_is_seen_only_where_deleted_cells_are_kept(stage: Stage) -> None:
    # The server's own answer: cells with timestamps below 11 and below 12.
    with closing(stage.happybase()) as connection:
        kept = connection.table(stage.name_of("configs"))
        forgotten = connection.table(stage.name_of("configs_forgetful"))
        of = {
            before: [table.row(b"r1", [b"e:c1"], timestamp=before) for table in (kept, forgotten)]
            for before in (11, 12, 13)
        }

    assert of == {
        11: [{b"e:c1": b"value 10"}, {}],
        12: [{}, {}],
        13: [{b"e:c1": b"value 12"}, {b"e:c1": b"value 12"}],
    }


@pytest.mark.usefixtures("first")
def test_the_raw_read_lists_14_12_the_marker_11_and_10(stage: Stage) -> None:
    cells, _ = stage.sent_by(lambda session: session.stored_cells(Config, name="r1"))

    assert [
        (cell.timestamp_ms, cell.kind, cell.value) for cell in cells if cell.column == b"e:c1"
    ] == [
        (14, "put", b"value 14"),
        (12, "put", b"value 12"),
        (11, "delete_column", b""),
        (10, "put", b"value 10"),
    ]


def test_cells_expire_and_with_min_versions_one_stays(
    first: tuple[str, dict[str, Rows]],
) -> None:
    usual = "  Brief(name='usual', value='x', kept='x')"
    now, later, last = first[0].split("seconds more\n")[1:]

    assert now.splitlines()[:3] == [
        "  Brief(name='long', value='x', kept=None)",
        "  Brief(name='short', value='x', kept='x')",
        usual,
    ]
    assert later.splitlines()[:2] == ["  Brief(name='long', value='x', kept=None)", usual]
    assert last.splitlines() == ["  Brief(name='usual', value=None, kept='x')"]
    assert first[1]["configs_brief"] == {b"usual": {b"k:v": b"x"}}


@pytest.mark.usefixtures("first")
def test_a_thousand_rows_of_the_past_are_what_python_says(stage: Stage) -> None:
    # Each row is put at two times and deleted at a third: one step within, and outside of, as_of.
    written = {f"more{n}": (20 + n % 7, 25 + n % 5, 18 + n % 13) for n in range(1000)}
    for number in (0, 1):
        with stage.engine.session() as session:
            for name, times in written.items():
                obj = Config(name=name, value=f"{times[number]}")
                session.add(obj, timestamp_ms=times[number])
    with stage.engine.session() as session:
        for row in session.all(select(Config).where(Config.name.startswith("more"))):
            row.value = None
            session.add(row, timestamp_ms=written[row.name][2])

    def as_of(moment: int, name: str) -> str | None:
        early, late, deleted = written[name]
        puts = [ts for ts in (early, late) if ts <= moment]
        puts = [ts for ts in puts if deleted > moment or ts > deleted]
        return f"{max(puts)}" if puts else None

    past = select(Config.name, Config.value).where(Config.name.startswith("more"))
    for moment in (19, 22, 26, 31):
        rows, cost = stage.sent_by(
            lambda session, moment=moment: session.all(past.as_of(EPOCH + moment * MS))  # type: ignore[misc]  # a default binds the loop's value
        )
        found = {name: value for name, value in rows if value is not None}
        wanted = {name: as_of(moment, name) for name in written}
        assert found == {name: value for name, value in wanted.items() if value is not None}
        assert cost.scanners == 1

    one, one_get = stage.sent_by(lambda session: session.get(Forgetful, name="r1"))
    assert one is not None
    assert one_get == Sent(gets=1, rows=1)
