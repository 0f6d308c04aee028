"""The shell's walk-through: a table `scores` with two families, one row a pupil.

Choose it where a row is got by its name and few rows are scanned: what is always read together is
in one family, what is asked for apart in another. It costs a store and a memstore a family, which
are flushed together, and values as text take more room than numbers. Three cells are there for a
pupil who took two courses, one for a pupil who took none: what is absent takes no space.

Rows come in the order of bytes, Jerry before Tom, in whichever order they were put. Of several
cells of a column the one with the greatest timestamp is read. A row key has at most 32,767 bytes.
"""

from __future__ import annotations

from examples.program import answer, ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, column, key, select


class Score(Model, table="scores"):
    """`[name]`; the column of the level has the empty qualifier: `grade:`."""

    grade = Family()
    course = Family()
    name: Key[str] = key()
    level: Mapped[str] = column(grade, "")
    math: Mapped[str | None] = column(course, default=None)
    art: Mapped[str | None] = column(course, default=None)


SCORES = [
    Score(name="Tom", level="1", math="87", art="97"),
    Score(name="Jerry", level="2", math="100", art="80"),
]


def show(engine: Engine) -> None:
    """Create the table, put two rows, get one, scan all, scan one family."""
    engine.drop_tables(Score)
    engine.create_tables(Score)
    with engine.session() as session:
        session.add_all(SCORES)
        session.flush()

        tom = ask(session, "get 'scores', 'Tom'", select(Score).where(Score.name == "Tom"))
        everyone = ask(session, "scan 'scores'", select(Score).allow_full_scan())
        courses = ask(
            session,
            "scan 'scores', {COLUMNS => ['course']}",
            select(Score.name, Score.math, Score.art).allow_full_scan(),
        )
        print("\ncells of Jerry")
        cells = answer(session.stored_cells(Score, name="Jerry"))

    assert [score.math for score in tom] == ["87"]
    assert [score.name for score in everyone] == ["Jerry", "Tom"]
    assert courses == [("Jerry", "100", "80"), ("Tom", "87", "97")]
    assert [cell.column for cell in cells] == [b"course:art", b"course:math", b"grade:"]


if __name__ == "__main__":
    run(show)
