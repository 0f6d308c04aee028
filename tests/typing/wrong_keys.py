"""Mistakes in row keys with derived parts: each marked line must be an error for both checkers."""

from __future__ import annotations

from datetime import datetime

from hbase_orm import Engine, Key, Model, RandomSalt, Substitute, TablePerPeriod, codecs, key, rowkey

at: Key[datetime] = key()
host: Key[str] = key()
Substitute(of="host", dictionary="hosts")  # E
Substitute(of=host)  # E
Substitute(of=host, dictionary="hosts", codec=codecs.text())  # E
RandomSalt("4")  # E
rowkey(host, RandomSalt)  # E
TablePerPeriod("v_%Y", of="at", period="year", create="yes")  # E
TablePerPeriod("v_%Y", "at", "year")  # E


class Record(Model, table="records", record_type=5):  # E
    pass


def use(engine: Engine) -> None:
    engine.create_tables(Record, periods=("2024-01-01", "2024-02-01"))  # E
    engine.regions(Record, at="2024-01-01")  # E
