"""The values of a lint: what is judged, what a rule remarks, and the advice that the user gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from hbase_orm.model import Model
from hbase_orm.query import Plan, Select
from hbase_orm.schema import TableSchema

Level = Literal["warning", "note"]
"""A warning is a mistake unless the user gives a reason. A note is a cost worth knowing."""

DEFAULT_ROWS: Final = 10_000_000
"""The number of rows for which costs are computed, unless the caller gives another."""


@dataclass(frozen=True, slots=True)
class LintTarget:
    """A model that is judged.

    Attributes:
        model: The model.
        schema: The schema of the model.
        rows: The number of rows for which costs are computed.
        samples: Objects of the model whose sizes are measured; may be empty.
    """

    model: type[Model]
    schema: TableSchema
    rows: int = DEFAULT_ROWS
    samples: tuple[Model, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StatementTarget:
    """A statement that is judged.

    Attributes:
        statement: The statement.
        schema: The schema of its model.
        plan: The plan of the statement. None if it is refused because it would read a whole table.
        rows: The number of rows for which costs are computed.
        text: The name of the statement, as the user knows it.
    """

    statement: Select[Any]
    schema: TableSchema
    plan: Plan | None
    rows: int
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What a rule remarks about one thing.

    Attributes:
        subject: The index, family, field or statement; empty for the row key and the table.
        seen: What the declaration has, as a sentence.
        cost: What it costs for this model, with a number.
        fix: What to declare instead; it can be pasted.
    """

    subject: str
    seen: str
    cost: str
    fix: str


@dataclass(frozen=True, slots=True)
class LintRule:
    """A rule about declarations.

    Attributes:
        id: The name of the rule, which also silences it.
        level: Whether a remark is a warning or a note.
        summary: What the rule looks for, in one line.
        why: Why it matters, whatever the model is.
        source: Where the rule comes from.
        check: The function that yields the remarks about a model.
        of_table: Whether the rule is about the table. It is then not applied again to the record
            types that share a table, nor to tables that other programs own.
    """

    id: str
    level: Level
    summary: str
    why: str
    source: str
    check: Callable[[LintTarget], Iterable[Remark]]
    of_table: bool = True


@dataclass(frozen=True, slots=True)
class StatementRule:
    """A rule about statements; its attributes are those of `LintRule`."""

    id: str
    level: Level
    summary: str
    why: str
    source: str
    check: Callable[[StatementTarget], Iterable[Remark]]


@dataclass(frozen=True, slots=True)
class Advice:
    """A remark of a rule about a model or a statement, with the reason that silences it.

    Attributes:
        rule: The id of the rule.
        level: "warning" or "note".
        model: The model, as `module:Class`.
        subject: The index, family, field or statement; empty for the row key and the table.
        seen: What the declaration has.
        why: Why it matters, with a number for this model.
        fix: What to declare instead; it can be pasted.
        source: Where the rule comes from.
        silenced: The reason in the model's `__lint__`; empty if the advice is not silenced.
        file: The file that declares the model, or runs the statement; empty if it is unknown.
        line: The line in this file; 0 if it is unknown.
    """

    rule: str
    level: Level
    model: str
    subject: str
    seen: str
    why: str
    fix: str
    source: str
    silenced: str = ""
    file: str = ""
    line: int = 0

    @property
    def is_alarm(self) -> bool:
        """Whether this is a warning that no reason silences."""
        return self.level == "warning" and not self.silenced

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the advice as a few lines of text."""
        about = f" {self.subject}" if self.subject else ""
        lines = [
            f"{self.model}{about}: {self.level} {self.rule}",
            f"  seen  {self.seen}",
            f"  why   {self.why}",
            f"  do    {self.fix}",
            f"  from  {self.source}",
        ]
        if self.silenced:
            lines.append(f"  silenced  {self.silenced}")
        return "\n".join(lines)


def listed(names: Sequence[str]) -> str:
    """Return names as text: `a`, `a and b`, `a, b and c`."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])
