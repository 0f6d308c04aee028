"""How much one call asks for follows what came, and rows cut into pieces come out whole."""

from __future__ import annotations

import pytest

from hbase_orm.gateway.thrift.answer_sizes import (
    ANSWER_BYTES,
    FIRST_CELLS,
    FIRST_ROWS,
    MOST_CELLS,
    MOST_ROWS,
    AnswerSizes,
    Pieces,
    Portion,
    batch_cells,
    portions,
)
from hbase_orm.ops import Cell, KeyRange, Row, Scan, StaleRow
from tests.support.listed_rows import listed

_MEGABYTE = 1 << 20


def _scan(*columns: bytes, sent: bytes | None = None) -> Scan:
    return Scan("t", KeyRange(), columns, filter=sent)


def _row(key: bytes, *names: int) -> Row:
    return Row(key, {b"d:%d" % name: Cell(b"", 1) for name in names})


def _stale(key: bytes, *names: int) -> StaleRow:
    return StaleRow(key, _row(key, *names).cells)


def _portion(sizes: AnswerSizes, kind: str = "rows") -> Portion:
    return Portion(sizes, (kind,), first=4, most=100)


def test_small_results_let_the_next_call_ask_for_four_times_as_many_up_to_the_most() -> None:
    portion = _portion(AnswerSizes())
    counts = []
    for _ in range(4):
        counts.append(portion.count)
        portion.note(portion.count, portion.count * 10)

    assert counts == [4, 16, 64, 100]


def test_large_results_let_the_next_call_ask_for_what_one_answer_shall_have() -> None:
    portion = _portion(AnswerSizes())

    portion.note(4, 4 * ANSWER_BYTES // 2)

    assert portion.count == 2


def test_a_result_larger_than_an_answer_comes_alone() -> None:
    portion = _portion(AnswerSizes())

    portion.note(1, 10 * _MEGABYTE)

    assert portion.count == 1


def test_an_empty_answer_tells_nothing() -> None:
    portion = _portion(AnswerSizes())

    portion.note(0, 40)

    assert portion.count == 4


def test_what_small_rows_weighed_spares_the_next_request_the_slow_start() -> None:
    sizes = AnswerSizes()
    _portion(sizes).note(4, 40)

    assert _portion(sizes).count == 100
    assert _portion(sizes, "others").count == 4


def test_a_large_answer_is_not_forgotten_at_the_next_small_one() -> None:
    sizes = AnswerSizes()
    portion = _portion(sizes)
    portion.note(4, 4 * 10 * _MEGABYTE)
    portion.note(1, 10)
    after_one = portion.count
    for _ in range(20):
        portion.note(portion.count, portion.count * 10)

    assert after_one == 1
    assert portion.count == 100


def test_keys_are_asked_for_once_each_in_portions_that_grow() -> None:
    portion = _portion(AnswerSizes())
    keys = [b"%02d" % number for number in range(30)]
    asked = []
    for part in portions([*keys, *keys], portion):
        asked.append(part)
        portion.note(len(part), len(part))

    assert [len(part) for part in asked] == [4, 16, 10]
    assert [key for part in asked for key in part] == keys


def test_named_columns_cut_no_row_and_others_are_cut_into_few_cells() -> None:
    assert batch_cells(_scan(b"d:a", b"d:b")) == 3
    assert batch_cells(_scan(b"d")) == batch_cells(_scan()) == 8


@pytest.mark.parametrize(
    "sent",
    [
        b"SingleColumnValueFilter('d','a',=,'binary:1',true,true)",
        b"(KeyOnlyFilter()) AND ( SingleColumnValueFilter ('d','a',=,'binary:1') )",
        b"SKIP ValueFilter(=,'binary:1')",
        b"WHILE (ValueFilter(=,'binary:1'))",
        b"PageFilter(3)",
        b"DependentColumnFilter('d','a')",
        b"ColumnPaginationFilter(1,0)",
        b"FilterOfALaterHBase()",
    ],
)
def test_a_filter_that_may_judge_whole_rows_leaves_them_whole(sent: bytes) -> None:
    pieces = Pieces(_scan(sent=sent), AnswerSizes())

    assert pieces.batch_cells is None
    assert pieces.portion.count == FIRST_ROWS
    assert pieces.join([_row(b"a", *range(50))]) == [_row(b"a", *range(50))]


@pytest.mark.parametrize(
    "sent",
    [
        b"KeyOnlyFilter() AND FirstKeyOnlyFilter()",
        b"ValueFilter(=,'binary:SKIP PageFilter(1)')",
        b"RowFilter(=,'substring:it''s WHILE')",
        b"(QualifierFilter(>=,'binary:a') OR ColumnPrefixFilter('x'))",
    ],
)
def test_a_filter_that_judges_cells_lets_rows_be_cut(sent: bytes) -> None:
    assert batch_cells(_scan(sent=sent)) == 8


def test_an_answer_never_has_more_cells_than_the_limit() -> None:
    for width in (1, 2, 5, 30, 300):
        scan = _scan(*(b"d:%d" % number for number in range(width)))
        pieces = Pieces(scan, AnswerSizes())
        assert pieces.batch_cells is not None
        assert pieces.portion.count * pieces.batch_cells <= max(FIRST_CELLS, pieces.batch_cells)
        for _ in range(10):
            pieces.portion.note(1, 1)
        assert pieces.portion.count * pieces.batch_cells <= MOST_CELLS


def test_a_scan_of_whole_rows_never_asks_for_more_than_the_limit() -> None:
    pieces = Pieces(_scan(sent=b"PageFilter(9)"), AnswerSizes())
    for _ in range(10):
        pieces.portion.note(1, 1)

    assert pieces.portion.count == MOST_ROWS


def test_pieces_of_a_row_are_put_together_also_across_answers() -> None:
    pieces = Pieces(_scan(), AnswerSizes())
    answers = [
        [_row(b"a", 1), _row(b"b", *range(8))],
        [_row(b"b", *range(8, 16)), _row(b"b", *range(16, 24))],
        [_row(b"b", 24), _row(b"c", *range(8))],
        [],
    ]

    joined = [pieces.join(answer) for answer in answers]

    assert joined == [[_row(b"a", 1)], [], [_row(b"b", *range(25))], [_row(b"c", *range(8))]]
    assert pieces.join([]) == []


def test_pieces_whose_cells_are_not_made_yet_are_put_together() -> None:
    pieces = Pieces(_scan(), AnswerSizes())
    answers = [[listed(_row(b"b", *range(8)))], [listed(_row(b"b", *range(8, 12)))]]

    _, (row,) = [pieces.join(answer) for answer in answers]

    assert row == _row(b"b", *range(12))
    assert type(row) is Row


def test_a_row_is_stale_if_a_replica_returned_one_of_its_pieces() -> None:
    pieces = Pieces(Scan("t", is_timeline=True), AnswerSizes())
    answers = [
        [_row(b"a", 1), _stale(b"b", 1), _row(b"c", *range(8))],
        [_stale(b"c", *range(8, 16)), _row(b"c", 16), _stale(b"d", *range(8))],
        [_row(b"d", 8), _row(b"e", 1)],
        [],
    ]

    joined = [row for answer in answers for row in pieces.join(answer)]

    assert joined == [
        _row(b"a", 1),
        _stale(b"b", 1),
        _stale(b"c", *range(17)),
        _stale(b"d", *range(9)),
        _row(b"e", 1),
    ]


def test_a_full_piece_ends_its_row_when_another_row_follows() -> None:
    pieces = Pieces(_scan(), AnswerSizes())

    assert pieces.join([_row(b"a", *range(8))]) == []
    assert pieces.join([_row(b"b", 1)]) == [_row(b"a", *range(8)), _row(b"b", 1)]


def test_a_wide_row_is_asked_for_in_calls_that_grow_however_few_rows_are_wanted() -> None:
    pieces = Pieces(_scan(), AnswerSizes())
    asked: list[int] = []
    for start in range(0, 8 * 100, 8):
        if len(asked) == 4:
            break
        asked.append(pieces.next_count(1))
        pieces.portion.note(asked[-1], asked[-1] * 10)
        pieces.join([_row(b"a", *range(start, start + 8))] * asked[-1])

    assert asked == [1, 4, 16, 64]


def test_rows_of_several_pieces_are_asked_for_by_their_pieces() -> None:
    pieces = Pieces(_scan(), AnswerSizes())
    pieces.portion.count = 64

    pieces.join([_row(b"a", *range(8)), _row(b"a", 8), _row(b"b", *range(8)), _row(b"b", 8)])

    assert pieces.next_count(10) == 20
