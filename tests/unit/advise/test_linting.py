"""What `lint` takes, what silences a rule, and what is refused."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from hbase_orm import Family, Key, Mapped, Model, RecordType, codecs, column, key, rowkey, select
from hbase_orm.advise import lint
from hbase_orm.errors import ConfigurationError, QueryError, SchemaError
from tests.support.linted_models import ByTime, Log, Salted, TimeFirst


class Quiet(Log, table="quiet"):
    __lint__: ClassVar = {"key-monotone": "a few rows a day"}


class QuietIndex(ByTime, table="quiet_index"):
    __lint__: ClassVar = {"index-monotone:by_time": "a few rows a day"}


class OtherIndex(ByTime, table="other_index"):
    __lint__: ClassVar = {"index-monotone:by_place": "a few rows a day"}


class Inherits(Quiet, table="inherits"):
    pass


def test_a_reason_silences_a_rule_and_is_returned() -> None:
    (advice,) = lint(Quiet)

    assert (advice.rule, advice.silenced) == ("key-monotone", "a few rows a day")
    assert not advice.is_alarm
    assert "silenced  a few rows a day" in str(advice)


def test_an_inherited_reason_silences_too() -> None:
    assert [each.is_alarm for each in lint(Inherits)] == [False]


def test_a_reason_may_name_one_index() -> None:
    assert [each.is_alarm for each in lint(QuietIndex)] == [False]
    assert [(each.rule, each.is_alarm) for each in lint(OtherIndex)] == [
        ("index-monotone", True),
        ("silence-unused", False),
    ]


WRONG: dict[str, tuple[Any, str]] = {
    "an unknown rule": ({"key-monoton": "x"}, 'write "key-monotone"'),
    "a rule like no other": ({"qqq": "x"}, "'hbase-orm lint --rules' lists the rules"),
    "a number": ({7: "x"}, "'hbase-orm lint --rules' lists the rules"),
    "an empty reason": ({"key-monotone": " "}, "write why it does not matter here"),
    "no reason": ({"key-monotone": True}, "write why it does not matter here"),
    "a list": (["key-monotone"], "write __lint__ = {"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_reason_is_refused(case: str) -> None:
    reasons, fix = WRONG[case]

    class Wrong(Log, table="wrong_reasons"):
        __lint__ = reasons

    with pytest.raises(SchemaError) as refused:
        lint(Wrong)

    assert refused.value.model == "Wrong"
    assert fix in refused.value.fix


def test_nothing_to_lint_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nothing to lint"):
        lint()


@pytest.mark.parametrize("wrong", [Log, Model, 7, "shop.models:Order"])
def test_what_is_no_model_with_a_table_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="not a model with a table"):
        lint(wrong)


def test_wrong_statements_samples_and_rows_are_refused() -> None:
    wrong: Any = "select"
    with pytest.raises(ConfigurationError, match="not a statement"):
        lint(Salted, statements=[wrong])
    with pytest.raises(ConfigurationError, match="not an object of the models"):
        lint(Salted, samples=[wrong])
    with pytest.raises(ConfigurationError, match="1 or more"):
        lint(Salted, rows=0)
    with pytest.raises(QueryError):
        lint(statements=[select(Salted).where(TimeFirst.value == 7).allow_full_scan()])


class Entity(Model, table="lint_entities"):
    d = Family()
    seq: Key[int] = key(codecs.uint64())
    __rowkey__ = rowkey(seq, RecordType())


class Person(Entity, record_type="P"):
    body: Mapped[bytes] = column(Entity.d, "b")


def test_record_types_share_the_advice_about_their_table() -> None:
    person = Person(seq=1, body=b"x" * 200_000)

    by_model = [
        (each.model.partition(":")[2], each.rule) for each in lint(Entity, samples=[person])
    ]

    assert by_model == [
        ("Entity", "key-monotone"),
        ("Person", "cell-without-mob"),
        ("Person", "column-not-deferred"),
    ]
