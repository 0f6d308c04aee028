"""Validators: asked when a value is set, never when it is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from hbase_orm import Dynamic, Family, Key, Mapped, Model, codecs, column, connect, dynamic, key
from hbase_orm import validators as v
from hbase_orm.errors import SchemaError, ValidationError
from hbase_orm.ops import Cell, Row


def even(value: int) -> None:
    if value % 2:
        raise ValueError("must be even")


class Review(Model, table="reviews"):
    d = Family()
    review_id: Key[str] = key()
    stars: Mapped[int] = column(d, "s", codec=codecs.uint8(), validate=v.between(1, 10))
    size: Mapped[str] = column(d, default="m", validate=v.one_of("s", "m", "l"))
    mark: Mapped[int | None] = column(
        d, codec=codecs.uint8(), default=None, validate=v.between(1, 6)
    )
    code: Mapped[str] = column(d, default_factory=lambda: "ab", validate=v.matches("[a-z]+"))
    pair: Mapped[int] = column(d, default=2, validate=even)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


def review(**values: Any) -> Review:
    return Review(**{"review_id": "r", "stars": 5, **values})


# --- the usual ones --------------------------------------------------------------------------------

JUDGED: list[tuple[Callable[[Any], None], list[Any], list[Any], str]] = [
    (v.between(1, 10), [1, 10], [0, 11, -1], "must be from 1 to 10"),
    (v.between(0.5, 1.0), [0.5, 1.0], [0.49, float("nan"), 1.01], "must be from 0.5 to 1.0"),
    (v.one_of("s", "m"), ["s", "m"], ["", "S", "sm"], "must be one of 's', 'm'"),
    (v.matches("[a-z]+"), ["a", "abc"], ["", "a1", "1a", "a\n"], "must match '[a-z]+' as a whole"),
    (v.min_length(2), ["ab", b"abc", [1, 2]], ["a", b"", [1]], "must not be shorter than 2"),
    (v.max_length(2), ["ab", b"", [1]], ["abc", b"abc", [1, 2, 3]], "must not be longer than 2"),
    (v.all_of(v.min_length(1), v.max_length(2)), ["a", "ab"], ["abc"], "must not be longer than 2"),
    (v.all_of(v.min_length(1), v.max_length(2)), [], [""], "must not be shorter than 1"),
]


@pytest.mark.parametrize(("validate", "good", "bad", "reason"), JUDGED)
def test_a_validator_accepts_and_refuses(
    validate: Callable[[Any], object], good: list[Any], bad: list[Any], reason: str
) -> None:
    assert [validate(value) for value in good] == [None] * len(good)
    for value in bad:
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is compared
            validate(value)
        assert str(caught.value) == reason


def test_validators_print_as_they_are_written() -> None:
    both = v.all_of(v.one_of(1, 2), v.between(1, 2))

    assert repr(both) == "all_of(one_of(1, 2), between(1, 2))"
    assert repr([v.matches("a"), v.min_length(1), v.max_length(2)]) == (
        "[matches('a'), min_length(1), max_length(2)]"
    )


WRONG: dict[str, Callable[[], object]] = {
    "bounds in the wrong order": lambda: v.between(10, 1),
    "bounds that do not compare": lambda: v.between(cast("Any", 1), "x"),
    "a bound that nothing equals": lambda: v.between(float("nan"), 1.0),
    "no choices": v.one_of,
    "the argument is not a regular expression": lambda: v.matches("("),
    "no text": lambda: v.matches(cast("Any", 3)),
    "a negative length": lambda: v.max_length(-1),
    "a length that is a bool": lambda: v.min_length(True),
    "a length that is text": lambda: v.min_length(cast("Any", "3")),
    "the argument is not a validator": lambda: v.all_of(cast("Any", 3)),
    "a call": lambda: column(validate=cast("Any", 3)),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_validator_that_cannot_judge_is_refused_where_it_is_declared(case: str) -> None:
    with pytest.raises(SchemaError) as caught:
        WRONG[case]()

    assert caught.value.fix


# --- fields ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("stars", 11, "must be from 1 to 10"),
        ("size", "xl", "must be one of 's', 'm', 'l'"),
        ("mark", 7, "must be from 1 to 6"),
        ("code", "A", "must match '[a-z]+' as a whole"),
        ("pair", 3, "must be even"),
    ],
)
def test_a_refused_value_names_model_field_value_and_reason(
    field: str, value: object, reason: str
) -> None:
    made = review()

    for set_it in (lambda: review(**{field: value}), lambda: setattr(made, field, value)):
        with pytest.raises(ValidationError) as caught:
            set_it()
        error = caught.value
        assert (error.model, error.field, error.value) == ("Review", field, value)
        assert error.reason == reason

    assert made == review()


def test_what_is_accepted_is_set() -> None:
    made = review(stars=10, size="l", mark=6, code="x", pair=4)

    made.stars, made.mark = 1, None

    assert (made.stars, made.size, made.mark, made.code, made.pair) == (1, "l", None, "x", 4)


def test_the_type_is_checked_before_the_validator_is_asked() -> None:
    with pytest.raises(ValidationError, match="wrong type"):
        review(stars="x")


def test_a_validator_sees_only_values_that_fit_the_codec() -> None:
    seen: list[object] = []

    class Ranged(Model, table="ranged"):
        d = Family()
        id: Key[str] = key()
        port: Mapped[int] = column(d, codec=codecs.uint16(), validate=seen.append)
        note: Mapped[str | None] = column(d, default=None, validate=seen.append)

    ranged = Ranged(id="a", port=65_535)
    for wrong in (
        lambda: Ranged(id="a", port=65_536),
        lambda: setattr(ranged, "port", -1),
        lambda: setattr(ranged, "note", "\ud800"),
    ):
        with pytest.raises(ValidationError) as error:
            wrong()
        assert error.value.text != "the field's validator refuses the value"
        assert error.value.model == "Ranged"

    assert seen == [65_535]
    assert ranged.port == 65_535


def test_a_validator_sees_the_value_as_it_is_stored() -> None:
    seen: list[object] = []
    noon = datetime(2024, 5, 6, 12, tzinfo=UTC)

    class Rounded(Model, table="rounded"):
        d = Family()
        k: Key[str] = key()
        at: Mapped[datetime] = column(d, codec=codecs.millis(), validate=seen.append)

    made = Rounded(k="a", at=noon + timedelta(microseconds=7))
    made.at = noon + timedelta(microseconds=1007)

    assert seen == [noon, noon + timedelta(milliseconds=1)]


def test_the_value_of_a_factory_is_judged_as_any_other() -> None:
    class Made(Model, table="made"):
        d = Family()
        k: Key[str] = key()
        n: Mapped[int] = column(d, default_factory=lambda: 3, validate=even)

    with pytest.raises(ValidationError, match="refuses") as caught:
        Made(k="a")

    assert caught.value.field == "n"


def test_what_is_read_is_never_judged() -> None:
    row = Row(b"r", {b"d:s": Cell(b"\x63", 1), b"d:pair": Cell((3 ^ 1 << 63).to_bytes(8), 1)})

    found: Review = Review.__mapping__.hydrate(row)

    assert found.stars == 99
    assert Review.__mapping__.dehydrate(found.__dict__)[b"d:s"] == b"\x63"


def test_stored_values_that_are_refused_now_can_be_read_and_kept() -> None:
    class Strict(Model, table="reviews"):
        d = Family()
        review_id: Key[str] = key()
        stars: Mapped[int] = column(d, "s", codec=codecs.uint8(), validate=v.between(1, 3))
        note: Mapped[str | None] = column(d, default=None)

    with connect("memory://") as engine:
        engine.create_tables(Review)
        with engine.session() as session:
            session.add(review(stars=9))
        with engine.session() as session:
            found = session.get(Strict, review_id="r")
            assert found is not None
            assert found.stars == 9
            found.note = "x"
            with pytest.raises(ValidationError):
                found.stars = 8
        with engine.session() as session:
            found = session.get(Strict, review_id="r")
            assert found is not None
            assert (found.stars, found.note) == (9, "x")


def test_a_write_by_key_alone_is_judged_too() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Review)
        with engine.session() as session:
            session.add(review())
            session.flush()
            with pytest.raises(ValidationError) as caught:
                session.put_row(Review, Review.stars.to(11), review_id="r")
            session.put_row(Review, Review.stars.to(7), review_id="r")
            found = session.get(Review, review_id="r")

    assert (caught.value.field, caught.value.reason) == ("stars", "must be from 1 to 10")
    assert found is not None
    assert found.stars == 7


# --- declarations ----------------------------------------------------------------------------------


def test_a_default_that_the_validator_refuses_is_found_when_the_class_is_made() -> None:
    with pytest.raises(
        SchemaError, match="the field's validator refuses the field's default"
    ) as caught:

        class Wrong(Model, table="wrong"):
            d = Family()
            k: Key[str] = key()
            n: Mapped[int] = column(d, default=3, validate=even)

    error = caught.value
    assert (error.model, error.field, error.default) == ("Wrong", "n", 3)
    assert error.reason == "must be even"


def test_a_validator_that_answers_is_found_when_the_class_is_made() -> None:
    with pytest.raises(
        SchemaError, match="a validator returned a value: it must raise ValueError or return None"
    ) as caught:

        class Wrong(Model, table="wrong"):
            d = Family()
            k: Key[str] = key()
            n: Mapped[int] = column(d, default=2, validate=cast("Any", lambda n: n > 1))

    assert (caught.value.model, caught.value.field) == ("Wrong", "n")


@pytest.mark.parametrize("inner", [lambda n: n > 1, v.all_of(cast("Any", lambda n: n > 1))])
def test_a_validator_that_answers_is_found_when_a_value_is_set(inner: Any) -> None:
    class Wrong(Model, table="wrong"):
        d = Family()
        k: Key[str] = key()
        n: Mapped[int] = column(d, validate=inner)

    with pytest.raises(
        SchemaError, match="a validator returned a value: it must raise ValueError or return None"
    ) as caught:
        Wrong(k="a", n=2)

    assert (caught.value.model, caught.value.field) == ("Wrong", "n")


def test_a_validator_of_another_type_says_so() -> None:
    class Wrong(Model, table="wrong"):
        d = Family()
        k: Key[str] = key()
        n: Mapped[int] = column(d, validate=v.between(cast("Any", "a"), "b"))

    with pytest.raises(
        SchemaError, match="the validator cannot check a value of this type"
    ) as caught:
        Wrong(k="a", n=2)

    assert (caught.value.model, caught.value.field) == ("Wrong", "n")


def test_a_mixins_validator_holds_in_its_models() -> None:
    class Rated(Model, abstract=True):
        stars: Mapped[int] = column(codec=codecs.uint8(), validate=v.between(1, 10))

    class Film(Rated, table="films"):
        d = Family()
        title: Key[str] = key()

    with pytest.raises(ValidationError) as caught:
        Film(title="t", stars=11)

    assert caught.value.model == "Film"


@pytest.mark.parametrize("default", [[], {}, set()])
def test_a_default_that_can_change_is_refused(default: Any) -> None:
    with pytest.raises(SchemaError, match="share") as caught:

        class Wrong(Model, table="wrong"):
            d = Family()
            k: Key[str] = key()
            items: Mapped[Any] = column(d, codec=codecs.json(type(default)), default=default)

    assert "default_factory" in (caught.value.fix or "")
