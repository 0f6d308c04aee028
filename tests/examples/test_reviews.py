from __future__ import annotations

import pytest

from examples import reviews
from examples.reviews import Review
from hbase_orm import select
from hbase_orm.errors import ValidationError
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

MORE = [(f"m{n}", n % 10 + 1) for n in range(1000)]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows]:
    return stage.play(reviews), stage.rows("reviews")


def test_one_and_ten_stars_are_stored_and_an_older_eleven_is_read(
    first: tuple[str, Rows],
) -> None:
    printed, rows = first

    assert rows == {b"r0": {b"d:s": b"\x0b"}, b"r1": {b"d:s": b"\x01"}, b"r2": {b"d:s": b"\x0a"}}
    assert "Review(review_id='r0', stars=11)" in printed


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("stars", [0, 11])
def test_0_and_11_are_refused_before_any_request(stage: Stage, stars: int) -> None:
    before = len(stage.gateway.requests)

    with stage.engine.session() as session:
        with pytest.raises(ValidationError, match="refuses the value"):
            Review(review_id="m0", stars=stars)
        with pytest.raises(ValidationError, match="refuses the value"):
            session.put_row(Review, Review.stars.to(stars), review_id="m0")

    assert stage.gateway.requests[before:] == []


@pytest.mark.usefixtures("first")
def test_among_a_thousand_reviews_the_best_are_found(stage: Stage) -> None:
    stage.load(Review(review_id=review_id, stars=stars) for review_id, stars in MORE)
    some = select(Review).where(Review.review_id >= "m5", Review.review_id < "m7")

    best, cost = stage.sent_by(lambda session: session.all(some.where(Review.stars >= 9)))
    one, one_get = stage.sent_by(lambda session: session.get(Review, review_id="m9"))

    assert [(each.review_id, each.stars) for each in best] == sorted(
        (review_id, stars) for review_id, stars in MORE if "m5" <= review_id < "m7" and stars >= 9
    )
    assert cost.scanners == 1
    assert one is not None
    assert (one.stars, one_get) == (10, Sent(gets=1, rows=1))
