"""Chooses the indexes that a command works on, and shows those that it must leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.cli.frame import note
from hbase_orm.cli.model_arguments import IndexTargets
from hbase_orm.cli.named_models import labels
from hbase_orm.index.catalog.differences import HOW_TO_AGREE, Difference
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.model import Model
from hbase_orm.session import Engine, IndexStatus

DIFFERENCES: Final[Mapping[Difference, str]] = MappingProxyType(
    {
        "not in the model": "not declared by the model",
        "declared otherwise": "declared otherwise by the model",
        "another row key": "the model has another row key",
    }
)
"""How a model differs from the catalog, in words."""

_BUILT: Final = frozenset({IndexState.READABLE, IndexState.WRITE_ONLY})


@dataclass(frozen=True, slots=True)
class ChosenIndex:
    """An index to work on.

    Attributes:
        label: A text as `Order.by_state`.
        model: The model.
        name: The name of the index.
    """

    label: str
    model: type[Model]
    name: str


@dataclass(frozen=True, slots=True)
class ChosenIndexes:
    """The indexes that a command works on.

    Attributes:
        indexes: The indexes to work on.
        differing: The built indexes in which the catalog and the model differ, by label. A command
            cannot compare them with rows.
    """

    indexes: Sequence[ChosenIndex]
    differing: Mapping[str, IndexStatus]

    def differing_lines(self) -> Iterator[str]:
        """Yield lines that show what differs, and what to do."""
        for label, status in self.differing.items():
            if status.difference is not None:
                yield f"{label}: {DIFFERENCES[status.difference]}, so it was left out"
                yield f"  model:   {status.declaration or 'no index of this name'}"
                yield f"  catalog: {status.catalog_declaration}"
                yield f"  to do:   {HOW_TO_AGREE[status.difference]}"

    def differing_as_json(self) -> list[dict[str, Any]]:
        """Return what differs as values for JSON."""
        return [
            {
                "model": label.rpartition(".")[0],
                "index": status.name,
                "difference": status.difference,
                "declared": status.declaration,
                "catalog": status.catalog_declaration,
            }
            for label, status in self.differing.items()
        ]

    def empty_lines(self) -> list[str]:
        """Return the answer of a command that has no index to work on."""
        return [] if self.differing else ["no index is built"]


def choose(engine: Engine, targets: IndexTargets) -> ChosenIndexes:
    """Return the indexes to work on.

    If no index was named, declared indexes that are not built are left out, with a note.
    """
    chosen: list[ChosenIndex] = []
    differing: dict[str, IndexStatus] = {}
    for model, prefix in labels(targets.models).items():
        if targets.name is not None:
            chosen.append(ChosenIndex(f"{prefix}.{targets.name}", model, targets.name))
            continue
        for each in engine.indexes(model).values():
            label = f"{prefix}.{each.name}"
            if each.state not in _BUILT:
                if each.declaration:
                    note(f"{label} is {each.state.value} and left out")
            elif each.difference is None:
                chosen.append(ChosenIndex(label, model, each.name))
            else:
                differing[label] = each
    return ChosenIndexes(chosen, differing)
