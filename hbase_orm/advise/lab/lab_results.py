"""The results of a lab: frozen values, which print as a table and convert to plain values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from hbase_orm.advise.lab.busiest_moments import BusiestMoment, busiest_moment
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.advise.lab.load.workloads import Workload
from hbase_orm.advise.lab.region_growth import MOST_REGIONS, Cells, RegionHistory, Split
from hbase_orm.advise.lab.skew import Amounts, Skew, skew_of
from hbase_orm.advise.lab.statement_costs import StatementCost
from hbase_orm.advise.sizes import count_text
from hbase_orm.ops import KeyRange
from hbase_orm.rowkey.notation import to_string_binary

_DIGITS: Final = 4


@dataclass(frozen=True, eq=False)
class TableResult:
    """One table in a lab: that of a design's rows, or that of one of its indexes.

    Attributes:
        name: The name of the table.
        index: The name of the index; empty for the table of the rows.
        regions: The regions at the end, in the order of their keys.
        servers: The server of each region, if they are those of a cluster; else empty.
        rows: The rows of each region at the end.
        size_bytes: The size of each region at the end, without encoding or compression.
        writes: The writes in a second, by cell of time and region.
        reads: The rows that are read in a second, by cell of time and region.
        owners: The number of the region that held each region's keys, by cell of time and region.
        cell_s: The length of a cell of time in seconds.
        busiest: The busiest moment of the writes; None if there are no writes.
        splits: The splits, in the order of time.
        regions_at_first: The number of regions at the start.
        repeated_share: The part of the writes that went to rows written before, 0 to 1.
        remarks: What is assumed, in sentences.
    """

    name: str
    index: str
    regions: tuple[KeyRange, ...]
    servers: tuple[str, ...]
    rows: Amounts
    size_bytes: Amounts
    writes: Cells
    reads: Cells
    owners: Numbers
    cell_s: float
    busiest: BusiestMoment | None
    splits: tuple[Split, ...]
    regions_at_first: int
    repeated_share: float = 0.0
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, history: RegionHistory, reads: Cells) -> TableResult:
        """Return the result of a simulated table."""
        table, remarks = history.table, history.table.remarks
        if history.splits and len(history.regions) == MOST_REGIONS:
            remarks = (*remarks, f"no region is split beyond {count_text(MOST_REGIONS)} regions")
        return cls(
            name=table.name,
            index=table.index,
            regions=history.regions,
            servers=(),
            rows=history.rows,
            size_bytes=history.rows * table.row_bytes,
            writes=history.writes,
            reads=reads,
            owners=history.owners,
            cell_s=history.cell_s,
            busiest=busiest_moment(history),
            splits=history.splits,
            regions_at_first=history.regions_at_first,
            repeated_share=table.repeated / max(1, len(table.keys)),
            remarks=remarks,
        )

    @cached_property
    def skew(self) -> Skew:
        """How unevenly the rows are divided among the regions at the end."""
        return skew_of(self.rows)

    @property
    def never_filled(self) -> tuple[KeyRange, ...]:
        """The regions that have no row at the end."""
        return tuple(
            region for region, rows in zip(self.regions, self.rows, strict=True) if not rows
        )

    def total(self, amounts: Cells) -> Amounts:
        """Return the amount of all regions together, by cell of time."""
        first = np.ones_like(self.owners, dtype=np.bool_)
        first[:, 1:] = self.owners[:, 1:] != self.owners[:, :-1]
        totals: Amounts = np.where(first, amounts, 0.0).sum(axis=1)
        return totals

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, without the cells of time."""
        return {
            "table": self.name,
            "index": self.index or None,
            "regions_at_first": self.regions_at_first,
            "regions": [
                {
                    "start": to_string_binary(region.start),
                    "stop": None if region.stop is None else to_string_binary(region.stop),
                    **({"server": self.servers[number]} if self.servers else {}),
                    "rows": round(float(self.rows[number])),
                    "size_bytes": round(float(self.size_bytes[number])),
                }
                for number, region in enumerate(self.regions)
            ],
            "skew": _rounded(asdict(self.skew)),
            "busiest": None if self.busiest is None else _rounded(asdict(self.busiest)),
            "splits": [
                {"at_s": round(each.at_s, _DIGITS), "key": to_string_binary(each.key)}
                for each in self.splits
            ],
            "repeated_share": round(self.repeated_share, _DIGITS),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, eq=False)
class DesignResult:
    """A design in a lab.

    Attributes:
        label: The name of the design.
        model: The model, as `module:Class`.
        tables: The table of the rows, then those of the indexes.
        costs: What the statements cost.
    """

    label: str
    model: str
    tables: tuple[TableResult, ...]
    costs: tuple[StatementCost, ...] = ()

    @property
    def hottest(self) -> TableResult:
        """The table whose busiest region takes the largest part of its writes."""
        return max(self.tables, key=lambda table: table.busiest.share if table.busiest else 0.0)

    @property
    def peak_share(self) -> float:
        """The largest part of a table's writes that one region takes, 0 to 1."""
        busiest = self.hottest.busiest
        return 0.0 if busiest is None else busiest.share

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "design": self.label,
            "model": self.model,
            "tables": [table.to_dict() for table in self.tables],
            "statements": [_rounded(asdict(cost)) for cost in self.costs],
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which design is better, in words.

    Attributes:
        better: The label of the better design; empty if there is none.
        sentences: The reasons, the first one naming the design.
    """

    better: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentences as one text."""
        return " ".join(self.sentences)


@dataclass(frozen=True, eq=False)
class LabResult:
    """The result of a lab.

    Attributes:
        shape: The load; None for the regions of a cluster.
        workload: What the rows hold; None for the regions of a cluster.
        sampled: The number of rows whose keys were computed, or that were counted.
        designs: The designs.
        verdict: Which is better.
        source: Where the regions of a cluster were read; empty for a simulation.
    """

    shape: LoadShape | None
    workload: Workload | None
    sampled: int
    designs: tuple[DesignResult, ...]
    verdict: Verdict
    source: str = ""

    @property
    def has_statements(self) -> bool:
        """Whether statements were compared."""
        return any(design.costs for design in self.designs)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements, each once."""
        names = (cost.statement for design in self.designs for cost in design.costs)
        return tuple(dict.fromkeys(names))

    def tables(self) -> Iterator[tuple[DesignResult, TableResult]]:
        """Yield every table with its design."""
        for design in self.designs:
            for table in design.tables:
                yield design, table

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        shape = self.shape
        return {
            "load": None if shape is None else asdict(shape),
            "workload": None if self.workload is None else self.workload.name,
            "source": self.source or None,
            "sampled_rows": self.sampled,
            "designs": [design.to_dict() for design in self.designs],
            "better": self.verdict.better or None,
            "verdict": list(self.verdict.sentences),
        }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, _DIGITS) if isinstance(value, float) else value
        for name, value in values.items()
    }
