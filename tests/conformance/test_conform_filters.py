"""Filter strings: the language, and what each filter lets through."""

from __future__ import annotations

import pytest

from hbase_orm.errors import RejectedError
from hbase_orm.ops import Cell, KeyRange, Scan
from tests.conformance.bench import Bench, row_values


@pytest.fixture
def people(bench: Bench) -> Bench:
    """Return a bench with four rows; the third lacks d:age."""
    bench.put_row(b"ann", {b"d:age": b"30", b"d:city": b"Oslo", b"e:note": b"x"}, 10)
    bench.put_row(b"bob", {b"d:age": b"20", b"d:city": b"Bonn"}, 10)
    bench.put_row(b"eve", {b"d:city": b"Oslo"}, 10)
    bench.put_row(b"joe", {b"d:age": b"40", b"d:city": b"Rome", b"e:note": b"y"}, 10)
    return bench


def _own(bench: Bench, name: bytes) -> bytes:
    return bench.key(name)


# --- rows by key ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (b"=", [b"bob"]),
        (b"!=", [b"ann", b"eve", b"joe"]),
        (b"<", [b"ann"]),
        (b"<=", [b"ann", b"bob"]),
        (b">", [b"eve", b"joe"]),
        (b">=", [b"bob", b"eve", b"joe"]),
    ],
)
def test_a_row_filter_compares_keys_as_bytes(
    people: Bench, symbol: bytes, expected: list[bytes]
) -> None:
    text = b"RowFilter(%s, 'binary:%s')" % (symbol, _own(people, b"bob"))

    assert people.keys(filter=text) == expected


def test_a_binaryprefix_comparator_looks_at_leading_bytes_only(people: Bench) -> None:
    text = b"RowFilter(=, 'binaryprefix:%s')" % _own(people, b"b")

    assert people.keys(filter=text) == [b"bob"]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_prefix_filter_takes_keys_with_a_prefix(people: Bench, *, reverse: bool) -> None:
    text = b"PrefixFilter('%s')" % _own(people, b"e")

    assert people.keys(filter=text, reverse=reverse) == [b"eve"]


@pytest.mark.parametrize(
    ("reverse", "expected"), [(False, [b"ann", b"bob"]), (True, [b"joe", b"eve", b"bob"])]
)
def test_an_inclusive_stop_filter_includes_the_stop(
    people: Bench, expected: list[bytes], *, reverse: bool
) -> None:
    text = b"InclusiveStopFilter('%s')" % _own(people, b"bob")

    assert people.keys(filter=text, reverse=reverse) == expected


# --- rows by one column ---------------------------------------------------------------------------


def test_a_single_column_value_filter_passes_rows_that_lack_the_column(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >, 'binary:25')"

    assert people.keys(filter=text) == [b"ann", b"eve", b"joe"]


def test_a_single_column_value_filter_may_refuse_rows_that_lack_the_column(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >, 'binary:25', true, true)"

    assert people.keys(filter=text) == [b"ann", b"joe"]


def test_a_single_column_value_filter_keeps_all_cells_of_its_rows(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', =, 'binary:30', true, true)"

    assert [row_values(row) for row in people.rows(filter=text)] == [
        {b"d:age": b"30", b"d:city": b"Oslo", b"e:note": b"x"}
    ]


def test_a_single_column_value_filter_sees_only_the_columns_of_the_scan(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >, 'binary:25', true, true)"

    assert people.keys(filter=text, columns=(b"d:city",)) == []


def test_a_single_column_value_filter_looks_at_the_newest_version_only(bench: Bench) -> None:
    bench.put(b"v:x", b"old", 10)
    bench.put(b"v:x", b"new", 20)
    newest = b"SingleColumnValueFilter('v', 'x', =, 'binary:old', true, true)"
    every = b"SingleColumnValueFilter('v', 'x', =, 'binary:old', true, false)"

    assert bench.keys(filter=newest) == []
    assert bench.rows(filter=every)[0].cells == {b"v:x": Cell(b"new", 20)}


def test_a_column_prefix_before_a_column_value_filter_hides_the_tested_column(
    people: Bench,
) -> None:
    text = b"ColumnPrefixFilter('ag') AND SingleColumnValueFilter('d', 'city', =, 'binary:Bonn')"

    assert people.keys(filter=text) == [b"ann", b"bob", b"joe"]


def test_a_reverse_scan_by_a_required_column_must_not_read_other_families(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >, 'binary:25', true, true)"

    assert people.keys(filter=text, columns=(b"d",), reverse=True) == [b"joe", b"ann"]
    with pytest.raises(RejectedError):
        people.keys(filter=text, reverse=True)


def test_a_reverse_scan_by_an_optional_column_may_read_all_families(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >, 'binary:25')"

    assert people.keys(filter=text, reverse=True) == [b"joe", b"eve", b"ann"]


# --- cells ----------------------------------------------------------------------------------------


def test_a_value_filter_takes_cells_and_drops_rows_without_any(people: Bench) -> None:
    found = people.rows(filter=b"ValueFilter(=, 'binary:Oslo')")

    assert [(row.key, row_values(row)) for row in found] == [
        (b"ann", {b"d:city": b"Oslo"}),
        (b"eve", {b"d:city": b"Oslo"}),
    ]


def test_a_value_filter_may_match_an_older_version(bench: Bench) -> None:
    bench.put(b"v:x", b"old", 10)
    bench.put(b"v:x", b"new", 20)

    found = bench.rows(filter=b"ValueFilter(=, 'binary:old')")

    assert [row.cells for row in found] == [{b"v:x": Cell(b"old", 10)}]


def test_a_qualifier_filter_takes_columns_by_name(people: Bench) -> None:
    found = people.rows(filter=b"QualifierFilter(>, 'binary:city')")

    assert [(row.key, row_values(row)) for row in found] == [
        (b"ann", {b"e:note": b"x"}),
        (b"joe", {b"e:note": b"y"}),
    ]


def test_a_family_filter_takes_families_by_name(people: Bench) -> None:
    assert people.keys(filter=b"FamilyFilter(=, 'binary:e')") == [b"ann", b"joe"]


def test_a_column_prefix_filter_takes_columns_by_prefix_in_every_family(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:a": b"", b"d:ab": b"", b"d:b": b"", b"e:abc": b"", b"e:c": b""})

    assert set(bench.rows(filter=b"ColumnPrefixFilter('ab')")[0].cells) == {b"d:ab", b"e:abc"}


def test_a_multiple_column_prefix_filter_takes_any_of_its_prefixes(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:a1": b"", b"d:b1": b"", b"d:c1": b"", b"d:c2": b"", b"e:a2": b""})
    text = b"MultipleColumnPrefixFilter('c', 'a')"

    assert set(bench.rows(filter=text)[0].cells) == {b"d:a1", b"d:c1", b"d:c2", b"e:a2"}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (b"true", b"true", {b"d:b", b"d:c", b"d:d"}),
        (b"false", b"true", {b"d:c", b"d:d"}),
        (b"true", b"false", {b"d:b", b"d:c"}),
        (b"false", b"false", {b"d:c"}),
    ],
)
def test_a_column_range_filter_takes_a_range_of_qualifiers(
    bench: Bench, low: bytes, high: bytes, expected: set[bytes]
) -> None:
    bench.put_row(b"r", {b"d:" + name: b"" for name in (b"a", b"b", b"c", b"d", b"e")})
    text = b"ColumnRangeFilter('b', %s, 'd', %s)" % (low, high)

    assert set(bench.rows(filter=text)[0].cells) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(b"", b"c", {b"d:", b"d:a", b"d:b"}), (b"b", b"", {b"d:b", b"d:c"}), (b"c", b"b", None)],
)
def test_a_column_range_filter_takes_no_bytes_for_no_bound(
    bench: Bench, low: bytes, high: bytes, expected: set[bytes] | None
) -> None:
    bench.put_row(b"r", {b"d:" + name: b"" for name in (b"", b"a", b"b", b"c")})
    text = b"ColumnRangeFilter('%s', true, '%s', false)" % (low, high)

    found = [set(row.cells) for row in bench.rows(filter=text, columns=(b"d",))]

    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (2, 0, {b"d:a", b"d:b"}),
        (2, 1, {b"d:b", b"d:c"}),
        (2, 3, {b"e:a", b"e:b"}),
        (9, 4, {b"e:b"}),
        (1, 9, None),
    ],
)
def test_a_column_pagination_filter_counts_the_columns_of_a_row_over_its_families(
    bench: Bench, limit: int, offset: int, expected: set[bytes] | None
) -> None:
    bench.put_row(b"r", {b"d:a": b"", b"d:b": b"", b"d:c": b"", b"e:a": b"", b"e:b": b""})
    text = b"ColumnPaginationFilter(%d, %d)" % (limit, offset)

    found = [set(row.cells) for row in bench.rows(filter=text)]

    assert found == ([] if expected is None else [expected])


def test_a_column_pagination_filter_starts_again_in_each_row_and_counts_no_older_versions(
    bench: Bench,
) -> None:
    for timestamp_ms in (10, 20):
        for row in (b"r", b"s"):
            value = b"%d" % timestamp_ms
            bench.put_row(row, {b"v:x": value, b"v:y": value, b"v:z": value}, timestamp_ms)

    found = bench.rows(filter=b"ColumnPaginationFilter(2, 0)")

    assert [(row.key, row.cells) for row in found] == [
        (key, {b"v:x": Cell(b"20", 20), b"v:y": Cell(b"20", 20)}) for key in (b"r", b"s")
    ]


def test_a_page_of_a_range_of_columns_counts_those_in_the_range_alone(bench: Bench) -> None:
    names = [b"%02d" % number for number in range(20)]
    bench.put_row(b"r", {b"d:" + name: b"" for name in names})
    text = (
        b"ColumnRangeFilter('05', true, '15', false) AND QualifierFilter(!=, 'binary:06') AND "
        b"ColumnPaginationFilter(3, 0)"
    )

    found = bench.rows(filter=text, columns=(b"d",))

    assert set(found[0].cells) == {b"d:05", b"d:07", b"d:08"}


def test_a_range_of_columns_without_a_cell_gives_no_row(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:a": b""})
    text = b"ColumnRangeFilter('b', true, 'c', false) AND ColumnPaginationFilter(3, 0)"

    assert bench.rows(filter=text, columns=(b"d",)) == []


def test_a_key_only_filter_empties_the_values(people: Bench) -> None:
    found = people.rows(filter=b"KeyOnlyFilter()")

    assert row_values(found[0]) == {b"d:age": b"", b"d:city": b"", b"e:note": b""}


def test_first_key_only_and_key_only_give_one_empty_cell_a_row(people: Bench) -> None:
    found = people.rows(filter=b"FirstKeyOnlyFilter() AND KeyOnlyFilter()")

    assert [(row.key, row_values(row)) for row in found] == [
        (b"ann", {b"d:age": b""}),
        (b"bob", {b"d:age": b""}),
        (b"eve", {b"d:city": b""}),
        (b"joe", {b"d:age": b""}),
    ]


def test_a_column_or_the_first_key_shows_every_row(people: Bench) -> None:
    text = b"(FamilyFilter(=, 'binary:e') AND QualifierFilter(=, 'binary:note')) OR FirstKeyOnlyFilter()"
    found = people.rows(filter=text)

    assert [(row.key, set(row.cells)) for row in found] == [
        (b"ann", {b"d:age", b"e:note"}),
        (b"bob", {b"d:age"}),
        (b"eve", {b"d:city"}),
        (b"joe", {b"d:age", b"e:note"}),
    ]


# --- comparators ----------------------------------------------------------------------------------


def test_a_substring_comparator_ignores_case(people: Bench) -> None:
    assert people.keys(filter=b"ValueFilter(=, 'substring:OSL')") == [b"ann", b"eve"]


def test_a_regular_expression_is_searched_for(people: Bench) -> None:
    assert people.keys(filter=b"ValueFilter(=, 'regexstring:o.e$')") == [b"joe"]
    assert people.keys(filter=b"ValueFilter(=, 'regexstring:^bo')") == []


def test_a_regular_expression_may_ignore_case(people: Bench) -> None:
    assert people.keys(filter=b"ValueFilter(=, 'regexstringnocase:^bo')") == [b"bob"]


def test_any_byte_may_stand_in_a_comparator_with_its_quote_doubled(bench: Bench) -> None:
    every = bytes(range(256))
    bench.put(b"d:x", every, 10, row=b"a")
    bench.put(b"d:x", every[::-1], 10, row=b"b")
    text = b"ValueFilter(=, 'binary:%s')" % every.replace(b"'", b"''")

    assert bench.keys(filter=text) == [b"a"]


@pytest.mark.parametrize("value", [b"'", b"''", b"a'b", b"\\", b"\xff", b"\x00", b"%s,)", b":"])
def test_awkward_values_are_quoted_by_doubling_the_quote_alone(bench: Bench, value: bytes) -> None:
    bench.put(b"d:x", value, 10, row=b"a")
    bench.put(b"d:x", value + b"?", 10, row=b"b")
    text = b"ValueFilter(=, 'binary:%s')" % value.replace(b"'", b"''")

    assert bench.keys(filter=text) == [b"a"]


def test_an_empty_binary_comparator_is_below_every_value(people: Bench) -> None:
    text = b"SingleColumnValueFilter('d', 'age', >=, 'binary:', true, true)"

    assert people.keys(filter=text) == [b"ann", b"bob", b"joe"]


# --- combinations ---------------------------------------------------------------------------------


def _key_is(bench: Bench, *names: bytes) -> list[bytes]:
    return [b"RowFilter(=, 'binary:%s')" % bench.key(name) for name in names]


def test_and_binds_tighter_than_or(people: Bench) -> None:
    ann, bob, eve = _key_is(people, b"ann", b"bob", b"eve")

    assert people.keys(filter=b"%s OR %s AND %s" % (ann, bob, eve)) == [b"ann"]


def test_brackets_override_precedence(people: Bench) -> None:
    ann, bob, eve = _key_is(people, b"ann", b"bob", b"eve")

    assert people.keys(filter=b"(%s OR %s) AND %s" % (ann, bob, eve)) == []
    assert people.keys(filter=b"(" * 20 + b"%s OR %s" % (ann, bob) + b")" * 20) == [b"ann", b"bob"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"%b OR %b AND %b", [b"ann"]),
        (b"(%b AND %b OR %b)", [b"eve"]),
        (b"(%b OR (%b AND %b))", [b"ann"]),
        (b"(%b OR %b AND %b OR KeyOnlyFilter())", [b"ann", b"bob", b"eve", b"joe"]),
    ],
)
def test_and_after_or_within_brackets_needs_its_own(
    people: Bench, text: bytes, expected: list[bytes]
) -> None:
    keys = tuple(_key_is(people, b"ann", b"bob", b"eve"))

    assert people.keys(filter=text % keys) == expected
    for refused in (b"(%b OR %b AND %b)", b"KeyOnlyFilter() AND (%b OR %b AND %b)"):
        with pytest.raises(RejectedError):
            people.keys(filter=refused % keys)


def test_two_column_conditions_hold_together(people: Bench) -> None:
    text = (
        b"SingleColumnValueFilter('d', 'city', =, 'binary:Oslo', true, true) AND "
        b"SingleColumnValueFilter('d', 'age', >=, 'binary:30', true, true)"
    )

    assert people.keys(filter=text) == [b"ann"]


def test_one_of_two_column_conditions_is_enough(people: Bench) -> None:
    text = (
        b"SingleColumnValueFilter('d', 'city', =, 'binary:Rome', true, true) OR "
        b"SingleColumnValueFilter('d', 'age', <, 'binary:25', true, true)"
    )

    assert people.keys(filter=text) == [b"bob", b"joe"]


def test_many_alternatives_are_accepted(people: Bench) -> None:
    alternatives = _key_is(people, b"ann", *(b"no%d" % number for number in range(299)))

    assert people.keys(filter=b" OR ".join(alternatives)) == [b"ann"]


def test_skip_drops_the_row_if_any_cell_fails(people: Bench) -> None:
    assert people.keys(filter=b"SKIP ValueFilter(!=, 'binary:Oslo')") == [b"bob", b"joe"]


def test_skip_does_not_pass_the_key_on(people: Bench) -> None:
    (ann,) = _key_is(people, b"ann")

    assert people.keys(filter=b"SKIP " + ann) == [b"ann", b"bob", b"eve", b"joe"]


def test_while_ends_the_scan_at_the_first_failure(people: Bench) -> None:
    text = b"WHILE RowFilter(<, 'binary:%s')" % _own(people, b"eve")

    assert people.keys(filter=text) == [b"ann", b"bob"]


def test_while_on_cells_keeps_what_came_before_the_failure(people: Bench) -> None:
    found = people.rows(filter=b"WHILE ValueFilter(!=, 'binary:Bonn')")

    assert [(row.key, set(row.cells)) for row in found] == [
        (b"ann", {b"d:age", b"d:city", b"e:note"}),
        (b"bob", {b"d:age"}),
    ]


@pytest.mark.parametrize("text", [b"WHILE ValueFilter(!=, 'binary:Bonn')", b"PageFilter(2)"])
def test_a_reverse_range_refuses_a_filter_that_would_count_the_row_above_it(
    people: Bench, text: bytes
) -> None:
    below = KeyRange(people.key(b""), people.key(b"joe"))

    with pytest.raises(RejectedError, match="reads the row above the range"):
        people.scan(Scan(people.table, below, filter=text, reverse=True))


def test_quoted_words_end_no_scan(people: Bench) -> None:
    text = b"ValueFilter(!=, 'binary:WHILE')"
    below = KeyRange(people.key(b""), people.key(b"eve"))

    found = people.scan(Scan(people.table, below, filter=text, reverse=True))

    assert [row.key for row in found] == [people.key(b"bob"), people.key(b"ann")]


def test_a_page_filter_limits_the_rows(people: Bench) -> None:
    assert people.keys(filter=b"PageFilter(2)") == [b"ann", b"bob"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"NoSuchFilter()",
        b"KeyOnlyFilter",
        b"keyonlyfilter()",
        b"KeyOnlyFilter('x')",
        b"RowFilter(==, 'binary:x')",
        b"RowFilter(=, 'x')",
        b"RowFilter(=, 'long:x')",
        b"RowFilter(=, 'binary:x)",
        b"RowFilter(=, binary:x)",
        b"RowFilter('=', 'binary:x')",
        b"RowFilter(=)",
        b"RowFilter(=, 'binary:x'",
        b"RowFilter(<, 'substring:x')",
        b"ValueFilter(=, 'regexstring:[')",
        b"PageFilter(x)",
        b"PageFilter('3')",
        b"PrefixFilter(x)",
        b"KeyOnlyFilter() and KeyOnlyFilter()",
        b"KeyOnlyFilter() AND",
        b"AND KeyOnlyFilter()",
        b"KeyOnlyFilter() KeyOnlyFilter()",
        b"KeyOnlyFilter())",
        b"SingleColumnValueFilter('d', 'x', =, 'binary:1', true)",
        b"SingleColumnValueFilter('d', 'x', =, 'binary:1', yes, no)",
        b"ColumnRangeFilter('a', true)",
    ],
)
def test_what_is_not_of_the_filter_language_is_refused(bench: Bench, text: bytes) -> None:
    with pytest.raises(RejectedError):
        bench.rows(filter=text)
