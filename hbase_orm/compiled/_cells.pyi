from collections.abc import Callable, KeysView
from typing import Any, TypeAlias

from hbase_orm.ops import Cell, Row

FORMS: dict[str, int]
ABSENT: dict[str, int]
MOST: int
SOURCE: int
KINDS: dict[str, int]
SIGNS: dict[str, int]
SOURCES: dict[str, int]
MOST_KEY_PARTS: int
MOST_ROWS: int

CellColumn: TypeAlias = tuple[bytes, str, str, str, int, bool, bool, int, Any]

GatheredColumn: TypeAlias = tuple[str, int, str, int, bool, str, int | None, int | None, int, Any]

def take_rows(
    data: bytes, position: int, most: int, rows: list[Any], row_type: type[Row]
) -> int: ...
def take_results(
    data: bytes, position: int, most: int, rows: list[Any], row_type: type[Row]
) -> int: ...
def cells_of(encoded: bytes, cell_type: type[Cell]) -> dict[bytes, Cell]: ...
def parts_of(
    encoded: bytes, names: tuple[bytes, ...]
) -> tuple[tuple[bytes, ...], tuple[bytes, ...], tuple[int, ...]]: ...
def columns_of(encoded: bytes) -> KeysView[bytes]: ...

class CellReader:
    def __init__(
        self, columns: tuple[CellColumn, ...], misfits: tuple[type[BaseException], ...]
    ) -> None: ...
    def read_into(self, values: dict[str, Any], encoded: bytes) -> bool: ...

class EntryReader:
    def __init__(
        self, fields: tuple[tuple[bytes, frozenset[bytes]], ...], parts: CellReader
    ) -> None: ...

class ObjectMaker:
    def __init__(
        self,
        model: type[Any],
        state: type[Any],
        set_state: Callable[[Any, Any], None],
        rare: Any,
        decode_key: Callable[..., tuple[Any, ...]],
        key_fields: tuple[str, ...],
        cells: CellReader,
        entries: EntryReader | None,
        entry_fields: tuple[str, ...],
        plainly: Callable[..., Any],
        row_type: type[Row],
    ) -> None: ...
    def made(self, origin: str | None, context: Any, row: Row) -> Any: ...

class ValueReader:
    def __init__(
        self,
        cells: CellReader,
        decode_key: Callable[..., tuple[Any, ...]] | None,
        places: tuple[int, ...],
        plainly: Callable[..., tuple[Any, ...]],
        row_type: type[Row],
    ) -> None: ...
    def __call__(self, row: Row, context: Any = None) -> tuple[Any, ...]: ...

class KeyReader:
    def __init__(
        self,
        parts: tuple[tuple[str, int, int, int, frozenset[bytes] | None], ...],
        values: CellReader,
        fields: int,
        plainly: Callable[..., tuple[Any, ...]],
    ) -> None: ...
    def __call__(self, key: bytes, context: Any = None) -> tuple[Any, ...]: ...

class ColumnGatherer:
    def __init__(
        self,
        columns: tuple[GatheredColumn, ...],
        cells: CellReader,
        keys: KeyReader | None,
        decode_key: Callable[..., tuple[Any, ...]] | None,
        misfits: tuple[type[BaseException], ...],
        row_type: type[Row],
        most: int,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    def gather(self, rows: list[Row]) -> int: ...
    def take(self) -> list[tuple[int, bytearray, bytearray | None, Any]]: ...
