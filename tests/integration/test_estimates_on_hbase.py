"""Estimates against the files and memstores of a real HBase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine, connect
from hbase_orm.advise.estimating.block_encodings import ENCODINGS
from hbase_orm.advise.estimating.estimates import SizeEstimate, estimate
from hbase_orm.advise.estimating.store_files import ALL_KINDS, BLOCK_BYTES, COMPRESSIONS, divided
from hbase_orm.ops import ModifyFamily
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing.settings import TEST_SETTINGS
from tests.integration.embedded import marks
from tests.support.estimated_models import (
    LARGEST_LOADS,
    MAKERS,
    Indexed,
    LongNames,
    Metric,
    Sparse,
    Tagged,
    load,
)
from tests.support.store_file_blocks import data_blocks, plain_cells

pytestmark = [*marks(), pytest.mark.hbase]

FLUSHED = re.compile(
    r"Finished flush of dataSize ~[^/]+/(\d+), heapSize ~[^/]+/(\d+), .*? for ([0-9a-f]{32})"
)
Kind = tuple[str, str]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    options = ServerOptions(ephemeral=True, settings=TEST_SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "JAVA_TOOL_OPTIONS", "-Dhbaseorm.log.level=INFO"
        )  # it logs the sizes of flushes
        with EmbeddedServer(options) as started:
            patch.undo()
            yield started


def family_folders(server: EmbeddedServer, table: str) -> dict[str, list[Path]]:
    """Return the folders of each family, one for each region."""
    folders: dict[str, list[Path]] = {}
    for path in (server.data_dir / "hbase" / "data" / "default" / table).glob("*/*"):
        if path.is_dir() and not path.name.startswith((".", "recovered")):
            folders.setdefault(path.name, []).append(path)
    return folders


def newest_file(folder: Path) -> Path | None:
    files = [each for each in folder.iterdir() if each.is_file() and "." not in each.name]
    return max(files, key=lambda each: each.stat().st_mtime_ns, default=None)


def newest_bytes(folder: Path) -> int:
    file = newest_file(folder)
    return file.stat().st_size if file else 0


def flushed(server: EmbeddedServer, table: str) -> tuple[int, int]:
    """Flush a table; return the data size and the heap size of its memstores before."""
    regions = {
        folder.parent.name for each in family_folders(server, table).values() for folder in each
    }
    server.admin.flush(table)
    told = [each for each in FLUSHED.findall(server.log.read_text()) if each[2] in regions]
    return sum(int(data) for data, _, _ in told), sum(int(heap) for _, heap, _ in told)


def compacted(
    server: EmbeddedServer, engine: Engine, table: str, families: Sequence[str], kind: Kind
) -> dict[str, int]:
    """Rewrite a table's files with an encoding and a compression; return their size by family."""
    for family in families:
        changes = {"block_encoding": kind[0], "compression": kind[1]}
        runtime_of(engine).execute(ModifyFamily(table, family.encode(), changes))
    server.admin.major_compact(table)
    folders = family_folders(server, table)
    return {family: sum(map(newest_bytes, folders[family])) for family in families}


def misses(
    server: EmbeddedServer, model: Any, *, rows: int, sample_rows: int | None, kinds: Sequence[Kind]
) -> tuple[list[str], dict[str, float]]:
    """Load rows, flush and compact them; return what is estimated badly, and all ratios."""
    wrong: list[str] = []
    ratios: dict[str, float] = {}

    def compare(what: str, expected: float, real: float) -> None:
        ratios[what] = expected / real
        if abs(expected - real) > 0.1 * real:
            wrong.append(f"{model.__name__} {what}: {real:,.0f} bytes, estimated {expected:,.0f}")

    with connect(server.url) as engine:
        engine.create_tables(model)
        load(engine, model, rows)
        expected: SizeEstimate = estimate(model, rows=rows, sample=engine, sample_rows=sample_rows)
        for table in expected.tables:
            data, heap = flushed(server, table.table)
            compare(f"{table.table} data", sum(f.memstore_bytes for f in table.families), data)
            compare(f"{table.table} heap", sum(f.heap_bytes for f in table.families), heap)
            names = [each.family for each in table.families if each.cells]
            for kind in kinds:
                real = compacted(server, engine, table.table, names, kind)
                for each in table.families:
                    if each.cells:
                        what = f"{table.table}/{each.family} {' '.join(kind)}"
                        compare(what, each.files[kind].total, real[each.family])
        engine.drop_tables(model)
    return wrong, ratios


@pytest.mark.parametrize("model", [LongNames, Indexed, Tagged], ids=lambda model: model.__name__)
def test_files_and_memstores_are_as_estimated(server: EmbeddedServer, model: Any) -> None:
    kinds = [("NONE", "NONE"), ("FAST_DIFF", "NONE"), ("DIFF", "GZ")]

    wrong, _ = misses(server, model, rows=3_000, sample_rows=1_500, kinds=kinds)

    assert wrong == []


@pytest.mark.parametrize("model", [Metric, Sparse], ids=lambda model: model.__name__)
def test_blocks_are_byte_for_byte_those_of_hbase(server: EmbeddedServer, model: Any) -> None:
    def blocks(encoding: str) -> list[bytes]:
        compacted(server, engine, model.__schema__.table, ["d"], (encoding, "NONE"))
        (folder,) = family_folders(server, model.__schema__.table)["d"]
        file = newest_file(folder)
        assert file is not None
        return data_blocks(file)

    with connect(server.url) as engine:
        engine.create_tables(model)
        load(engine, model, 2_500)
        server.admin.flush(model.__schema__.table)
        real = {encoding: blocks(encoding) for encoding in ENCODINGS}
        engine.drop_tables(model)

    cells = [cell for block in real["NONE"] for cell in plain_cells(block)]
    for encoding, encode in ENCODINGS.items():
        own = [encode(block) for block in divided(cells, BLOCK_BYTES, encoding)]
        assert len(own) > 1
        differing = [
            n for n, pair in enumerate(zip(own, real[encoding], strict=True)) if len(set(pair)) > 1
        ]
        assert not differing, encoding


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("model", MAKERS, ids=lambda model: model.__name__)
def test_files_and_memstores_of_100_000_rows_are_as_estimated(
    server: EmbeddedServer, model: Any
) -> None:
    assert len(ALL_KINDS) == len(ENCODINGS) * len(COMPRESSIONS) == 10

    rows = LARGEST_LOADS.get(model, 100_000)
    wrong, ratios = misses(server, model, rows=rows, sample_rows=None, kinds=ALL_KINDS)

    low, high = (find(ratios, key=ratios.__getitem__) for find in (min, max))
    print(  # noqa: T201  # shown by pytest -s
        f"{model.__name__}: {len(ratios)} sizes, {ratios[low]:.3f} ({low}) to "
        f"{ratios[high]:.3f} ({high})"
    )
    assert wrong == []
