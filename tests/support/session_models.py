"""The models that sessions are driven with, and what the reference must know of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    TablePerPeriod,
    Version,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
    version,
)
from tests.support.session_reference import HOOKED_PORT, Kind

T0 = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class Place:
    """A value that changes in place."""

    city: str
    floors: list[int] = field(default_factory=list)


class _Row(Model, abstract=True):
    d = Family(versions=200, keep_deleted_cells=True)
    e = Family(versions=200, keep_deleted_cells=True)
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str | None] = column(d, "u", default=None)
    port: Mapped[int | None] = column(e, "p", codec=codecs.uint16(desc=True), default=None)
    log: Mapped[str | None] = column(d, "l", default=None)
    code: Mapped[str | None] = column(e, "c", default=None)
    meta: Mapped[dict[str, list[int]] | None] = column(
        d, "m", codec=codecs.json(dict[str, list[int]]), default=None
    )
    place: Mapped[Place | None] = column(e, "q", codec=codecs.json(Place), default=None)
    hits: Counter = counter(d, "h")
    tags: Dynamic[str, str] = dynamic(e, prefix="t:")


class Plain(_Row, table="machine_plain"):
    name: Mapped[str] = column(_Row.d, "n")


class Stamped(_Row, table="machine_stamped", timestamps="client"):
    name: Mapped[str] = column(_Row.d, "n")


class Indexed(_Row, table="machine_indexed"):
    name: Mapped[str] = column(_Row.d, "n")
    by_unit = Index(_Row.unit)


class Loose(_Row, table="machine_loose"):
    name: Mapped[str | None] = column(_Row.d, "n", default=None)


class LooseIndexed(_Row, table="machine_loose_indexed"):
    name: Mapped[str | None] = column(_Row.d, "n", default=None)
    by_unit = Index(_Row.unit)


class Versioned(_Row, table="machine_versioned"):
    name: Mapped[str] = column(_Row.d, "n")
    revision: Version = version(_Row.d)


class Unique(_Row, table="machine_unique"):
    name: Mapped[str] = column(_Row.d, "n")
    revision: Version = version(_Row.d)
    by_unit = Index(_Row.unit, _Row.port)
    by_code = Index(_Row.code, unique=True)


class Unguarded(_Row, table="machine_unguarded"):
    """Kept without guards, on an engine without Thrift2."""

    name: Mapped[str] = column(_Row.d, "n")
    by_name = Index(name)


class Deferred(_Row, table="machine_deferred"):
    name: Mapped[str] = column(_Row.d, "n")
    log: Mapped[str | None] = column(_Row.d, "l", default=None, deferred=True)


class Salted(_Row, table="machine_salted"):
    name: Mapped[str] = column(_Row.d, "n")
    __rowkey__ = rowkey(Salt(2, of=[_Row.n]), _Row.group, _Row.n)


class Audit(Model, table="machine_audits"):
    d = Family()
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    number: Key[int] = key(codecs.uint32())
    what: Mapped[str] = column(d)


class Hooked(_Row, table="machine_hooked"):
    """Prepares itself, and says to whom it may concern that it was written."""

    told: ClassVar[dict[str, Callable[[str], None]]] = {}

    name: Mapped[str] = column(_Row.d, "n")
    port: Mapped[int | None] = column(
        _Row.e, "p", codec=codecs.uint16(desc=True), default=None, onupdate=lambda: HOOKED_PORT
    )

    def before_put(self) -> None:
        self.log = f"unit {self.unit}"

    def after_put(self) -> None:
        self.told.get(self.group, str)("put")

    def after_delete(self) -> None:
        self.told.get(self.group, str)("delete")

    def after_load(self) -> None:
        self.__dict__["_is_loaded"] = True


class HookedIndexed(Hooked, table="machine_hooked_indexed"):
    by_unit = Index(_Row.unit)


class Daily(_Row, table=TablePerPeriod("machine_daily_%Y%m%d", of="at", period="day", create=True)):
    name: Mapped[str] = column(_Row.d, "n")
    at: Key[datetime] = key(codecs.millis())


class Record(_Row, table="machine_records"):
    group: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(_Row.d, "n")
    __rowkey__ = rowkey(group, RecordType(), n)


class Even(Record, record_type="E"):
    pass


class Odd(Record, record_type="O"):
    pass


def _day(n: int) -> dict[str, Any]:
    return {"n": n, "at": T0 + timedelta(days=n)}


KINDS = (
    Kind(Plain),
    Kind(Stamped),
    Kind(Loose, is_required=False),
    Kind(Indexed, is_guarded=True, index="unit"),
    Kind(LooseIndexed, is_guarded=True, is_required=False, index="unit"),
    Kind(Versioned, is_guarded=True, has_version=True),
    Kind(Unique, is_guarded=True, has_version=True, is_unique=True),
    Kind(Unguarded, is_guarded=True, has_thrift2=False, has_past=False, index="name"),
    Kind(Deferred, is_deferred=True, has_past=False),
    Kind(Hooked, has_hooks=True),
    Kind(HookedIndexed, is_guarded=True, has_hooks=True, index="unit"),
    Kind(Salted),
    Kind(Daily, has_past=False, key=_day),
    Kind(Record, classes=(Even, Odd)),
)
