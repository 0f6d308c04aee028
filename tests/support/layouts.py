"""Row-key layouts without a model: fields f0, f1, … of given codecs, behind a salt or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.rowkey import KeyFields, KeyLayout, KeySource, Salt, assemble


@dataclass(frozen=True)
class Salted:
    """A salt in front: how many buckets, by which hash, of which fields."""

    bucket_count: int
    hash_name: str = "phoenix"
    of: tuple[str, ...] | None = None

    def component(self, fields: Mapping[str, KeySource]) -> Salt:
        """Return the component."""
        of = None if self.of is None else [fields[name] for name in self.of]
        return Salt(self.bucket_count, of=of, hash=self.hash_name)


def layout_of(codecs: Mapping[str, Codec[Any]], salt: Salted | None = None) -> KeyLayout:
    """Return the layout of a key of these fields, in their order."""
    fields = {name: KeySource() for name in codecs}
    front = () if salt is None else (salt.component(fields),)
    return assemble((*front, *fields.values()), KeyFields(fields, codecs))


def layout(*codecs: Codec[Any], salt: Salted | None = None) -> KeyLayout:
    """Return the layout of a key of fields f0, f1, …."""
    return layout_of({f"f{number}": codec for number, codec in enumerate(codecs)}, salt)
