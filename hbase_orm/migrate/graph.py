"""The graph of revisions: which comes after which. It is pure, and refuses gaps and cycles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from hbase_orm.migrate.errors import RevisionGraphError
from hbase_orm.migrate.revisions import Revision


class RevisionGraph:
    """Revisions, each after its parents.

    Attributes:
        revisions: The revisions by name, each after its parents.
    """

    def __init__(self, revisions: Iterable[Revision]) -> None:
        """Sort revisions.

        Raises:
            RevisionGraphError: Two revisions have one name, a parent is missing, or there is a
                cycle.
        """
        known: dict[str, Revision] = {}
        for each in sorted(revisions, key=lambda revision: revision.id):
            if each.id in known:
                raise RevisionGraphError(
                    "two files have the same revision",
                    revision=each.id,
                    files=[str(known[each.id].path), str(each.path)],
                    fix="give one of them another name, and its children too",
                )
            known[each.id] = each
        _refuse_missing_parents(known)
        self.revisions: Mapping[str, Revision] = {id_: known[id_] for id_ in _sorted(known)}
        self._children: dict[str, list[str]] = {each: [] for each in self.revisions}
        for each in self.revisions.values():
            for parent in each.parents:
                self._children[parent].append(each.id)

    def __repr__(self) -> str:
        """Return the number of revisions and the heads."""
        heads = ", ".join(self.heads) or "none"
        return f"RevisionGraph({len(self.revisions)} revisions, heads: {heads})"

    @property
    def heads(self) -> tuple[str, ...]:
        """The revisions without children."""
        return tuple(each for each in self.revisions if not self._children[each])

    @property
    def bases(self) -> tuple[str, ...]:
        """The revisions without parents."""
        return tuple(each.id for each in self.revisions.values() if not each.parents)

    def children(self, revision: str) -> tuple[str, ...]:
        """Return the revisions that follow directly after one."""
        return tuple(self._children[revision])

    def find(self, name: str) -> Revision:
        """Return the revision with a name, or the only one whose name begins so.

        Raises:
            RevisionGraphError: There is none, or there are several.
        """
        if name in self.revisions:
            return self.revisions[name]
        matching = [each for each in self.revisions if name and each.startswith(name)]
        if len(matching) > 1:
            raise RevisionGraphError(
                "the beginning of a revision's name stands for several revisions",
                revision=name,
                matching=matching,
                fix="write more characters",
            )
        if not matching:
            raise RevisionGraphError(
                "there is no such revision",
                revision=name,
                fix="'hbase-orm history' lists all revisions",
            )
        return self.revisions[matching[0]]

    def with_ancestors(self, names: Iterable[str]) -> frozenset[str]:
        """Return revisions with everything that must be applied before them."""
        return self._reached(names, lambda name: self.revisions[name].parents)

    def with_descendants(self, names: Iterable[str]) -> frozenset[str]:
        """Return revisions with everything that must be undone before them."""
        return self._reached(names, self.children)

    def heads_of(self, names: Collection[str]) -> tuple[str, ...]:
        """Return those of some revisions that have no children among them."""
        return tuple(
            each
            for each in self.revisions
            if each in names and not any(child in names for child in self._children[each])
        )

    def in_order(self, names: Collection[str]) -> list[Revision]:
        """Return some revisions, each after its parents."""
        return [revision for name, revision in self.revisions.items() if name in names]

    def _reached(
        self, names: Iterable[str], next_of: Callable[[str], tuple[str, ...]]
    ) -> frozenset[str]:
        reached: set[str] = set()
        waiting = [*names]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting += next_of(name)
        return frozenset(reached)


def _refuse_missing_parents(revisions: Mapping[str, Revision]) -> None:
    for each in revisions.values():
        for parent in each.parents:
            if parent not in revisions:
                raise RevisionGraphError(
                    "the revision's down_revision does not exist",
                    revision=each.id,
                    down_revision=parent,
                    file=None if each.path is None else str(each.path),
                    fix="restore the file of the missing revision, or correct down_revision",
                )


def _sorted(revisions: Mapping[str, Revision]) -> Iterable[str]:
    sorter = TopologicalSorter({each.id: each.parents for each in revisions.values()})
    try:
        return tuple(sorter.static_order())
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        raise RevisionGraphError(
            "revisions follow after each other in a cycle",
            revision=cycle[0],
            cycle=cycle,
            fix="correct the down_revision of one of them",
        ) from None
