"""Each rule remarks one model and leaves another alone; every advice has its parts and a number."""

from __future__ import annotations

import random
import re
from datetime import date, datetime
from enum import Enum
from types import new_class
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import (
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Table,
    codecs,
    column,
    connect,
    key,
    rowkey,
    validators,
)
from hbase_orm.advise import RULES, Advice, lint
from hbase_orm.advise.rules import MODEL_RULES
from tests.support.linted_models import PAIRS, CopiesAll, LongNames, TimeFirst


def of_rule(rule: str, *models: type[Model], **options: Any) -> list[Advice]:
    return [each for each in lint(*models, **options) if each.rule == rule]


def test_every_rule_about_models_has_a_wrong_and_a_right_model() -> None:
    assert list(PAIRS) == [rule.id for rule in MODEL_RULES]


@pytest.mark.parametrize("rule", PAIRS)
def test_a_rule_remarks_the_wrong_model_once_and_the_right_one_never(rule: str) -> None:
    wrong, right = PAIRS[rule]

    assert len(of_rule(rule, wrong)) == 1
    assert of_rule(rule, right) == []


@pytest.mark.parametrize("rule", PAIRS)
def test_advice_has_a_number_for_this_model_a_remedy_and_a_source(rule: str) -> None:
    (advice,) = of_rule(rule, PAIRS[rule].wrong)

    assert advice.level == RULES[rule].level
    assert re.search(r"\d", advice.why)
    assert all((advice.seen, advice.fix, advice.source))
    assert advice.file.endswith("linted_models.py")
    assert f"class {PAIRS[rule].wrong.__name__}(" in line_of(advice)


def line_of(advice: Advice) -> str:
    with open(advice.file, encoding="utf-8") as source:  # noqa: PTH123 - a name as advice has it
        return source.read().splitlines()[advice.line - 1]


def test_costs_follow_the_number_of_rows() -> None:
    (few,), (many,) = (
        of_rule("names-long", LongNames, rows=rows) for rows in (1000, 2_000_000_000)
    )

    assert "53 kB for 1,000 rows" in few.why
    assert "106 GB for 2,000,000,000 rows" in many.why


# --- what can be pasted ---------------------------------------------------------------------------


def test_the_row_key_in_the_advice_cures_the_model() -> None:
    (advice,) = of_rule("key-monotone", TimeFirst)
    declared, _, other = advice.fix.partition(", which")
    other = other.rpartition(": ")[2]
    assert declared == "__rowkey__ = rowkey(Salt(16), at, host)"
    assert other == "__rowkey__ = rowkey(host, at)"

    for text in (declared, other):
        scope: dict[str, Any] = {"rowkey": rowkey, "Salt": Salt}
        exec(text, scope, names := {"at": TimeFirst.at, "host": TimeFirst.host})
        body = {"__rowkey__": names["__rowkey__"], "__module__": __name__}
        cured = made(TimeFirst, body)
        assert of_rule("key-monotone", cured) == []


def test_the_split_keys_in_the_advice_can_be_declared() -> None:
    (advice,) = of_rule("regions-one", PAIRS["regions-one"].wrong)
    table = eval(advice.fix.removeprefix("table="), {"Table": Table})

    class Split(Model, table=table):
        d = Family()
        number: Key[UUID] = key()
        value: Mapped[int] = column(d, "v")

    assert "until HBase splits the region, at 256 MiB" in advice.why
    assert len(Split.__schema__.split_keys) == 15
    assert lint(Split) == ()


def test_the_index_in_the_advice_keeps_what_was_declared() -> None:
    (advice,) = of_rule("index-low-cardinality", PAIRS["index-low-cardinality"].wrong)
    (large,) = of_rule("index-covering-large", CopiesAll)

    assert advice.fix.startswith("by_kind = Index(kind, placed.desc(), salt=16)")
    assert large.fix.startswith("by_title = Index(title, author), ")


# --- what is not judged ---------------------------------------------------------------------------


class Level(Enum):
    LOW = 1
    HIGH = 2


def model(**body: Any) -> type[Model]:
    """Return a model with one family and these annotated fields."""
    kinds = {name: kind for name, (kind, _) in body.items()}
    fields = {name: field for name, (_, field) in body.items()}
    names = {"d": Family(), "__module__": __name__, "__annotations__": kinds, **fields}
    return made(Model, names)


def made(base: type[Model], body: dict[str, Any]) -> type[Model]:
    return new_class("Made", (base,), {"table": "made"}, lambda names: names.update(body))


def value() -> tuple[Any, Any]:
    return Mapped[int], column(codec=codecs.uint32())


def test_a_number_may_be_a_sequence_but_nothing_declares_it() -> None:
    assert lint(model(order_id=(Key[int], key(codecs.uint64())), v=value())) == ()


@pytest.mark.parametrize("name", ["ts", "event_timestamp", "created_ms", "seq", "epoch_ms"])
def test_a_number_whose_name_means_a_time_or_a_sequence_rises(name: str) -> None:
    judged = model(**{name: (Key[int], key(codecs.uint64())), "v": value()})

    assert len(of_rule("key-monotone", judged)) == 1


@pytest.mark.parametrize("name", ["latency_ms", "duration_ms", "serial", "time", "consequence"])
def test_other_names_of_numbers_mean_nothing(name: str) -> None:
    judged = model(**{name: (Key[int], key(codecs.uint64())), "v": value()})

    assert lint(judged) == ()


def test_a_sequence_and_a_uuid_of_the_time_rise_whatever_their_names_are() -> None:
    def uuid7() -> UUID:
        return UUID(int=7)

    with connect("memory://") as engine:
        numbers = engine.sequence("orders")
        order = model(number=(Key[int], key(default_factory=numbers)), v=value())
    event = model(number=(Key[UUID], key(default_factory=uuid7)), v=value())

    assert "a number of a sequence" in of_rule("key-monotone", order)[0].seen
    assert "by its name or default" in of_rule("key-monotone", event)[0].seen
    assert of_rule("regions-one", event) == []


def test_numbers_as_text_in_columns_count_once_a_row() -> None:
    class Texts(Model, table="texts"):
        d = Family()
        name: Key[str] = key()
        at: Mapped[datetime] = column(d, "a", codec=codecs.strftime("%Y%m%d%H%M"))
        owner: Mapped[str] = column(d, "o", codec=codecs.text(width_bytes=36))

    (advice,) = lint(Texts)

    assert advice.why.startswith("28 bytes of each row are saved otherwise: 280 MB")


def test_split_keys_of_an_index_are_judged_too() -> None:
    class Task(Model, table="split_tasks"):
        d = Family()
        name: Key[str] = key()
        size: Mapped[int] = column(d, "s", codec=codecs.digits(3))
        by_size = Index(size, splits=[b"5", b"A", b"Z"])
        by_even_size = Index(size, splits=4)

    (advice,) = lint(Task)

    assert (advice.rule, advice.subject) == ("regions-unreachable", "by_size")
    assert advice.fix.startswith("by_size = Index(..., splits=4)")


def test_a_date_of_birth_does_not_rise() -> None:
    judged = model(born=(Key[date], key()), name=(Key[str], key()), v=value())

    assert lint(judged) == ()


def test_a_few_listed_values_in_front_of_a_time_are_a_few_hot_places() -> None:
    judged = model(level=(Key[Level], key()), at=(Key[datetime], key()), v=value())

    (advice,) = of_rule("key-monotone", judged)

    assert "in at most 2 places" in advice.why


def test_a_part_that_is_random_by_its_default_is_remarked_whatever_its_name_is() -> None:
    factory: Any = random.Random(7).random
    made_up = key(codecs.uint8(), default_factory=factory)
    judged = model(host=(Key[str], key()), part=(Key[int], made_up), v=value())

    (advice,) = of_rule("key-random-suffix", judged)

    assert advice.subject == "part"


def test_rows_of_one_hour_are_sums_that_are_meant_to_meet() -> None:
    judged = model(hour=(Key[datetime], key(codecs.seconds(width_bytes=4))), v=value())

    assert of_rule("key-not-unique", judged) == []


def test_reversed_digits_are_no_number_as_text() -> None:
    digits = codecs.digits(12, digit_reversed=True)
    judged = model(phone=(Key[int], key(digits)), at=(Key[datetime], key()), v=value())

    assert of_rule("number-as-text", judged) == []


def test_hexadecimal_hashes_times_and_uuids_are_text() -> None:
    class Text(Model, table="text_parts"):
        d = Family()
        uuid: Key[str] = key(codecs.text(width_bytes=36))
        at: Key[datetime] = key(codecs.strftime("%Y%m%d%H%M%S"))
        v: Mapped[int] = column(d)
        __rowkey__ = rowkey(HashPrefix(8, of=uuid, form="hex"), uuid, at)

    (advice,) = of_rule("number-as-text", Text)

    assert advice.why.startswith("34 bytes of each row")


def test_an_index_of_some_values_needs_no_salt() -> None:
    class Task(Model, table="tasks"):
        d = Family()
        name: Key[str] = key()
        level: Mapped[Level] = column(d)
        by_level = Index(level, where=level == Level.HIGH)

    assert lint(Task) == ()


def test_a_length_limit_on_a_list_counts_items_and_not_bytes() -> None:
    class Listed(Model, table="listed"):
        d = Family()
        name: Key[str] = key()
        items: Mapped[list[int]] = column(
            d, codec=codecs.json(list[int]), validate=validators.max_length(50_000_000)
        )

    assert lint(Listed) == ()


def test_tables_of_other_programs_are_not_judged_as_tables() -> None:
    class Foreign(Model, table=Table("foreign", foreign=True)):
        d = Family(versions=1000)
        at: Key[datetime] = key(codecs.millis())
        v: Mapped[int] = column(d)

    assert lint(Foreign) == ()


# --- samples --------------------------------------------------------------------------------------


class Page(Model, table="sampled_pages"):
    d = Family()
    url: Key[str] = key()
    body: Mapped[bytes] = column(d, "b")


def test_samples_show_sizes_that_no_declaration_has() -> None:
    pages = [Page(url="x" * length, body=b"y" * 200_000) for length in (50, 300)]

    advice = lint(Page, samples=pages)

    assert [each.rule for each in advice] == ["key-long", "cell-without-mob", "column-not-deferred"]
    assert "up to 300 bytes in 2 samples" in advice[0].seen
    assert "1.8 GB" in advice[0].why
    assert "2 samples have up to 200 kB in body" in advice[1].seen
    assert lint(Page) == ()
