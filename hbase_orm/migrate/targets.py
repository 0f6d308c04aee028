"""What the words of a command mean: `head`, `heads`, `base`, `+2`, `-1`, or a revision's name."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from hbase_orm.migrate.errors import RevisionGraphError, SeveralHeadsError
from hbase_orm.migrate.graph import RevisionGraph

_RELATIVE: Final = re.compile(r"[+-][0-9]+")


def only_head(graph: RevisionGraph) -> str | None:
    """Return the only head; None if there are no revisions.

    Raises:
        SeveralHeadsError: There are several.
    """
    if len(graph.heads) > 1:
        raise SeveralHeadsError(
            "the revisions have several heads",
            heads=list(graph.heads),
            fix="join them: hbase-orm merge heads -m MESSAGE; or name one, or write heads",
        )
    return graph.heads[0] if graph.heads else None


def named_revisions(graph: RevisionGraph, *names: str) -> frozenset[str]:
    """Return the revisions that words without a relation to the present one stand for.

    Args:
        graph: The revisions.
        names: Each is "head", "heads", "base" (which adds nothing) or a revision.

    Raises:
        RevisionGraphError: A name means none or several.
    """
    named: set[str] = set()
    for name in names:
        if name == "heads":
            named |= set(graph.heads)
        elif name == "head":
            named |= {head for head in (only_head(graph),) if head is not None}
        elif name != "base":
            named.add(graph.find(name).id)
    return frozenset(named)


def upgrade_targets(graph: RevisionGraph, applied: Collection[str], name: str) -> frozenset[str]:
    """Return the revisions up to which a word means to upgrade.

    Args:
        graph: The revisions.
        applied: The applied revisions.
        name: "head", "heads", "+N" or a revision.

    Raises:
        RevisionGraphError: The word means none or several, or no upgrade.
    """
    if name == "base" or (_RELATIVE.fullmatch(name) and name.startswith("-")):
        raise RevisionGraphError(
            "an upgrade does not go back", revision=name, fix="use hbase-orm downgrade"
        )
    if not _RELATIVE.fullmatch(name):
        return named_revisions(graph, name)
    present = _only_current(graph, applied, name)
    for _ in range(_count(name)):
        following = graph.bases if present is None else graph.children(present)
        present = _only(following, name)
    return frozenset(() if present is None else (present,))


def downgrade_target(graph: RevisionGraph, applied: Collection[str], name: str) -> str | None:
    """Return the revision down to which a word means to downgrade; None for the base.

    Args:
        graph: The revisions.
        applied: The applied revisions.
        name: "base", "-N" or a revision.

    Raises:
        RevisionGraphError: The word means none or several, or no downgrade, or a revision that is
            not applied.
    """
    if name == "base":
        return None
    if name in {"head", "heads"} or (_RELATIVE.fullmatch(name) and name.startswith("+")):
        raise RevisionGraphError(
            "a downgrade does not go forward", revision=name, fix="use hbase-orm upgrade"
        )
    if not _RELATIVE.fullmatch(name):
        revision = graph.find(name).id
        if revision not in applied:
            raise RevisionGraphError(
                "the revision is not applied, so there is nothing to go back to",
                revision=revision,
                fix="'hbase-orm current' shows what is applied",
            )
        return revision
    present = _only_current(graph, applied, name)
    for _ in range(_count(name)):
        if present is None:
            raise _too_far(name)
        parents = graph.revisions[present].parents
        present = _only(parents, name) if parents else None
    return present


def _only_current(graph: RevisionGraph, applied: Collection[str], name: str) -> str | None:
    current = graph.heads_of(applied)
    if len(current) > 1:
        raise RevisionGraphError(
            "several revisions are current, so a relative revision is ambiguous",
            revision=name,
            current=list(current),
            fix="name a revision",
        )
    return current[0] if current else None


def _only(following: Collection[str], name: str) -> str:
    if not following:
        raise _too_far(name)
    if len(following) > 1:
        raise RevisionGraphError(
            "the revisions branch here, so a relative revision is ambiguous",
            revision=name,
            branches=list(following),
            fix="name a revision",
        )
    return next(iter(following))


def _too_far(name: str) -> RevisionGraphError:
    return RevisionGraphError(
        "there are not so many revisions", revision=name, fix="give a smaller number"
    )


def _count(name: str) -> int:
    count = int(name[1:])
    if not count:
        raise RevisionGraphError(
            "a relative revision is at least one away", revision=name, fix="give 1 or more"
        )
    return count
