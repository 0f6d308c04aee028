"""Dynamic columns as users write them; both checkers must accept every line and infer these types."""

from __future__ import annotations

from datetime import datetime
from typing import assert_type

from hbase_orm import (
    Condition,
    Dynamic,
    DynamicExpr,
    Expr,
    Family,
    Key,
    Mapped,
    Model,
    Select,
    codecs,
    column,
    dynamic,
    key,
    select,
)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[float] = column(d, "v")
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    lines: Dynamic[int, str] = dynamic(d, prefix="l:", name=codecs.uint16())
    seen: Dynamic[datetime, bytes] = dynamic(
        d, prefix="s:", name=codecs.millis(), codec=codecs.raw()
    )


reading = Reading(host="a", value=0.5)
assert_type(reading.tags, dict[str, str])
assert_type(reading.lines, dict[int, str])
reading.tags["rack"] = "r7"
del reading.tags["rack"]
reading.tags = {"rack": "r8"}
assert_type(Reading.tags, DynamicExpr[str, str])
assert_type(Reading.tags["rack"], Expr[str | None])
assert_type(Reading.tags["rack"] == "r7", Condition)
assert_type(Reading.tags["rack"].is_null(), Condition)
assert_type(Reading.lines[3].in_(["a", None]), Condition)
Reading.tags["rack"].startswith("r")
select(Reading).where(Reading.host == "a", Reading.tags["rack"] == "r7", Reading.lines[3] < "x")
assert_type(
    select(Reading).columns_between(Reading.lines, 1, 5, limit=3).where(Reading.host == "a"),
    Select[Reading],
)
