r"""A parser of HBase's filter language, which makes the filters of `memory.filters`.

`OR` binds weakest, then `AND`, then `SKIP` and `WHILE`. A quote inside a quoted argument is
doubled; nothing else is escaped. The parser refuses what HBase refuses, for example `==` and
lower-case `and`. It also refuses the filters of HBase that are not simulated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.memory.comparators import (
    compare_binary,
    compare_prefix,
    compare_regex,
    compare_substring,
)
from hbase_orm.gateway.memory.filter_lists import AndFilter, OrFilter, SkipFilter, WhileFilter
from hbase_orm.gateway.memory.filters import (
    ColumnPaginationFilter,
    ColumnPrefixFilter,
    ColumnRangeFilter,
    Comparison,
    FamilyFilter,
    FirstKeyOnlyFilter,
    InclusiveStopFilter,
    KeyOnlyFilter,
    PageFilter,
    PrefixFilter,
    QualifierComparisonFilter,
    RowFilter,
    ServerFilter,
    SingleColumnValueFilter,
    ValueFilter,
)

FilterFactory = Callable[[], ServerFilter]
"""A function that makes a new filter object, because the scan of each region needs its own."""

_UNSUPPORTED = frozenset(
    {
        "ColumnCountGetFilter",
        "ColumnValueFilter",
        "DependentColumnFilter",
        "SingleColumnValueExcludeFilter",
        "TimestampsFilter",
    }
)

_TOKEN = re.compile(
    rb"\s*(?:(?P<quoted>'(?:[^']|'')*')|(?P<word>[A-Za-z0-9_]+)|(?P<mark>[(),])|(?P<op>[<>!=]+))",
    re.DOTALL,
)


class Token(NamedTuple):
    """One token: its kind (quoted, word, mark, op) and its bytes without quotes."""

    kind: str
    data: bytes


def parse_filter(text: bytes, *, is_reverse: bool = False) -> FilterFactory:
    """Parse a filter string, and return a function that makes a new filter object at each call.

    Raises:
        RejectedError: The text is not a filter, or has a filter that is not simulated.
    """
    parser = _Parser(text, tokenize(text), is_reverse=is_reverse)
    parse = parser.parse
    parse()

    def build() -> ServerFilter:
        return _Parser(text, parser.tokens, is_reverse=is_reverse).parse()

    return build


def tokenize(text: bytes) -> tuple[Token, ...]:
    """Split a filter string into tokens."""
    tokens = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(text, position)
        if match is None:
            _refuse(text, "a character that starts no token")
        kind = match.lastgroup or ""
        data = match.group(kind)
        tokens.append(Token(kind, data[1:-1].replace(b"''", b"'") if kind == "quoted" else data))
        position = match.end()
    return tuple(tokens)


def _refuse(text: bytes, why: str) -> NoReturn:
    raise RejectedError(
        "HBase's filter language does not have this filter",
        why=why,
        filter=text[:200],
        fix="correct the filter string",
    )


@dataclass(slots=True)
class _Parser:
    text: bytes
    tokens: tuple[Token, ...]
    is_reverse: bool
    position: int = field(default=0, init=False)

    def parse(self) -> ServerFilter:
        parsed = self._any_of()
        if self.position < len(self.tokens):
            _refuse(self.text, "there is more text after the end of the filter")
        return parsed

    def _any_of(self, *, is_bracketed: bool = False) -> ServerFilter:
        parts = [self._all_of()]
        while self._takes(Token("word", b"OR")):
            parts.append(self._all_of())
        if is_bracketed and len(parts) > 1 and len(parts[-1]) > 1:
            # HBase's parser loses an operand there, but not in (a AND b OR c) or (a OR (b AND c)).
            _refuse(self.text, "an AND after an OR needs brackets around it")
        filters = [AndFilter(part) if len(part) > 1 else part[0] for part in parts]
        return OrFilter(filters) if len(filters) > 1 else filters[0]

    def _all_of(self) -> list[ServerFilter]:
        parts = [self._single()]
        while self._takes(Token("word", b"AND")):
            parts.append(self._single())
        return parts

    def _single(self) -> ServerFilter:
        if self._takes(Token("word", b"SKIP")):
            return SkipFilter(self._single())
        if self._takes(Token("word", b"WHILE")):
            return WhileFilter(self._single())
        if self._takes(Token("mark", b"(")):
            parsed = self._any_of(is_bracketed=True)
            self._needs(b")")
            return parsed
        return self._simple()

    def _simple(self) -> ServerFilter:
        name = self._next()
        if name.kind != "word":
            _refuse(self.text, "a filter's name is missing")
        self._needs(b"(")
        arguments = self._arguments()
        return _build(name.data.decode(), _Arguments(self.text, arguments, self.is_reverse))

    def _arguments(self) -> list[Token]:
        arguments: list[Token] = []
        while not self._takes(Token("mark", b")")):
            if arguments:
                self._needs(b",")
            token = self._next()
            if token.kind == "mark":
                _refuse(self.text, "an argument is missing")
            arguments.append(token)
        return arguments

    def _takes(self, token: Token) -> bool:
        if self.position < len(self.tokens) and self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def _needs(self, mark: bytes) -> None:
        if not self._takes(Token("mark", mark)):
            _refuse(self.text, f"{mark.decode()} is missing")

    def _next(self) -> Token:
        if self.position == len(self.tokens):
            _refuse(self.text, "the filter string ends too early")
        self.position += 1
        return self.tokens[self.position - 1]


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of one filter. Most methods check the type of one argument and return it.

    `count` only checks the number of arguments.
    """

    text: bytes
    tokens: Sequence[Token]
    is_reverse: bool

    def count(self, *allowed: int) -> None:
        if len(self.tokens) not in allowed:
            _refuse(self.text, "a filter has the wrong number of arguments")

    def quoted(self, position: int) -> bytes:
        return self._of_kind(position, "quoted")

    def boolean(self, position: int) -> bool:
        word = self._of_kind(position, "word")
        if word not in {b"true", b"false"}:
            _refuse(self.text, "neither true nor false")
        return word == b"true"

    def number(self, position: int) -> int:
        word = self._of_kind(position, "word")
        if not word.isdigit():
            _refuse(self.text, "not a number")
        return int(word)

    def comparison(self, position: int) -> Comparison:
        """Read an operator and the comparator after it."""
        symbol = self._of_kind(position, "op").decode()
        if symbol not in {"=", "!=", "<", "<=", ">", ">="}:
            _refuse(self.text, "an unknown operator")
        kind, colon, expected = self.quoted(position + 1).partition(b":")
        if not colon:
            _refuse(self.text, "a comparator without its type")
        if kind == b"binary":
            return compare_binary(symbol, expected)
        if kind == b"binaryprefix":
            return compare_prefix(symbol, expected)
        return self._text_comparison(kind, symbol, expected)

    def _text_comparison(self, kind: bytes, symbol: str, expected: bytes) -> Comparison:
        if kind not in {b"substring", b"regexstring", b"regexstringnocase"}:
            _refuse(self.text, "an unknown comparator")
        if symbol not in {"=", "!="}:
            _refuse(self.text, "a text comparator takes = and != only")
        if kind == b"substring":
            return compare_substring(symbol, expected)
        try:
            return compare_regex(symbol, expected, ignore_case=kind == b"regexstringnocase")
        except re.error:
            _refuse(self.text, "a wrong regular expression")

    def _of_kind(self, position: int, kind: str) -> bytes:
        token = self.tokens[position]
        if token.kind != kind:
            _refuse(self.text, "an argument of the wrong kind")
        return token.data


def _build(name: str, arguments: _Arguments) -> ServerFilter:
    if name in _UNSUPPORTED:
        raise RejectedError(
            "the memory gateway does not simulate this filter",
            filter=name,
            fix="use a real HBase, or a filter that is simulated",
        )
    builder = _BUILDERS.get(name)
    if builder is None:
        _refuse(arguments.text, "an unknown filter")
    return builder(arguments)


def _row(arguments: _Arguments) -> ServerFilter:
    arguments.count(2)
    return RowFilter(arguments.comparison(0))


def _value(arguments: _Arguments) -> ServerFilter:
    arguments.count(2)
    return ValueFilter(arguments.comparison(0))


def _qualifier(arguments: _Arguments) -> ServerFilter:
    arguments.count(2)
    return QualifierComparisonFilter(arguments.comparison(0))


def _family(arguments: _Arguments) -> ServerFilter:
    arguments.count(2)
    return FamilyFilter(arguments.comparison(0))


def _prefix(arguments: _Arguments) -> ServerFilter:
    arguments.count(1)
    return PrefixFilter(arguments.quoted(0), arguments.is_reverse)


def _inclusive_stop(arguments: _Arguments) -> ServerFilter:
    arguments.count(1)
    return InclusiveStopFilter(arguments.quoted(0), arguments.is_reverse)


def _page(arguments: _Arguments) -> ServerFilter:
    arguments.count(1)
    return PageFilter(arguments.number(0))


def _column_prefix(arguments: _Arguments) -> ServerFilter:
    arguments.count(1)
    return ColumnPrefixFilter((arguments.quoted(0),))


def _column_prefixes(arguments: _Arguments) -> ServerFilter:
    if not arguments.tokens:
        arguments.count(1)
    prefixes = {arguments.quoted(position) for position in range(len(arguments.tokens))}
    return ColumnPrefixFilter(sorted(prefixes))


def _column_range(arguments: _Arguments) -> ServerFilter:
    arguments.count(4)
    return ColumnRangeFilter(
        arguments.quoted(0), arguments.boolean(1), arguments.quoted(2), arguments.boolean(3)
    )


def _column_page(arguments: _Arguments) -> ServerFilter:
    arguments.count(2)
    return ColumnPaginationFilter(arguments.number(0), arguments.number(1))


def _first_key(arguments: _Arguments) -> ServerFilter:
    arguments.count(0)
    return FirstKeyOnlyFilter()


def _key_only(arguments: _Arguments) -> ServerFilter:
    arguments.count(0)
    return KeyOnlyFilter()


def _single_column_value(arguments: _Arguments) -> ServerFilter:
    arguments.count(4, 6)
    made = SingleColumnValueFilter(
        arguments.quoted(0), arguments.quoted(1), arguments.comparison(2)
    )
    if len(arguments.tokens) > 4:  # noqa: PLR2004 - the four that are always there
        made.refuse_if_missing = arguments.boolean(4)
        made.newest_only = arguments.boolean(5)
    return made


_BUILDERS: dict[str, Callable[[_Arguments], ServerFilter]] = {
    "ColumnPaginationFilter": _column_page,
    "ColumnPrefixFilter": _column_prefix,
    "ColumnRangeFilter": _column_range,
    "FamilyFilter": _family,
    "FirstKeyOnlyFilter": _first_key,
    "InclusiveStopFilter": _inclusive_stop,
    "KeyOnlyFilter": _key_only,
    "MultipleColumnPrefixFilter": _column_prefixes,
    "PageFilter": _page,
    "PrefixFilter": _prefix,
    "QualifierFilter": _qualifier,
    "RowFilter": _row,
    "SingleColumnValueFilter": _single_column_value,
    "ValueFilter": _value,
}
