"""Salt the readings: their rows move to a table whose keys begin with a salt of eight buckets."""

from __future__ import annotations

from hbase_orm.migrate import RekeyTable

revision = "f7aaae8e33ce"
down_revision = None
operations = [
    RekeyTable("rekey_unsalted", new_table="rekey_salted"),
]
