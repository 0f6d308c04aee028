"""The models of the examples have no mistakes, or give the reason for what looks like one."""

from __future__ import annotations

from hbase_orm import models
from hbase_orm.advise import lint


def test_the_examples_are_free_of_advice_or_give_a_reason() -> None:
    advice = lint(*models("examples"))

    assert [str(each) for each in advice if not each.silenced] == []
    assert len([each for each in advice if each.silenced]) >= 9
