"""One object a row."""

from __future__ import annotations

from hbase_orm import Family, Key, Model, connect, key
from hbase_orm.objects.identity import IdentityMap


class Host(Model, table="hosts"):
    d = Family()
    name: Key[str] = key()


def test_a_cleared_map_returns_its_objects_and_knows_none() -> None:
    bound = connect("memory://")._bound_of(Host)
    first, second = Host(name="a"), Host(name="b")
    objects = IdentityMap()
    objects.put(bound, b"a", first)
    objects.put(bound, b"b", second)

    assert set(map(id, objects.clear())) == {id(first), id(second)}
    assert len(objects) == 0
    assert objects.find(bound, b"a") is None
