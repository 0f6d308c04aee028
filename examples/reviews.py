"""Constraints: the stars of a review lie between 1 and 10.

Choose validators for what a single field may hold: they are asked before anything is sent, and they
cost no request. They bind the programs that have this declaration, and no others: HBase itself
accepts any bytes, and rows that were written before the rule, or by other programs, are read as
they are. What spans several rows (that the reviewed thing exists) is better left to the questions
that are asked: each check would be a request, and the row may be gone a moment later.
"""

from __future__ import annotations

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, select, validators
from hbase_orm.errors import ValidationError


class Review(Model, table="reviews"):
    """`[review]`; the stars are one byte."""

    d = Family()
    review_id: Key[str] = key()
    stars: Mapped[int] = column(d, "s", codec=codecs.uint8(), validate=validators.between(1, 10))


class Unchecked(Model, table="reviews"):
    """The same table as a program without the rule sees it."""

    d = Family()
    review_id: Key[str] = key()
    stars: Mapped[int] = column(d, "s", codec=codecs.uint8())


def refused(stars: int) -> bool:
    """Return whether a review with so many stars is refused, and why."""
    try:
        Review(review_id="r9", stars=stars)
    except ValidationError as error:
        print(f"{stars} stars are refused: {error}")
        return True
    return False


def show(engine: Engine) -> None:
    """Store the least and the most stars; be refused 0 and 11 everywhere; read an older 11."""
    engine.drop_tables(Review)
    engine.create_tables(Review)
    assert [refused(stars) for stars in (0, 1, 10, 11)] == [True, False, False, True]
    with engine.session() as session:
        session.add_all([Review(review_id="r1", stars=1), Review(review_id="r2", stars=10)])
        session.add(Unchecked(review_id="r0", stars=11))
        session.flush()
        for number in (0, 11):
            try:
                session.put_row(Review, Review.stars.to(number), review_id="r1")
            except ValidationError as error:
                print(f"refused without an object: {error}")
            else:
                raise AssertionError("changes by key alone are checked as well")
        found = ask(session, "all reviews", select(Review).allow_full_scan())

    assert [(each.review_id, each.stars) for each in found] == [("r0", 11), ("r1", 1), ("r2", 10)]


if __name__ == "__main__":
    run(show)
