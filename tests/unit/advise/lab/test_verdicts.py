"""The verdict: which design is better, and the reasons in words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import Select, rowkey, select
from hbase_orm.advise.lab import lab
from hbase_orm.advise.lab.load.value_kinds import LOAD_START
from hbase_orm.advise.lab.text_report import report_lines
from hbase_orm.advise.lab.verdicts import duration_text, number_text, percent_text
from hbase_orm.errors import ConfigurationError
from tests.support.lab_designs import WORKLOAD, HashFirst, PageFirst, Salted, TimeFirst, Visit


def of_user(model: Any, row: Any) -> Select[Any]:
    return select(model).where(model.user == row.user).allow_full_scan()


def of_minutes(model: Any, row: Any) -> Select[Any]:
    end = row.at + timedelta(minutes=5)
    return select(model).where(model.at >= row.at, model.at < end).allow_full_scan()


def judged(*models: Any, **statements: Any) -> Any:
    return lab(*models, rows=20_000, workload=WORKLOAD, regions=8, statements=statements)


def test_the_design_that_spreads_the_writes_is_better() -> None:
    verdict = judged(TimeFirst, Salted).verdict

    assert verdict.better == "Salted"
    assert verdict.sentences[0] == "Use Salted for this load."
    assert "in TimeFirst one of 8 regions takes 100 % of the writes" in str(verdict)
    assert "more servers do not help" in str(verdict)


def test_of_designs_that_spread_alike_the_one_that_reads_less_is_better() -> None:
    by_user = judged(Salted, HashFirst, of_user=of_user).verdict
    by_time = judged(Salted, HashFirst, of_minutes=of_minutes).verdict

    assert (by_user.better, by_time.better) == ("HashFirst", "Salted")
    assert "For of_user, HashFirst needs 1 scanner" in str(by_user)
    assert "Salted reads the whole table, 20,000 rows" in str(by_user)


def test_the_order_of_the_models_does_not_matter() -> None:
    assert judged(Salted, TimeFirst).verdict.better == judged(TimeFirst, Salted).verdict.better


def test_a_hot_index_counts_against_its_design() -> None:
    verdict = judged(PageFirst, Salted).verdict

    assert verdict.better == "Salted"
    assert "of its index by_score" in str(verdict)


def test_one_design_is_described_without_a_winner() -> None:
    hot, cool = judged(TimeFirst).verdict, judged(Salted).verdict

    assert (hot.better, cool.better) == ("", "")
    assert hot.sentences[0] == "TimeFirst has a hot spot."
    assert cool.sentences[0] == "Salted spreads its writes."
    assert "a salt, a hash prefix or a bucket" in hot.sentences[-1]
    assert "7 of the 8 regions of TimeFirst never get a row." in hot.sentences


def test_designs_that_do_equally_well_are_called_so() -> None:
    assert "equally well" in judged(Salted, HashFirst).verdict.sentences[0]


def test_a_low_rate_is_not_called_a_hot_spot() -> None:
    result = lab(Salted, rate_per_s=0.1, rows=5000, regions=8)

    assert result.designs[0].peak_share < 0.25


def test_the_report_has_every_design_and_statement() -> None:
    result = judged(TimeFirst, PageFirst, of_user=of_user)
    lines = list(report_lines(result))

    assert lines[0].startswith("20,000 rows, 5.6 a second for 60 minutes.")
    starts = [line.split()[:2] for line in lines]
    assert ["TimeFirst", "rows"] in starts
    assert ["PageFirst", "index"] in starts
    assert starts.count(["of_user", "TimeFirst"]) == 1
    assert max(map(len, lines)) < 140


def test_a_statement_that_is_refused_is_remarked() -> None:
    def refused(model: Any) -> Select[Any]:
        return select(model).where(model.score == 5)

    result = judged(TimeFirst, refused=refused)

    assert result.designs[0].costs[0].is_refused
    assert any("refused is refused where it reads" in line for line in report_lines(result))


def test_statements_of_one_model_are_compared_for_that_model_only() -> None:
    mine = select(Salted).where(Salted.at < LOAD_START + timedelta(minutes=1))
    result = judged(TimeFirst, Salted, mine=mine)

    assert [len(design.costs) for design in result.designs] == [0, 1]


class UserFirst(Visit, table="lab_user_first"):
    """`[user][time][page]`, in a table of one region."""

    __rowkey__ = rowkey(Visit.user, Visit.at, Visit.page)


def test_a_region_that_will_be_split_is_the_only_one_when_it_is_busiest() -> None:
    verdict = lab(UserFirst, Salted, rows=10_000_000, sample=20_000, workload=WORKLOAD).verdict

    assert "in UserFirst the only region takes 100 % of the writes, 2,7" in str(verdict)
    assert "do not help" not in str(verdict)
    assert (
        "UserFirst begins with one region, which takes every write until it is split: give all "
        "designs the same number of regions, such as 5, to compare their keys alone."
    ) in verdict.sentences


def test_designs_with_as_many_regions_get_no_warning_of_their_number() -> None:
    assert "begin" not in str(judged(UserFirst, Salted).verdict)


def test_a_function_of_a_row_may_use_all_fields() -> None:
    def of_score(model: Any, row: Any) -> Select[Any]:
        return select(model).where(model.score == row.score).allow_full_scan()

    def of_nothing(model: Any, row: Any) -> Select[Any]:
        return select(model).where(model.score == row.points)

    (cost,) = judged(TimeFirst, of_score=of_score).designs[0].costs

    assert (cost.is_full_scan, cost.wanted >= 1) == (True, True)
    with pytest.raises(ConfigurationError, match="rows of TimeFirst have no field points"):
        judged(TimeFirst, of_nothing=of_nothing)


def test_small_loads_are_counted_as_they_are() -> None:
    lines = list(report_lines(lab(UserFirst, Salted, rows=1, seconds=10)))

    assert lines[0].startswith("1 row, 0.1 a second for 10 s.")
    assert "0.1 a second" in " ".join(lines[4:])
    assert any("1 write" in line and "1 writes" not in line for line in lines)


def test_numbers_are_short() -> None:
    assert [number_text(number) for number in (0, 0.0684, 2.77, 12.3, 3_000)] == [
        "0",
        "0.068",
        "2.8",
        "12",
        "3,000",
    ]
    assert [percent_text(share) for share in (0, 0.0123, 0.5)] == ["0 %", "1.2 %", "50 %"]
    assert [duration_text(s) for s in (0.5, 38, 3600, 7200, 200_000)] == [
        "0.5 s",
        "38 s",
        "60 minutes",
        "2 hours",
        "2.31 days",
    ]
