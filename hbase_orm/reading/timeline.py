"""Checks and adjusts statements with timeline consistency, which replicas of regions may answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from hbase_orm.errors import FeatureMissingError, QueryError
from hbase_orm.gateway.base import Feature
from hbase_orm.query import ANY_INDEX, Select


def check_can_read_timeline(stmt: Select[Any], features: Collection[Feature]) -> None:
    """Raise an error if the gateway cannot send a timeline read.

    Raises:
        FeatureMissingError: The engine has no Thrift2 gateway.
    """
    if Feature.TIMELINE not in features:
        raise FeatureMissingError(
            "timeline reads need a Thrift2 gateway",
            model=stmt.model.__name__,
            fix='add thrift2=host:port to the URL, or leave .consistency("timeline") out',
        )


def without_indexes(stmt: Select[Any]) -> Select[Any]:
    """Return a timeline statement, changed to use no indexes.

    The entries and the rows of an index are in different tables, and their replicas are of
    different age. A row could be missing because its entry is too old, or because the row is too
    old for its entry.

    Raises:
        QueryError: The statement names an index.
    """
    if stmt.index is not ANY_INDEX and stmt.index is not None:
        raise QueryError(
            "a timeline read cannot use an index: replicas of its entries and of the rows may "
            "be of different age, so rows would be missing",
            index=repr(stmt.index),
            fix='leave .using() out and limit the row key, or leave .consistency("timeline") out',
        )
    return replace(stmt, index=None)
