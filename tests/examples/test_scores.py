from __future__ import annotations

import pytest

from examples import scores
from examples.scores import Score
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

EXPECTED: Rows = {
    b"Jerry": {b"course:art": b"80", b"course:math": b"100", b"grade:": b"2"},
    b"Tom": {b"course:art": b"97", b"course:math": b"87", b"grade:": b"1"},
}

# Names that begin with others, names of the first and the last bytes, some without a course.
MORE = [
    (f"{name}{n}", str(n % 3), str(n % 7) if n % 2 else None)
    for n in range(250)
    for name in ("Tom", "Tomm", "\x01", "\U0010ffff")
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows]:
    return stage.play(scores), stage.rows("scores")


def test_six_cells_stand_in_two_rows(first: tuple[str, Rows]) -> None:
    _, rows = first

    assert rows == EXPECTED
    assert list(rows) == [b"Jerry", b"Tom"]
    assert sum(map(len, rows.values())) == 6


def test_the_family_course_has_four_cells(first: tuple[str, Rows], stage: Stage) -> None:
    courses = stage.rows("scores", columns=[b"course"], row_stop=b"Tom\x00")

    assert {key: courses[key] for key in first[1]} == {
        b"Jerry": {b"course:art": b"80", b"course:math": b"100"},
        b"Tom": {b"course:art": b"97", b"course:math": b"87"},
    }


def test_the_plans_and_the_rows_are_printed(first: tuple[str, Rows]) -> None:
    printed, _ = first

    assert "├─ get Tom\n" in printed
    assert "Score(name='Jerry', level='2', math='100', art='80')\n" in printed
    assert "Values(name='Tom', math='87', art='97')\n" in printed


@pytest.mark.usefixtures("first")
def test_among_a_thousand_names_each_is_found_alone(stage: Stage) -> None:
    stage.load(Score(name=name, level=level, math=math) for name, level, math in MORE)
    everyone: dict[str, tuple[str, str | None]] = {"Jerry": ("2", "100"), "Tom": ("1", "87")}
    everyone |= {name: (level, math) for name, level, math in MORE}

    found, cost = stage.sent_by(lambda session: session.all(select(Score).allow_full_scan()))
    tom, one_get = stage.sent_by(lambda session: session.get(Score, name="Tom"))
    toms, _ = stage.sent_by(
        lambda session: session.all(select(Score.name).where(Score.name.startswith("Tom1")))
    )

    assert {score.name: (score.level, score.math) for score in found} == everyone
    assert [score.name for score in found] == sorted(everyone, key=str.encode)
    assert cost.scanners == 1
    assert tom is not None
    assert (tom.level, tom.math, tom.art) == ("1", "87", "97")
    assert one_get == Sent(gets=1, rows=1)
    assert toms == sorted(name for name in everyone if name.startswith("Tom1"))
