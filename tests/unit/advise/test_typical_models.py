"""Models that were written without the rules at hand: each alarm about them is judged here."""

from __future__ import annotations

from collections.abc import Mapping

from hbase_orm.advise import lint
from tests.support.typical_models import TYPICAL

WARNINGS: Mapping[tuple[str, str, str], str] = {
    ("Order", "index-low-cardinality", "by_status"): "right: [status][time], where NEW is always "
    "the same place, and DONE has nearly all entries",
    ("LogLine", "key-monotone", ""): "right: the classic mistake, all log lines at the table's end",
    ("DailyReport", "key-monotone", ""): "right: today's reports stand together; a team with a "
    "dozen of them a day silences it with that reason",
    ("Audit", "index-monotone", "by_time"): "right: rows are spread by actor, entries are not",
    ("Invoice", "index-low-cardinality", "by_paid"): "right: half of the entries or more say "
    "'paid'; nobody reads these, and where= would leave them out",
    ("Upload", "cell-large", "content"): "right: the validator allows what HBase refuses",
}
NOTES: Mapping[tuple[str, str, str], str] = {
    ("User", "regions-one", ""): "right: random UUIDs, all on one server at first",
    ("User", "names-long", ""): "right: 37 bytes of names in each row that say nothing",
    ("WebSession", "regions-one", ""): "right: random tokens, all on one server at first",
    ("Message", "regions-one", ""): "right: UUIDs, all on one server at first",
    ("Notification", "regions-one", ""): "right: reversed digits are declared to spread, and do "
    "not before the first split",
    ("Job", "regions-one", ""): "right in form; a small queue silences it",
    ("Upload", "regions-one", ""): "right: random UUIDs and large values, on one server at first",
}


def test_at_least_thirty_models_are_judged() -> None:
    assert len(TYPICAL) >= 30


def test_every_alarm_about_typical_models_was_judged_right() -> None:
    advice = lint(*TYPICAL)

    warnings = [(a.model.partition(":")[2], a.rule, a.subject) for a in advice if a.is_alarm]
    notes = [(a.model.partition(":")[2], a.rule, a.subject) for a in advice if not a.is_alarm]
    assert warnings == [*WARNINGS]
    assert notes == [*NOTES]
