"""Tables on a real HBase, compared with their models and altered while they have rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from hbase_orm import Drift, Engine, Family, Index, Key, Mapped, Model, column, connect, key
from hbase_orm.errors import CompressionMissingError
from hbase_orm.ops import DescribeTable, ModifyFamily
from tests.support.altered_shop import first_release, later_release
from tests.support.backends import thrift1_url
from tests.support.recording import gateway_of
from tests.support.stepping import CrashedError

pytestmark = pytest.mark.hbase


class Tagged(Model, table="tagged"):
    """A model whose index needs no guards."""

    d = Family(versions=3, bloom="ROWCOL", in_memory=True)
    name: Key[str] = key()
    tag: Mapped[str] = column(d)
    by_tag = Index(tag)


@pytest.fixture(scope="module")
def engine(url: str) -> Iterator[Engine]:
    """Return an engine with the tables of the first release, and a row."""
    first: Any = first_release()
    with connect(url) as engine:
        engine.create_tables(first)
        with engine.session() as session:
            session.add(first(number=1, state="new", extra="x"))
        yield engine


def differences(engine: Engine, model: type[Model]) -> list[str]:
    return [str(each) for check in engine.check_tables(model) for each in check.differences]


def test_tables_are_altered_with_their_rows_and_set_back(engine: Engine) -> None:
    first, later = first_release(), later_release()
    table = f"{engine.options.namespace}:orders"
    theirs = ModifyFamily(table, b"d", {"attributes": {"THEIRS": "1"}})
    gateway_of(engine).execute(theirs)
    assert differences(engine, first) == []

    engine.alter_tables(later, allow_data_loss=True)

    assert differences(engine, later) == []
    with engine.session() as session:
        row: Any = session.get(later, number=1)
        assert (row.state, row.extra, row.note) == ("new", "x", None)
    engine.alter_tables(first, allow_data_loss=True)
    assert differences(engine, first) == []
    families = gateway_of(engine).execute(DescribeTable(table)).families
    assert [family.name for family in families] == [b"_", b"d", b"e", b"f"]
    assert families[1].attributes == {"THEIRS": "1"}


def dying_at(step: int) -> Callable[[object], None]:
    """Return a progress function that kills the alteration before a step."""
    steps = count()

    def die(_: object) -> None:
        if next(steps) == step:
            raise CrashedError

    return die


def test_a_killed_alteration_is_finished_by_the_next_one(engine: Engine) -> None:
    killed_at, releases = (1, 3, 5, 6), (later_release(), first_release())
    engine.alter_tables(releases[1], allow_data_loss=True)

    for number, step in enumerate(killed_at):
        release = releases[number % 2]
        with pytest.raises(CrashedError):
            engine.alter_tables(release, allow_data_loss=True, on_progress=dying_at(step))
        assert differences(engine, release) != []
        engine.alter_tables(release, allow_data_loss=True)
        assert differences(engine, release) == []


def test_a_change_that_hbase_refuses_names_what_is_left(engine: Engine) -> None:
    class Page(Model, table="pages"):
        d = Family()
        name: Key[str] = key()
        text: Mapped[str] = column(d)

    class Compressed(Model, table="pages"):
        d = Family(compression="LZ4")
        e = Family(versions=2)
        name: Key[str] = key()
        text: Mapped[str] = column(d)

    engine.create_tables(Page)
    table = f"{engine.options.namespace}:pages"

    with pytest.raises(CompressionMissingError) as caught:
        engine.alter_tables(Compressed)

    assert caught.value.made == [f"{table}: add family e"]
    assert caught.value.left == [
        f"{table}: family d: compression NONE -> LZ4",
        f"{table}: update the record in the catalog",
    ]


def test_tables_of_a_program_without_thrift2_are_as_declared(engine: Engine) -> None:
    with connect(thrift1_url(engine)) as plain:
        plain.create_tables(Tagged)
        (check,) = plain.check_tables(Tagged)

    assert not check.has_drift
    assert {each.drift for each in check.differences} == {Drift.UNDECIDED}


def test_thrift1_shows_some_of_the_drift(engine: Engine) -> None:
    class Note(Model, table="notes"):
        d = Family(versions=2, min_versions=1)
        name: Key[str] = key()
        text: Mapped[str] = column(d)

    engine.create_tables(Note)
    table = f"{engine.options.namespace}:notes"
    with connect(thrift1_url(engine)) as plain:
        (before,) = plain.check_tables(Note)
        gateway_of(engine).execute(ModifyFamily(table, b"d", {"versions": 3, "min_versions": 2}))
        (after,) = plain.check_tables(Note)

    assert not before.has_drift
    assert [(each.subject, each.drift) for each in after.differences] == [
        ("family d: versions", Drift.DIFFERENT),
        ("other options", Drift.UNDECIDED),
    ]
