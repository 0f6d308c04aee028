"""Bytes that no version of the library writes, put where it keeps claims, entries and guards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.errors import FlushError, HBaseORMError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.protocol.claims import Claim
from hbase_orm.index_admin.verify import Verification
from hbase_orm.ops import GetRows, MutateRows, Put, RowMutation
from hbase_orm.session.session import Session
from tests.support.recording import gateway_of

NONCE: Final = b"nonce678"
END: Final = b"\x00\x01"
"""What ends a text in an entry's key."""


class Account(Model, table="accounts"):
    d = Family()
    name: Key[str] = key()
    owner: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d, default="old")
    balance: Mapped[int] = column(d, default=0)
    note: Mapped[str] = column(d, default="")
    by_owner = Index(owner)
    by_mail = Index(mail, unique=True)
    by_state = Index(state, include=[balance], covering=True)


INDEXES: Final = ("by_owner", "by_mail", "by_state")

CLAIMS: Final = {
    "empty": b"",
    "short": b"C",
    "random": b"\x91\x00\xff garbage \x00 that is longer than a claim",
    "without an owner": Claim(b"", 1, NONCE).encode(),
    "of an owner too long": Claim(b"x" * 40_000, 1, NONCE).encode(),
    "huge time": Claim(b"b", (1 << 63) + 5, NONCE).encode(),
    "later than its cell": Claim(b"b", 1 << 60, NONCE).encode(),
}
"""Claims that do not decode."""

STALE_CLAIMS: Final = {
    "of nobody": Claim(b"nobody", 1, NONCE).encode(),
    "of an undecodable row": Claim(b"\xff\xfe\x00", 1, NONCE).encode(),
    "free": b"F" + bytes(16),
}
"""Claims that read as those of rows which do not have the value."""

GUARDS: Final = {
    "short": b"L",
    "unknown flag": b"X" + GuardCell(1, 1, NONCE).encode()[1:],
    "future version": GuardCell(1, 1, NONCE).encode() + b"\x02new",
    "huge time": GuardCell(1, 1 << 60, NONCE).encode(),
    "negative time": GuardCell(1, (1 << 63) + 9, NONCE).encode(),
}

ENTRY_KEYS: Final = {
    "one byte": b"o",
    "truncated": b"olx",
    "random": b"\xff\x00\xfe\x01\xff",
    "no row key": b"old" + END,
    "long row key": b"old" + END + b"r" * 32_000,
}

ENTRY_VALUES: Final = {
    "random": b"\x07garbage",
    "empty": b"",
    "short flag": b"v",
    "long flag": b"v\x01\x01\x01",
    "flag without its copies": b"v\xff",
}


@dataclass(frozen=True)
class Verb:
    """One way to write row `a`: to the owner, mail and state "new".

    Attributes:
        run: Does it.
        leaves: Whether the row is there afterwards.
        makes_anew: Whether what the row was does not matter.
        starts_absent: Whether the row must not be there before.
    """

    run: Callable[[Engine, Session], object]
    leaves: bool = True
    makes_anew: bool = False
    starts_absent: bool = False


NEW: Final[dict[str, Any]] = {"owner": "new", "mail": "new", "state": "new", "balance": 2}


def _loaded(session: Session) -> Account:
    account = session.get(Account, name="a")
    assert account is not None
    return account


def _changed(session: Session) -> Account:
    account = _loaded(session)
    for name, value in NEW.items():
        setattr(account, name, value)
    return account


def _flush(_: Engine, session: Session) -> None:
    session.add(_changed(session))
    session.flush()


def _flush_delete(_: Engine, session: Session) -> None:
    session.delete(_loaded(session))
    session.flush()


def _update(_: Engine, session: Session) -> None:
    def change(account: Account) -> None:
        for name, value in NEW.items():
            setattr(account, name, value)

    session.update(Account, change, name="a")


def _put_row(_: Engine, session: Session) -> None:
    puts = [getattr(Account, name).to(value) for name, value in NEW.items()]
    session.put_row(Account, *puts, name="a")


def _bulk(_: Engine, session: Session) -> None:
    with session.bulk() as bulk:
        bulk.add(Account(name="a", **NEW))


def _bulk_insert(_: Engine, session: Session) -> None:
    with session.bulk(insert_only=True) as bulk:
        bulk.add(Account(name="a", **NEW))


VERBS: Final[dict[str, Verb]] = {
    "flush": Verb(_flush),
    "flush a delete": Verb(_flush_delete, leaves=False, makes_anew=True),
    "replace": Verb(lambda _, s: s.replace(Account(name="a", **NEW)), makes_anew=True),
    "put_if": Verb(lambda _, s: s.put_if(_changed(s), Account.owner == "old")),
    "delete_if": Verb(
        lambda _, s: s.delete_if(_loaded(s), Account.owner == "old"), leaves=False, makes_anew=True
    ),
    "update": Verb(_update),
    "put_row": Verb(_put_row),
    "delete_row": Verb(lambda _, s: s.delete_row(Account, name="a"), leaves=False, makes_anew=True),
    "delete_where": Verb(
        lambda _, s: s.delete_where(select(Account).where(Account.name == "a")),
        leaves=False,
        makes_anew=True,
    ),
    "bulk": Verb(_bulk),
    "insert": Verb(lambda _, s: s.insert(Account(name="a", **NEW)), starts_absent=True),
    "bulk insert": Verb(_bulk_insert, starts_absent=True),
}

MOVES: Final = {
    "move": Verb(lambda _, s: s.move(_loaded(s), name="moved"), leaves=False, makes_anew=True)
}
"""Not of a row with a unique value."""


def store(engine: Engine, table: str, row: bytes, where: bytes, value: bytes) -> None:
    """Write one cell as another program does, in the engine's namespace."""
    bare, own = Account.__schema__.table, engine._bound_of(Account).schema.table
    table = own.removesuffix(bare) + table
    gateway_of(engine).execute(MutateRows(table, (RowMutation(row, puts=(Put(where, value),)),)))


def stored(engine: Engine, row: bytes) -> dict[bytes, bytes]:
    """Return a row's data cells."""
    table = engine._bound_of(Account).schema.table
    (found,) = gateway_of(engine).execute(GetRows(table, (row,), (b"d",)))
    return {} if found is None else {name: cell.value for name, cell in found.cells.items()}


def fill(engine: Engine, *, has_mail: bool = True, has_row: bool = True) -> None:
    """Make the tables, row `a` that the verbs write, and row `b` that nobody touches."""
    engine.create_tables(Account)
    with engine.session() as session:
        session.insert(Account(name="b", owner="old", mail="b", state="old", balance=7))
        if has_row:
            mail = "old" if has_mail else None
            session.insert(Account(name="a", owner="old", mail=mail, state="old", balance=1))


def outcome(engine: Engine, verb: Verb) -> HBaseORMError | None:
    """Run a verb in a session of its own; return what it reports as not written."""
    try:
        with engine.session() as session:
            verb.run(engine, session)
    except FlushError as error:
        reason: HBaseORMError = error.not_written[0][2]
        return reason
    except HBaseORMError as error:
        return error
    return None


def repaired(engine: Engine) -> dict[str, Verification]:
    """Repair every index twice over, and return what is found after that."""
    for index in (*INDEXES, *INDEXES):
        engine.verify_index(Account, index, repair=True, min_age_ms=0)
    return {index: engine.verify_index(Account, index) for index in INDEXES}
