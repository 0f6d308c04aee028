"""The declared parts of a row key: what a user writes inside `rowkey(...)`.

A component is either a key field of the model or derived from others. Declarations only name
things; `layout` turns them into bytes once the fields have their names and codecs.
"""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.salting import HASHES, MAX_BUCKETS, bucket_of


class KeySource:
    """Something a row key can be made of: a key field, or a component."""


class Component(KeySource):
    """A part of the row key that is derived: it takes no argument from the user."""


class Salt(Component):
    """One leading byte, the salt bucket, that spreads a table's writes over its regions.

    Attributes:
        bucket_count: How many buckets, 2 to 256; the table is pre-split between them.
        of: What is hashed: key fields, as their bytes stand in this key, without terminators.
            None hashes everything after the salt, as Apache Phoenix does.
        hash_name: "phoenix" (Phoenix's own) or "crc32".
    """

    def __init__(
        self,
        bucket_count: int,
        /,
        *,
        of: KeySource | Sequence[KeySource] | None = None,
        hash: str = "phoenix",  # noqa: A002 - the name users know from other databases
    ) -> None:
        """Declare a salt.

        Raises:
            SchemaError: `bucket_count` is not 2 to 256, `of` is no field, the hash is unknown.
        """
        if not isinstance(bucket_count, int) or not 2 <= bucket_count <= MAX_BUCKETS:  # noqa: PLR2004 - one bucket is no salt
            raise SchemaError(
                "a salt has 2 to 256 buckets",
                bucket_count=bucket_count,
                fix="the bucket is one byte; take about as many as the table has regions",
            )
        if hash not in HASHES:
            raise SchemaError("no hash has this name", hash=hash, known=sorted(HASHES))
        sources = (of,) if isinstance(of, KeySource) else of
        if sources is not None and (
            isinstance(sources, str)
            or not sources
            or not all(isinstance(source, KeySource) for source in sources)
        ):
            raise SchemaError(
                "a salt is computed of key fields", of=of, fix="write of=[host], without quotes"
            )
        self.bucket_count = bucket_count
        self.of = None if sources is None else tuple(sources)
        self.hash_name = hash

    def bucket(self, key_without_salt: bytes) -> int:
        """Return the bucket of a key's hashed bytes, from 0 to `bucket_count` - 1."""
        return bucket_of(key_without_salt, self.bucket_count, self.hash_name)

    def __repr__(self) -> str:
        """Return the declaration, without the fields."""
        return f"Salt({self.bucket_count})"


class RowKey:
    """The declared order of a row key's components."""

    def __init__(self, components: tuple[KeySource, ...]) -> None:
        """Keep the components in order."""
        self.components = components


def rowkey(*components: KeySource) -> RowKey:
    """Declare the components of the row key, in the order of their bytes.

    Raises:
        SchemaError: Nothing is given, or something that is neither a field nor a component.
    """
    if not components:
        raise SchemaError("the row key has no components", fix="name at least one key field")
    for component in components:
        if not isinstance(component, KeySource):
            raise SchemaError(
                "a row key is made of key fields and components",
                got=component,
                fix="write rowkey(host, at), without quotes",
            )
    return RowKey(components)
