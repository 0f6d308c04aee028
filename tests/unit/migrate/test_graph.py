"""The graph of revisions refuses gaps, cycles and names that mean several revisions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hbase_orm.migrate import Revision, RevisionGraph, RevisionGraphError, SeveralHeadsError
from hbase_orm.migrate.targets import (
    downgrade_target,
    named_revisions,
    only_head,
    upgrade_targets,
)
from tests.support.revisions import revision_of

LINE = RevisionGraph([revision_of("c", "b"), revision_of("a"), revision_of("b", "a")])
#     +- b1 - b2 -+
# a --+           +-- m -- z
#     +---- c ----+
DIAMOND = RevisionGraph(
    [
        revision_of("z", "m"),
        revision_of("m", "b2", "c"),
        revision_of("b2", "b1"),
        revision_of("b1", "a"),
        revision_of("c", "a"),
        revision_of("a"),
    ]
)
FORK = RevisionGraph([revision_of("a"), revision_of("b", "a"), revision_of("c", "a")])


def test_revisions_come_after_their_parents() -> None:
    order = list(DIAMOND.revisions)

    assert list(LINE.revisions) == ["a", "b", "c"]
    assert all(
        order.index(parent) < order.index(each.id)
        for each in DIAMOND.revisions.values()
        for parent in each.parents
    )
    assert repr(FORK) == "RevisionGraph(3 revisions, heads: b, c)"


def test_heads_and_bases_are_the_ends() -> None:
    assert (LINE.heads, LINE.bases) == (("c",), ("a",))
    assert (DIAMOND.heads, DIAMOND.bases) == (("z",), ("a",))
    assert (FORK.heads, FORK.bases) == (("b", "c"), ("a",))
    assert RevisionGraph([]).heads == ()


def test_ancestors_and_descendants_include_the_revisions() -> None:
    assert DIAMOND.with_ancestors(["b2"]) == {"a", "b1", "b2"}
    assert DIAMOND.with_ancestors(["m"]) == {"a", "b1", "b2", "c", "m"}
    assert DIAMOND.with_descendants(["c"]) == {"c", "m", "z"}


def test_current_heads_are_those_without_applied_children() -> None:
    assert DIAMOND.heads_of({"a", "b1", "c"}) == ("b1", "c")
    assert DIAMOND.heads_of({"a"}) == ("a",)
    assert DIAMOND.heads_of(set()) == ()


def test_a_missing_parent_is_named_with_its_child() -> None:
    with pytest.raises(RevisionGraphError, match="down_revision does not exist") as caught:
        RevisionGraph([revision_of("b", "gone")])

    assert (caught.value.revision, caught.value.down_revision) == ("b", "gone")


def test_a_cycle_is_named() -> None:
    with pytest.raises(RevisionGraphError, match="cycle") as caught:
        RevisionGraph([revision_of("a"), revision_of("b", "d"), *_chain("b", "c", "d")])

    assert set(caught.value.cycle) == {"b", "c", "d"}
    with pytest.raises(RevisionGraphError, match="cycle"):
        RevisionGraph([revision_of("a", "a")])


def _chain(*names: str) -> list[Revision]:
    return [revision_of(name, before) for before, name in pairwise(names)]


def test_two_revisions_of_one_name_are_refused() -> None:
    with pytest.raises(RevisionGraphError, match="same revision") as caught:
        RevisionGraph([revision_of("a"), revision_of("a")])

    assert caught.value.revision == "a"


def test_a_name_may_be_shortened_as_long_as_it_means_one() -> None:
    graph = RevisionGraph(
        [revision_of("3f2a"), revision_of("3f9b", "3f2a"), revision_of("3f", "3f9b")]
    )

    assert graph.find("3f2").id == "3f2a"
    assert graph.find("3f").id == "3f"
    with pytest.raises(RevisionGraphError, match="stands for several") as caught:
        graph.find("3")
    assert caught.value.matching == ["3f2a", "3f9b", "3f"]
    for missing in ("4", ""):
        with pytest.raises(RevisionGraphError, match="no such revision"):
            graph.find(missing)


def test_two_heads_are_refused_where_one_is_meant() -> None:
    with pytest.raises(SeveralHeadsError) as caught:
        upgrade_targets(FORK, set(), "head")

    assert caught.value.heads == ["b", "c"]
    assert "hbase-orm merge" in caught.value.fix
    assert only_head(LINE) == "c"
    assert only_head(RevisionGraph([])) is None
    assert upgrade_targets(FORK, set(), "heads") == {"b", "c"}


@pytest.mark.parametrize(
    ("applied", "name", "expected"),
    [
        ("", "head", {"c"}),
        ("", "+1", {"a"}),
        ("a", "+2", {"c"}),
        ("ab", "b", {"b"}),
        ("", "b", {"b"}),
    ],
)
def test_targets_of_an_upgrade(applied: str, name: str, expected: set[str]) -> None:
    assert upgrade_targets(LINE, set(applied), name) == expected


@pytest.mark.parametrize(
    ("applied", "name", "expected"),
    [
        ("abc", "-1", "b"),
        ("abc", "-3", None),
        ("abc", "base", None),
        ("abc", "a", "a"),
        ("ab", "-2", None),
    ],
)
def test_targets_of_a_downgrade(applied: str, name: str, expected: str | None) -> None:
    assert downgrade_target(LINE, set(applied), name) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("+4", "not so many"),
        ("+0", "at least one"),
        ("-1", "does not go back"),
        ("base", "does not go back"),
        ("x", "no such revision"),
    ],
)
def test_wrong_targets_of_an_upgrade(name: str, text: str) -> None:
    with pytest.raises(RevisionGraphError, match=text):
        upgrade_targets(LINE, set(), name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("-3", "not so many"),
        ("-0", "at least one"),
        ("+1", "does not go forward"),
        ("head", "does not go forward"),
        ("c", "is not applied"),
    ],
)
def test_wrong_targets_of_a_downgrade(name: str, text: str) -> None:
    with pytest.raises(RevisionGraphError, match=text):
        downgrade_target(LINE, {"a", "b"}, name)


def test_relative_targets_are_ambiguous_at_branches() -> None:
    with pytest.raises(RevisionGraphError, match="branch here") as caught:
        upgrade_targets(DIAMOND, {"a"}, "+1")
    assert caught.value.branches == ["b1", "c"]
    with pytest.raises(RevisionGraphError, match="several revisions are current"):
        upgrade_targets(DIAMOND, {"a", "b1", "c"}, "+1")
    with pytest.raises(RevisionGraphError, match="branch here"):
        downgrade_target(DIAMOND, set(DIAMOND.revisions) - {"z"}, "-1")


def test_several_names_mean_all_of_them() -> None:
    assert named_revisions(FORK, "b", "c") == {"b", "c"}
    assert named_revisions(FORK, "base") == frozenset()
    assert named_revisions(FORK, "heads", "a") == {"a", "b", "c"}
