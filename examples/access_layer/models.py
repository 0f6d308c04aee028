"""What stands in HBase."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key, validators


def utc_now() -> datetime:
    """Return the time, aware."""
    return datetime.now(UTC)


class Comment(Model, table="comments"):
    """`[article][newest first][id]`: a page of an article is one scan."""

    d = Family()
    article: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True), default_factory=utc_now)
    comment_id: Key[UUID] = key(default_factory=uuid4)
    author: Mapped[str] = column(d, "a", validate=validators.min_length(1))
    text: Mapped[str] = column(d, "t", validate=validators.max_length(2000))
