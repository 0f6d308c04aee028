"""What no version of the library wrote ends no read, no tool and no write of another row.

And a write that was made is reported as made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    CorruptRowError,
    RetryableError,
    TableDisabledError,
)
from hbase_orm.index.entries.targets import ENTRY_COLUMN, GUARD_COLUMN
from hbase_orm.index.protocol.claims import CLAIM_COLUMN
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    FetchRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    RowMutation,
    Scan,
)
from tests.support.garbage_bytes import (
    CLAIMS,
    END,
    ENTRY_KEYS,
    ENTRY_VALUES,
    GUARDS,
    INDEXES,
    MOVES,
    STALE_CLAIMS,
    VERBS,
    Account,
    Verb,
    fill,
    outcome,
    repaired,
    store,
    stored,
)
from tests.support.recording import FailsBeforeSending, gateway_of, through

MAILS, OWNERS, STATES = (f"accounts_ix_{index}" for index in ("by_mail", "by_owner", "by_state"))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as connected:
        yield connected


def names(engine: Engine, *conditions: Any) -> list[str]:
    with engine.session() as session:
        return sorted(account.name for account in session.all(select(Account).where(*conditions)))


def assert_made(engine: Engine, verb: Verb) -> None:
    """The row is what the verb makes of it, and no other index knows better."""
    row = stored(engine, b"a")
    assert row.get(b"d:owner") == (b"new" if verb.leaves else None)
    assert names(engine, Account.owner == "new") == (["a"] if verb.leaves else [])
    assert names(engine, Account.owner == "old") == ["b"]


def every(*tables: dict[str, Any]) -> Any:
    return [name for table in tables for name in table]


# --- claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", every(CLAIMS, STALE_CLAIMS))
@pytest.mark.parametrize("verb", [n for n, v in VERBS.items() if not v.starts_absent])
def test_a_write_that_leaves_a_value_with_a_garbage_claim_is_reported_as_made(
    engine: Engine, verb: str, kind: str
) -> None:
    fill(engine)
    store(engine, MAILS, b"old" + END, CLAIM_COLUMN, {**CLAIMS, **STALE_CLAIMS}[kind])

    assert outcome(engine, VERBS[verb]) is None

    assert_made(engine, VERBS[verb])
    assert all(found.is_sound for found in repaired(engine).values())
    with engine.session() as session:
        session.insert(Account(name="c", owner="c", mail="old"))


@pytest.mark.parametrize("kind", CLAIMS)
@pytest.mark.parametrize("verb", [name for name, verb in VERBS.items() if verb.leaves])
def test_a_value_with_a_garbage_claim_is_refused_by_name_until_it_is_repaired(
    engine: Engine, verb: str, kind: str
) -> None:
    fill(engine, has_row=not VERBS[verb].starts_absent)
    store(engine, MAILS, b"new" + END, CLAIM_COLUMN, CLAIMS[kind])
    before = stored(engine, b"a")

    error = outcome(engine, VERBS[verb])

    assert isinstance(error, CorruptRowError)
    assert (error.table, error.index, error.entry, error.row) == (
        MAILS,
        "by_mail",
        b"new" + END,
        b"a",
    )
    assert stored(engine, b"a") == before
    assert all(found.is_sound for found in repaired(engine).values())
    assert outcome(engine, VERBS[verb]) is None
    assert_made(engine, VERBS[verb])


@pytest.mark.parametrize("kind", STALE_CLAIMS)
def test_a_claim_of_a_row_without_the_value_is_taken_over(engine: Engine, kind: str) -> None:
    fill(engine)
    store(engine, MAILS, b"new" + END, CLAIM_COLUMN, STALE_CLAIMS[kind])

    assert outcome(engine, VERBS["flush"]) is None

    assert_made(engine, VERBS["flush"])


@pytest.mark.parametrize("kind", CLAIMS)
def test_a_garbage_claim_hides_no_row_without_a_word(engine: Engine, kind: str) -> None:
    fill(engine)
    store(engine, MAILS, b"old" + END, CLAIM_COLUMN, CLAIMS[kind])

    assert names(engine, Account.mail == "b") == ["b"]
    with pytest.raises(CorruptRowError) as caught:
        names(engine, Account.mail == "old")
    assert (caught.value.index, caught.value.entry) == ("by_mail", b"old" + END)
    found = engine.verify_index(Account, "by_mail", repair=True)
    assert (found.rows[Finding.MISSING], found.unrepaired) == (1, {})
    assert names(engine, Account.mail == "old") == ["a"]


def test_a_repair_of_entries_alone_leaves_garbage_claims_and_names_them(engine: Engine) -> None:
    fill(engine)
    store(engine, MAILS, b"a-first" + END, CLAIM_COLUMN, b"garbage")
    store(engine, MAILS, b"z-last" + END, CLAIM_COLUMN, b"garbage")

    counts = engine.repair_indexes(Account, min_age_ms=0)["by_mail"]

    assert (counts.scanned, counts.valid, len(counts.unrepaired)) == (4, 2, 2)
    assert all("by_mail" in why and MAILS in why for why in counts.unrepaired.values())


def test_a_garbage_claim_is_kept_while_a_row_that_was_not_repaired_may_have_the_value(
    engine: Engine,
) -> None:
    fill(engine)
    store(engine, MAILS, b"old" + END, CLAIM_COLUMN, b"garbage")
    store(engine, "accounts", b"a", b"d:owner", b"\xff\xfe")  # no text: its entries are unknown

    found = engine.verify_index(Account, "by_mail", repair=True)

    assert set(found.unrepaired) == {b"a", b"old" + END}
    with pytest.raises(CorruptRowError), engine.session() as session:
        session.insert(Account(name="c", owner="c", mail="old"))


# --- guards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", GUARDS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_row_with_a_garbage_guard_reads_and_is_made_anew_or_repaired(
    engine: Engine, verb: str, kind: str
) -> None:
    fill(engine, has_row=not VERBS[verb].starts_absent)
    store(engine, "accounts", b"a", GUARD_COLUMN, GUARDS[kind])
    before, made = stored(engine, b"a"), VERBS[verb]
    assert names(engine, Account.owner == "old") == (["b"] if made.starts_absent else ["a", "b"])

    error = outcome(engine, made)

    if not made.makes_anew:
        assert isinstance(error, CorruptRowError)
        assert (error.table, error.row, error.column) == ("accounts", b"a", GUARD_COLUMN)
        assert stored(engine, b"a") == before
        mend(engine, is_there=not made.starts_absent)
        error = outcome(engine, made)
    assert error is None
    assert_made(engine, made)
    assert all(found.is_sound for found in repaired(engine).values())


def mend(engine: Engine, *, is_there: bool) -> None:
    if is_there:
        found = engine.verify_index(Account, "by_owner", repair=True)
        assert (found.rows[Finding.UNKNOWN], found.repaired, found.unrepaired) == (1, 1, {})
        assert [pair.row for pair in found.pairs] == [b"a"]
    else:
        with engine.session() as session:
            session.delete_row(Account, name="a")


@pytest.mark.parametrize("kind", GUARDS)
def test_a_row_with_a_garbage_guard_can_be_moved(engine: Engine, kind: str) -> None:
    fill(engine, has_mail=False)
    store(engine, "accounts", b"a", GUARD_COLUMN, GUARDS[kind])

    assert outcome(engine, MOVES["move"]) is None

    assert names(engine, Account.owner == "old") == ["b", "moved"]


def test_an_empty_guard_is_none(engine: Engine) -> None:
    fill(engine)
    store(engine, "accounts", b"a", GUARD_COLUMN, b"")

    assert outcome(engine, VERBS["flush"]) is None

    assert_made(engine, VERBS["flush"])


@pytest.mark.parametrize("kind", GUARDS)
def test_a_value_whose_owner_has_a_garbage_guard_can_be_left_and_taken(
    engine: Engine, kind: str
) -> None:
    fill(engine)
    store(engine, MAILS, b"new" + END, CLAIM_COLUMN, STALE_CLAIMS["of nobody"])
    store(engine, "accounts", b"nobody", GUARD_COLUMN, GUARDS[kind])

    assert outcome(engine, VERBS["flush"]) is None

    assert_made(engine, VERBS["flush"])


# --- entries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ENTRY_KEYS)
@pytest.mark.parametrize("table", [OWNERS, STATES])
def test_rows_of_an_index_table_that_are_no_entries_end_nothing(
    engine: Engine, table: str, kind: str
) -> None:
    fill(engine)
    store(engine, table, ENTRY_KEYS[kind], ENTRY_COLUMN, b"v\x01")
    field = Account.owner if table == OWNERS else Account.state
    index = "by_owner" if table == OWNERS else "by_state"
    with engine.session() as session:
        by_index = select(Account).where(field >= "n").using(getattr(Account, index))
        values = select(Account.name).where(field >= "n").using(getattr(Account, index))
        assert sorted(account.name for account in session.all(by_index)) == ["a", "b"]
        assert sorted(session.all(values)) == ["a", "b"]
        assert session.count(by_index) == 2
    assert outcome(engine, VERBS["flush"]) is None

    found = engine.verify_index(Account, index)
    counts = engine.repair_indexes(Account, min_age_ms=0)[index]

    assert found.entries[Finding.UNKNOWN] + found.stale == 1
    assert (counts.repaired, counts.unrepaired) == (1, {})
    assert all(found.is_sound and not found.stale for found in repaired(engine).values())


@pytest.mark.parametrize("kind", ENTRY_VALUES)
def test_an_entry_with_a_garbage_value_is_looked_up_and_repaired(engine: Engine, kind: str) -> None:
    fill(engine)
    (key,) = [key for key in entry_keys(engine, STATES) if key.endswith(b"a")]
    store(engine, STATES, key, ENTRY_COLUMN, ENTRY_VALUES[kind])

    copied = select(Account.name, Account.balance).where(Account.state == "old")
    with engine.session() as session:
        assert sorted(session.all(copied)) == [("a", 1), ("b", 7)]
    counts = engine.repair_indexes(Account, min_age_ms=0)["by_state"]

    assert (counts.verified, counts.unrepaired) == (1, {})
    assert engine.verify_index(Account, "by_state").is_sound


def entry_keys(engine: Engine, table: str) -> list[bytes]:
    gateway = gateway_of(engine)
    scanner = gateway.execute(OpenScanner(Scan(table, KeyRange())))
    rows = gateway.execute(FetchRows(scanner, 100))
    gateway.execute(CloseScanner(scanner))
    return [row.key for row in rows]


# --- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", INDEXES)
def test_a_repair_of_entries_goes_on_behind_rows_that_do_not_decode(
    engine: Engine, index: str
) -> None:
    fill(engine)
    field = {"by_owner": b"d:owner", "by_mail": b"d:mail", "by_state": b"d:state"}[index]
    store(engine, "accounts", b"a", field, b"\xff\xfe")

    counts = engine.repair_indexes(Account, min_age_ms=0)[index]

    assert (counts.scanned, counts.valid, len(counts.unrepaired)) == (2, 1, 1)
    assert all("accounts" in why and index in why for why in counts.unrepaired.values())


# --- a clean-up that fails -------------------------------------------------------------------------

ERRORS = {
    "busy": RetryableError("the region moves"),
    "cut": ConnectionLostError("no answer"),
    "refused": TableDisabledError("the table is disabled"),
    "corrupt": CorruptRowError("what is stored does not decode"),
    "closed": ConfigurationError("the gateway is closed"),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_write_whose_clean_up_fails_is_reported_as_made(
    engine: Engine, verb: str, error: str
) -> None:
    fill(engine, has_row=not VERBS[verb].starts_absent)
    is_changed: list[bool] = []

    def error_of(operation: Operation[Any]) -> Exception | None:
        table = getattr(operation, "table", "")
        if isinstance(operation, CheckAndMutate) and table == "accounts":
            is_changed.append(True)
        return ERRORS[error] if is_changed and table in {MAILS, OWNERS, STATES} else None

    failing = through(FailsBeforeSending(gateway_of(engine), error_of), engine)

    assert outcome(failing, VERBS[verb]) is None

    assert_made(engine, VERBS[verb])
    assert all(found.is_sound for found in repaired(engine).values())


@pytest.mark.parametrize("copy", [b"", b"bad", b"\xff" * 9])
def test_an_entry_with_a_garbage_copy_is_looked_up_and_repaired(
    engine: Engine, copy: bytes
) -> None:
    fill(engine)
    store(engine, STATES, b"old" + END + b"a", b"d:d:balance", copy)

    copied = select(Account.name, Account.balance).where(Account.state == "old")
    with engine.session() as session:
        assert sorted(session.all(copied)) == [("a", 1), ("b", 7)]
    found = engine.verify_index(Account, "by_state", repair=True, min_age_ms=0)

    assert (found.invalid, found.unrepaired) == (1, {})
    assert engine.verify_index(Account, "by_state").is_sound


# --- versions and markers --------------------------------------------------------------------------


class Draft(Model, table="drafts"):
    """A model whose rows have a version, and a marker in the place of a required column."""

    d = Family()
    name: Key[str] = key()
    text: Mapped[str | None] = column(d, default=None)
    revision: Version = version(d)


@pytest.mark.parametrize("stored_version", [b"", b"bad", b"\xff" * 8, b"\x7f" + b"\xff" * 7])
@pytest.mark.parametrize("marker", [b"", b"garbage"])
def test_a_garbage_version_or_marker_counts_as_none(
    engine: Engine, stored_version: bytes, marker: bytes
) -> None:
    engine.create_tables(Draft)
    with engine.session() as session:
        session.insert(Draft(name="a", text="old"))
        store(engine, "drafts", b"a", b"d:revision", stored_version)
        store(engine, "drafts", b"a", b"d:_0", marker)

        session.put_row(Draft, Draft.text.to("new"), name="a")

    with engine.session() as session:
        draft = session.get(Draft, name="a")
        assert draft is not None
        assert (draft.text, draft.revision) == ("new", 1)


class Numbered(Model, table="numbered"):
    d = Family()
    id: Key[int] = key(codecs.uint32())
    kind: Mapped[int] = column(d)
    note: Mapped[str] = column(d)
    by_kind = Index(kind, include=[note], covering=True)


class Titled(Model, table="titled"):
    d = Family()
    title: Key[str] = key()
    kind: Mapped[int] = column(d)
    note: Mapped[str] = column(d)
    by_kind = Index(kind, include=[note], covering=True)


@pytest.mark.parametrize(
    ("model", "keys", "cut", "added"),
    [
        (Numbered, {"id": 7}, 1, b""),
        (Numbered, {"id": 7}, 0, b"\x00"),
        (Titled, {"title": "seven"}, 1, b"\xff"),
    ],
)
def test_a_covering_entry_whose_row_key_does_not_decode_shows_no_row(
    engine: Engine, model: Any, keys: dict[str, Any], cut: int, added: bytes
) -> None:
    engine.create_tables(model)
    with engine.session() as session:
        session.add(model(**keys, kind=1, note="n"))
    gateway, table = gateway_of(engine), f"{model.__schema__.table}_ix_by_kind"
    (entry,) = gateway.execute(FetchRows(gateway.execute(OpenScanner(Scan(table))), 1))
    puts = tuple(Put(name, cell.value, cell.timestamp_ms) for name, cell in entry.cells.items())
    damaged = entry.key[: len(entry.key) - cut] + added
    gateway.execute(MutateRows(table, (RowMutation(damaged, puts=puts),)))
    (name,) = keys
    ours = model.kind == 1

    with engine.session() as session:
        assert session.all(select(model.note).where(ours)) == ["n"]
        assert session.all(select(getattr(model, name), model.note).where(ours)) == [
            (keys[name], "n")
        ]
        assert session.count(select(model).where(ours)) == 1
    engine.verify_index(model, "by_kind", repair=True, min_age_ms=0)
    assert engine.verify_index(model, "by_kind").is_sound
