"""What each request becomes on the wire: which calls, how many, with what."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from thriftpy2.thrift import TApplicationException

from hbase_orm.errors import (
    ConfigurationError,
    FeatureMissingError,
    RegionUnavailableError,
    RejectedError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.gateway.thrift.answer_sizes import AnswerSizes
from hbase_orm.gateway.thrift.decoding.decoded import DecodedCell, DecodedRow, DecodedValue
from hbase_orm.gateway.thrift.decoding.result_answers import DecodedResult
from hbase_orm.gateway.thrift.gateway import ADMIN_TIMEOUT_S, FOREVER_S, whole_families
from hbase_orm.gateway.thrift.handshake import ThriftConnection
from hbase_orm.gateway.thrift.pool import Address, Pool
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.gateway.thrift.wire import HBASE1, HBASE2
from hbase_orm.ops import (
    Append,
    Cell,
    CheckAndMutate,
    CloseScanner,
    CreateTable,
    Delete,
    DescribeTable,
    EnableTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    Increment,
    KeyRange,
    ListRegions,
    ListTables,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    RegionRange,
    Row,
    RowMutation,
    Scan,
    ScannerId,
    StaleRow,
    TableDescriptor,
)


class _Client:
    """Notes every call and answers from `answers`, by method."""

    answer_bytes = 100
    line = SimpleNamespace(is_binary=False)  # so that every request is a call of a method

    def __init__(self, **answers: Any) -> None:
        self.sizes = AnswerSizes()
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self._answers = answers

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls.append((method, arguments))
            answer = self._answers.get(method)
            return answer(*arguments) if callable(answer) else answer

        return call

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.calls]


class _Connection(ThriftConnection):
    def __init__(self, client: Any) -> None:
        super().__init__(None, client)  # type: ignore[arg-type] # there is no line
        self.deadlines: list[float] = []

    def set_deadline(self, deadline: float) -> None:
        self.deadlines.append(deadline)

    def is_in_step(self) -> bool:
        return True

    def is_usable(self) -> bool:
        return True

    def close(self) -> None: ...


def _pool(connection: _Connection) -> Pool[ThriftConnection]:
    return Pool(lambda _address, _deadline: connection, [Address("h", 1)], clock=lambda: 0.0)


def _thrift1(client: _Client) -> Thrift1Gateway:
    return Thrift1Gateway(_pool(_Connection(client)), clock=lambda: 0.0)


def _thrift2(client: _Client) -> Thrift2Gateway:
    return Thrift2Gateway(_pool(_Connection(client)), clock=lambda: 0.0)


def _put(row: bytes, timestamp_ms: int | None = None, ttl_ms: int | None = None) -> RowMutation:
    return RowMutation(row, (Put(b"d:a", b"1", timestamp_ms),), ttl_ms=ttl_ms)


# --- Thrift1 --------------------------------------------------------------------------------------


def _row1(key: bytes) -> Row:
    return Row(key, {b"d:a": Cell(b"1", 7)})


def test_one_key_goes_by_the_call_for_one_row() -> None:
    client = _Client(getRow=[_row1(b"a")])

    assert _thrift1(client).execute(GetRows("t", (b"a",))) == [_row1(b"a")]
    assert client.methods == ["getRow"]


def test_many_keys_go_in_chunks_each_once_and_keep_their_places() -> None:
    client = _Client(getRows=lambda _table, keys, _attributes: [_row1(key) for key in keys[1:]])
    keys = tuple(b"%03d" % number for number in range(300))

    rows = _thrift1(client).execute(GetRows("t", (*keys, keys[1])))

    assert [len(arguments[1]) for _, arguments in client.calls] == [4, 16, 64, 128, 88]
    assert rows[0] is None
    assert rows[1] == rows[300] == _row1(keys[1])


def test_columns_and_an_upper_bound_of_time_choose_the_call() -> None:
    client = _Client(getRowWithColumnsTs=[])

    _thrift1(client).execute(GetRows("t", (b"a",), (b"d:a",), before_ms=9))

    assert client.calls == [("getRowWithColumnsTs", (b"t", b"a", [b"d:a"], 9, {}))]


def test_no_keys_need_no_call() -> None:
    client = _Client()

    assert _thrift1(client).execute(GetRows("t", ())) == []
    assert client.calls == []


def test_a_batch_is_grouped_by_timestamp_and_time_to_live() -> None:
    client = _Client()
    mutations = (
        _put(b"a"),
        _put(b"b"),
        _put(b"c", 7),
        _put(b"d", 7),
        _put(b"e", 7, ttl_ms=1000),
        _put(b"f", 7, ttl_ms=1000),
        _put(b"g", 8),
    )

    _thrift1(client).execute(MutateRows("t", mutations))

    def rows(argument: Any) -> list[bytes]:
        return [batch.row for batch in argument]

    (plain, at_7, with_ttl, alone) = client.calls
    assert (plain[0], rows(plain[1][1]), plain[1][2]) == ("mutateRows", [b"a", b"b"], {})
    assert (at_7[0], rows(at_7[1][1]), at_7[1][2:]) == ("mutateRowsTs", [b"c", b"d"], (7, {}))
    assert rows(with_ttl[1][1]) == [b"e", b"f"]
    assert with_ttl[1][3] == {b"_ttl": (1000).to_bytes(8, "big")}
    assert (alone[0], alone[1][1], alone[1][3]) == ("mutateRowTs", b"g", 8)


def test_deletes_are_marked_as_such() -> None:
    client = _Client()

    _thrift1(client).execute(
        MutateRow("t", RowMutation(b"a", deletes=(Delete(b"d:a"), Delete(b"e"))))
    )

    changes = client.calls[0][1][2]
    assert [(change.isDelete, change.column) for change in changes] == [
        (True, b"d:a"),
        (True, b"e"),
    ]


@pytest.mark.parametrize(
    "operation",
    [
        MutateRow("t", RowMutation(b"a", (Put(b"d:a", b"1", 7),), (Delete(b"d:b", 6),))),
        MutateRow("t", RowMutation(b"a", (Put(b"d:a", b"1", 7), Put(b"d:b", b"1", 8)))),
        MutateRows("t", (RowMutation(b"a", (Put(b"d:a", b"1", 7), Put(b"d:b", b"1"))),)),
        CheckAndMutate("t", b"d:a", b"", RowMutation(b"a", (Put(b"d:a", b"1", 7),))),
        CheckAndMutate("t", b"d:a", b"", RowMutation(b"a", (Put(b"d:a", b"1"), Put(b"d:b", b"")))),
        CheckAndMutate("t", b"d:a", b"", RowMutation(b"a", deletes=(Delete(b"d:a"),))),
        CheckAndMutate("t", b"d:a", b"1", _put(b"a"), "!="),
        Increment("t", b"a", {b"d:a": 1, b"d:b": 1}),
        CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),)), (b"m",)),
        CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d", min_versions=1),))),
        CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),), attributes={"a": "b"})),
    ],
    ids=repr,
)
def test_what_thrift1_cannot_do_is_refused_and_nothing_is_sent(operation: Operation[Any]) -> None:
    client = _Client()

    with pytest.raises(FeatureMissingError, match="thrift2=host:port"):
        _thrift1(client).execute(operation)

    assert client.calls == []


def test_one_cell_is_checked_and_put() -> None:
    client = _Client(checkAndPut=True)

    assert _thrift1(client).execute(CheckAndMutate("t", b"d:a", b"old", _put(b"r"))) is True

    ((method, (table, row, column, expected, change, attributes)),) = client.calls
    assert (method, table, row, column, expected) == ("checkAndPut", b"t", b"r", b"d:a", b"old")
    assert (change.column, change.value, attributes) == (b"d:a", b"1", {})


def test_appended_values_are_told_apart_by_the_order_of_cells_in_a_row() -> None:
    class _Value:
        def __init__(self, value: bytes) -> None:
            self.value = value

    client = _Client(append=lambda request: [_Value(value) for value in request.values])
    # "d" and "d-x" are families: as cells they sort by family first, as text they would not.
    values = {b"d-x:a": b"3", b"d:b": b"2", b"d:a": b"1"}

    assert _thrift1(client).execute(Append("t", b"r", values)) == values
    assert client.calls[0][1][0].columns == [b"d:a", b"d:b", b"d-x:a"]


@pytest.mark.parametrize("gateway", [_thrift1, _thrift2])
def test_a_table_without_regions_does_not_exist(
    gateway: Callable[[_Client], Thrift1Gateway | Thrift2Gateway],
) -> None:
    client = _Client(getTableRegions=[], getAllRegionLocations=[])

    with pytest.raises(TableNotFoundError):
        gateway(client).execute(ListRegions("t"))


@pytest.mark.parametrize(
    ("tables", "error"),
    [([b"other"], TableNotFoundError), ([b"other", b"t"], RegionUnavailableError)],
)
def test_a_table_that_is_made_or_dropped_during_the_call_does_not_exist_or_has_no_server(
    tables: list[bytes], error: type[Exception]
) -> None:
    def fail(_: bytes) -> None:
        raise TApplicationException(
            TApplicationException.INTERNAL_ERROR, "Internal error processing getTableRegions"
        )

    client = _Client(getTableRegions=fail, getTableNames=tables)

    with pytest.raises(error):
        _thrift1(client).execute(ListRegions("t"))


def test_a_gateway_that_cannot_list_regions_is_no_table_without_a_server() -> None:
    def fail(_: bytes) -> None:
        raise TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name")

    with pytest.raises(FeatureMissingError):
        _thrift1(_Client(getTableRegions=fail, getTableNames=[b"t"])).execute(ListRegions("t"))


@pytest.mark.parametrize("gateway", [_thrift1, _thrift2])
def test_replicas_of_regions_are_no_regions(
    gateway: Callable[[_Client], Thrift1Gateway | Thrift2Gateway],
) -> None:
    first = {"serverName": b"a", "port": 1}
    second = {"serverName": b"b", "port": 2}
    keys = [(b"", b"m", first), (b"", b"m", second), (b"m", b"", second), (b"m", b"", first)]
    client = _Client(
        getTableRegions=[
            HBASE1.TRegionInfo(startKey=start, endKey=stop, id=7, **server)
            for start, stop, server in keys
        ],
        getAllRegionLocations=[
            HBASE2.RegionLocation(
                region=HBASE2.RegionInfo(id=0, start_key=start, stop_key=stop),
                server=HBASE2.ServerName(host=server["serverName"], port=server["port"]),
            )
            for start, stop, server in keys
        ],
    )

    regions = gateway(client).execute(ListRegions("t"))

    assert regions == [RegionRange(b"", b"m", "a:1"), RegionRange(b"m", None, "b:2")]


@pytest.mark.parametrize(("sent_s", "ttl_s"), [(-1, None), (FOREVER_S, None), (60, 60), (0, 0)])
def test_a_family_that_keeps_cells_for_ever_has_no_ttl(sent_s: int, ttl_s: int | None) -> None:
    family = HBASE1.ColumnDescriptor(
        name=b"d:", maxVersions=1, compression=b"NONE", bloomFilterType=b"ROW", timeToLive=sent_s
    )
    client = _Client(getColumnDescriptors={b"d:": family})

    (described,) = _thrift1(client).execute(DescribeTable("t")).families

    assert (described.name, described.ttl_s) == (b"d", ttl_s)


# --- Thrift2 --------------------------------------------------------------------------------------


def _result(key: bytes | None, *, is_stale: bool = False) -> DecodedResult:
    result = DecodedResult()
    result.is_stale = is_stale
    if key is not None:
        value = DecodedValue()
        value.family, value.qualifier, value.value, value.timestamp_ms = b"d", b"a", b"1", 7
        result.key, result.values = key, [value]
    return result


@pytest.mark.parametrize(("table", "namespace", "name"), [("t", None, b"t"), ("ns:t", b"ns", b"t")])
def test_administration_names_a_table_by_its_namespace(
    table: str, namespace: bytes | None, name: bytes
) -> None:
    client = _Client()

    _thrift2(client).execute(EnableTable(table))

    ((method, (sent,)),) = client.calls
    assert (method, sent.namespace_name, sent.qualifier) == ("enableTable", namespace, name)


def test_missing_rows_keep_their_places() -> None:
    client = _Client(getMultiple=[_result(b"a"), _result(None)])

    assert _thrift2(client).execute(GetRows("t", (b"a", b"b", b"a"))) == [
        _row1(b"a"),
        None,
        _row1(b"a"),
    ]


@pytest.mark.parametrize("keys", [(b"a",), (b"a", b"b")])
@pytest.mark.parametrize("is_timeline", [False, True])
def test_gets_carry_their_consistency(keys: tuple[bytes, ...], *, is_timeline: bool) -> None:
    client = _Client(get=_result(b"a"), getMultiple=[_result(b"a"), _result(b"b")])

    _thrift2(client).execute(GetRows("t", keys, is_timeline=is_timeline))

    ((_, (_, sent)),) = client.calls
    level = HBASE2.Consistency.TIMELINE if is_timeline else None
    requests = sent if len(keys) > 1 else [sent]
    assert [request.consistency for request in requests] == [level] * len(keys)


@pytest.mark.parametrize("is_timeline", [False, True])
def test_scans_carry_their_consistency(*, is_timeline: bool) -> None:
    answer = _result(b"a", is_stale=is_timeline).row()
    client = _Client(openScanner=3, getScannerRows=[answer])
    gateway = _thrift2(client)

    scanner = gateway.execute(OpenScanner(Scan("t", is_timeline=is_timeline)))
    rows = gateway.execute(FetchRows(scanner, 1))

    level = HBASE2.Consistency.TIMELINE if is_timeline else None
    row = StaleRow if is_timeline else Row
    assert client.calls[0][1][1].consistency == level
    assert rows == [row(b"a", {b"d:a": Cell(b"1", 7)})]


def test_rows_of_replicas_are_stale_also_those_that_they_lack() -> None:
    results = [_result(b"a", is_stale=True), _result(b"b"), _result(None, is_stale=True)]
    client = _Client(getMultiple=[*results, _result(None)])

    rows = _thrift2(client).execute(GetRows("t", (b"a", b"b", b"c", b"d"), is_timeline=True))

    stale = StaleRow(b"a", {b"d:a": Cell(b"1", 7)})
    assert rows == [stale, _row1(b"b"), StaleRow(b"c", {}), None]
    assert [type(row) for row in rows[:2]] == [StaleRow, Row]


@pytest.mark.parametrize(
    "request_", [GetRows("t", (b"a",), is_timeline=True), OpenScanner(Scan("t", is_timeline=True))]
)
def test_thrift1_refuses_timeline_reads_before_it_calls(request_: Operation[Any]) -> None:
    client = _Client()

    with pytest.raises(FeatureMissingError, match="a timeline read"):
        _thrift1(client).execute(request_)

    assert client.calls == []


def test_puts_of_many_rows_carry_their_own_times_in_one_call() -> None:
    client = _Client()

    _thrift2(client).execute(MutateRows("t", (_put(b"a", 7), _put(b"b", 8, ttl_ms=5))))

    ((method, (_, requests)),) = client.calls
    assert method == "putMultiple"
    assert [request.values[0].timestamp for request in requests] == [7, 8]
    assert [request.attributes for request in requests] == [
        None,
        {b"_ttl": (5).to_bytes(8, "big")},
    ]


def test_deletes_of_columns_and_of_families_are_requests_of_their_own_kind() -> None:
    client = _Client()
    deletes = (Delete(b"d:a", 7), Delete(b"e", 6), Delete(b"d:b"))

    _thrift2(client).execute(MutateRow("t", RowMutation(b"r", deletes=deletes)))

    ((method, (_, changes)),) = client.calls
    columns, families = (change.remove for change in changes.changes)
    assert method == "mutateRow"
    assert columns.kind == HBASE2.DeleteType.COLUMNS
    assert [(each.qualifier, each.timestamp) for each in columns.columns] == [
        (b"a", 7),
        (b"b", None),
    ]
    assert families.kind == HBASE2.DeleteType.FAMILY
    assert [(each.family, each.qualifier, each.timestamp) for each in families.columns] == [
        (b"e", None, 6)
    ]


def test_a_row_of_two_kinds_of_deletes_is_sent_by_itself_and_stays_atomic() -> None:
    client = _Client()
    two_kinds = RowMutation(b"a", deletes=(Delete(b"d:a"), Delete(b"e")))
    one_kind = RowMutation(b"b", deletes=(Delete(b"d:a"),))

    _thrift2(client).execute(MutateRows("t", (two_kinds, one_kind, _put(b"c"))))

    assert client.methods == ["mutateRow", "putMultiple", "deleteMultiple"]


@pytest.mark.parametrize(
    ("mutation", "method"),
    [
        (_put(b"a"), "put"),
        (RowMutation(b"a", deletes=(Delete(b"d:a"),)), "deleteSingle"),
        (RowMutation(b"a", (Put(b"d:a", b"1", 7),), (Delete(b"d:a", 6),)), "mutateRow"),
    ],
)
def test_one_row_goes_by_the_least_call_that_is_atomic(mutation: RowMutation, method: str) -> None:
    client = _Client()

    _thrift2(client).execute(MutateRow("t", mutation))

    assert client.methods == [method]


def test_a_batch_of_one_row_goes_by_the_call_for_one() -> None:
    client = _Client()

    _thrift2(client).execute(MutateRows("t", (_put(b"a"),)))

    assert client.methods == ["put"]


def test_absent_is_asked_as_the_empty_value() -> None:
    client = _Client(checkAndMutate=True)

    _thrift2(client).execute(CheckAndMutate("t", b"d:a", b"", _put(b"r")))

    arguments = client.calls[0][1]
    assert arguments[:6] == (b"t", b"r", b"d", b"a", HBASE2.CompareOperator.EQUAL, b"")


@pytest.mark.parametrize(
    "family",
    [FamilyDescriptor(b"d", compression="ROT13"), FamilyDescriptor(b"d", bloom="ROWPREFIX")],
)
def test_an_option_that_does_not_exist_is_refused_and_nothing_is_sent(
    family: FamilyDescriptor,
) -> None:
    client = _Client()

    with pytest.raises(RejectedError, match="does not allow this value"):
        _thrift2(client).execute(CreateTable(TableDescriptor("t", (family,))))

    assert client.calls == []


# --- both -----------------------------------------------------------------------------------------


def test_a_column_of_a_family_that_is_read_whole_is_not_asked_for() -> None:
    # HBase would read that one column alone.
    assert whole_families((b"d", b"d:a", b"e:b", b"e:b")) == [b"d", b"e:b"]


@pytest.mark.parametrize("gateway", [_thrift1, _thrift2])
@pytest.mark.parametrize(
    "operation",
    [
        GetRows("t", (b"a", b"")),
        MutateRows("t", (_put(b"a"), RowMutation(b"a", deletes=(Delete(b"d:a"),)))),
        FetchRows(ScannerId(0, None), 0),
    ],
    ids=repr,
)
def test_an_unusable_request_is_refused_and_nothing_is_sent(
    gateway: Callable[[_Client], Thrift1Gateway | Thrift2Gateway], operation: Operation[Any]
) -> None:
    client = _Client()

    with pytest.raises(RejectedError):
        gateway(client).execute(operation)

    assert client.calls == []


def test_administration_gets_more_time() -> None:
    connection = _Connection(_Client())
    gateway = Thrift2Gateway(_pool(connection), timeout_s=5.0, clock=lambda: 0.0)

    gateway.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),))))

    assert connection.deadlines == [ADMIN_TIMEOUT_S]


def test_an_empty_range_opens_no_scanner() -> None:
    client = _Client()
    gateway = _thrift1(client)

    scanner = gateway.execute(OpenScanner(Scan("t", KeyRange(b"a", b"a"))))
    rows = gateway.execute(FetchRows(scanner, 1))
    gateway.execute(CloseScanner(scanner))

    assert rows == []
    assert client.calls == []


def test_rows_outside_a_reverse_range_are_fetched_past_and_the_end_is_remembered() -> None:
    # The first answer is the excluded high end alone: an empty answer would mean the end.
    answers = [[_row1(b"c")], [_row1(b"b"), _row1(b"a\xff")]]
    client = _Client(scannerOpenWithScan=3, scannerGetList=lambda *_: answers.pop(0))
    gateway = _thrift1(client)
    scanner = gateway.execute(OpenScanner(Scan("t", KeyRange(b"b", b"c"), reverse=True)))

    rows = [gateway.execute(FetchRows(scanner, 2)) for _ in range(2)]

    assert rows == [[_row1(b"b")], []]
    assert answers == []


def test_a_scanner_is_closed_once_and_not_read_after() -> None:
    client = _Client(scannerOpenWithScan=0)
    gateway = _thrift1(client)
    scanner = gateway.execute(OpenScanner(Scan("t")))

    gateway.execute(CloseScanner(scanner))
    gateway.execute(CloseScanner(scanner))

    assert client.methods == ["scannerOpenWithScan", "scannerClose"]
    with pytest.raises(ScannerExpiredError):
        gateway.execute(FetchRows(scanner, 1))


def test_a_scanner_that_the_server_forgot_has_expired_and_needs_no_closing() -> None:
    def forgotten(*_: Any) -> Any:
        raise HBASE1.IllegalArgument(message=b"scanner ID is invalid")

    client = _Client(scannerOpenWithScan=0, scannerGetList=forgotten)
    gateway = _thrift1(client)
    scanner = gateway.execute(OpenScanner(Scan("t")))

    with pytest.raises(ScannerExpiredError):
        gateway.execute(FetchRows(scanner, 1))
    gateway.execute(CloseScanner(scanner))

    assert "scannerClose" not in client.methods


def test_a_scanner_of_another_gateway_is_refused() -> None:
    with pytest.raises(RejectedError, match="another gateway"):
        _thrift1(_Client()).execute(FetchRows(ScannerId(0, "memory"), 1))


def test_a_scanner_that_cannot_be_closed_hides_no_other_error() -> None:
    def broken(*_: Any) -> Any:
        raise BrokenPipeError

    gateway = _thrift1(_Client(scannerOpenWithScan=0, scannerClose=broken))
    scanner = gateway.execute(OpenScanner(Scan("t")))

    gateway.execute(CloseScanner(scanner))


def test_a_closed_gateway_refuses() -> None:
    gateway = _thrift1(_Client(getTableNames=[]))
    gateway.close()
    gateway.close()

    with pytest.raises(ConfigurationError):
        gateway.execute(ListTables())


def test_repr_shows_the_pool_and_the_timeout() -> None:
    assert repr(_thrift1(_Client())) == (
        "Thrift1Gateway(Pool(h:1, 0 open, 0 busy, at most 8), timeout_s=30)"
    )


def _decoded_row() -> DecodedRow:
    cell = DecodedCell()
    cell.value, cell.timestamp_ms = b"1", 7
    return DecodedRow(b"a", {b"d:a": cell})  # type: ignore[dict-item] # equal to a Cell


def test_a_decoded_row_equals_the_row_it_stands_for_from_both_sides() -> None:
    assert _decoded_row() == _row1(b"a")
    assert _row1(b"a") == _decoded_row()
    assert _decoded_row() != _row1(b"b")
    assert repr(_decoded_row()) == repr(_row1(b"a"))


def test_a_decoded_cell_behaves_as_the_tuple_it_stands_for() -> None:
    cell = _decoded_row().cells[b"d:a"]

    value, timestamp_ms = cell

    assert (value, timestamp_ms) == (cell[0], cell[1]) == (b"1", 7)
    assert len(cell) == 2
    assert cell == Cell(b"1", 7)
    assert Cell(b"1", 7) == cell
    assert cell != Cell(b"1", 8)
    assert hash(cell) == hash(Cell(b"1", 7))


def test_a_scanner_of_a_connection_in_use_is_closed_by_the_next_request_on_it() -> None:
    client = _Client(scannerOpenWithScan=1, getRow=[], scannerClose=None)
    gateway = _thrift1(client)
    scanner = gateway.execute(OpenScanner(Scan("t", KeyRange())))

    with gateway.pool.use(5.0):
        gateway.execute(CloseScanner(scanner))
        meanwhile = list(client.methods)
    gateway.execute(GetRows("t", (b"a",)))

    assert meanwhile == ["scannerOpenWithScan"]
    assert client.methods == ["scannerOpenWithScan", "scannerClose", "getRow"]
