"""What another program leaves in index tables and guards of a real HBase ends nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Counter, Engine, Family, Key, Model, connect, counter, key, select
from hbase_orm.errors import CorruptRowError, CounterOverflowError
from hbase_orm.index.entries.targets import ENTRY_COLUMN, GUARD_COLUMN
from hbase_orm.index.protocol.claims import CLAIM_COLUMN
from tests.support.garbage_bytes import (
    CLAIMS,
    END,
    ENTRY_KEYS,
    GUARDS,
    VERBS,
    Account,
    fill,
    outcome,
    repaired,
    store,
    stored,
)

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]


class Visit(Model, table="visits"):
    d = Family()
    name: Key[str] = key()
    hits: Counter = counter(d)


@pytest.fixture
def engine(hbase_url: str) -> Iterator[Engine]:
    with connect(hbase_url) as connected:
        yield connected
        connected.drop_tables(Account)


def names(engine: Engine, owner: str) -> list[str]:
    with engine.session() as session:
        found = session.all(select(Account).where(Account.owner == owner))
    return sorted(account.name for account in found)


def test_garbage_of_every_kind_ends_no_write_read_or_repair(engine: Engine) -> None:
    fill(engine)
    for kind, claim in CLAIMS.items():
        store(engine, "accounts_ix_by_mail", kind.encode() + END, CLAIM_COLUMN, claim)
    for key_ in ENTRY_KEYS.values():
        store(engine, "accounts_ix_by_owner", key_, ENTRY_COLUMN, b"")
        store(engine, "accounts_ix_by_state", key_, ENTRY_COLUMN, b"v\x01")
    for kind, guard in GUARDS.items():
        with engine.session() as session:
            session.insert(Account(name=kind, owner="guarded"))
        store(engine, "accounts", kind.encode(), GUARD_COLUMN, guard)
    store(engine, "accounts_ix_by_mail", b"old" + END, CLAIM_COLUMN, b"")

    assert outcome(engine, VERBS["flush"]) is None

    assert (names(engine, "new"), names(engine, "old")) == (["a"], ["b"])
    assert names(engine, "guarded") == sorted(GUARDS)
    after = repaired(engine)
    assert all(found.is_sound and not found.unrepaired for found in after.values())
    with engine.session() as session:
        for number, kind in enumerate([*CLAIMS, "old"]):
            session.insert(Account(name=f"z{number}", owner="taker", mail=kind))
        for kind in GUARDS:
            session.put_row(Account, Account.note.to("x"), name=kind)


@pytest.mark.parametrize("kind", ["empty", "short", "later than its cell"])
def test_a_value_with_a_garbage_claim_is_refused_until_it_is_repaired(
    engine: Engine, kind: str
) -> None:
    fill(engine)
    store(engine, "accounts_ix_by_mail", b"new" + END, CLAIM_COLUMN, CLAIMS[kind])
    before = stored(engine, b"a")

    error = outcome(engine, VERBS["flush"])

    assert isinstance(error, CorruptRowError)
    assert (error.entry, error.row) == (b"new" + END, b"a")
    assert stored(engine, b"a") == before
    engine.verify_index(Account, "by_mail", repair=True)
    assert outcome(engine, VERBS["flush"]) is None


def test_an_increment_past_the_end_of_a_counter_says_so(hbase_url: str) -> None:
    with connect(hbase_url) as engine:
        engine.create_tables(Visit)
        with engine.session() as session:
            session.increment(Visit, Visit.hits.by(2**63 - 1), name="a")
            with pytest.raises(CounterOverflowError) as caught:
                session.increment(Visit, Visit.hits.by(3), name="a")
            assert caught.value.values == [-(2**63) + 2]
        engine.drop_tables(Visit)
