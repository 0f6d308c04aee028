"""The regions of existing tables: rows are counted, requests are what RegionServers report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from hbase_orm import Engine
from hbase_orm.advise.lab.live.live_regions import live_lab
from hbase_orm.advise.lab.live.server_metrics import encoded_name
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.sampled_rows import SampledRows
from hbase_orm.advise.lab.pages.page import page
from hbase_orm.errors import ConfigurationError, ConnectionLostError, TableNotFoundError
from hbase_orm.ops import ListRegions
from hbase_orm.session.engine import runtime_of, schema_in_use
from hbase_orm.testing import RealHBase
from tests.support.lab_designs import WORKLOAD, PageFirst, Salted, TimeFirst, load

ROWS = 600


def prepare(engine: Engine) -> None:
    for model in (PageFirst, TimeFirst):
        load(engine, model, SampledRows(LoadShape.of(rows=ROWS), WORKLOAD, ROWS))


def test_the_rows_of_a_table_and_of_its_index_are_counted(engine: Engine) -> None:
    result = live_lab(engine, PageFirst)

    (design,) = result.designs
    assert [(each.index, int(each.rows.sum())) for each in design.tables] == [
        ("", ROWS),
        ("by_score", ROWS),
    ]
    assert [len(each.regions) for each in design.tables] == [5, 3]
    assert all(design.tables[0].servers)
    assert result.sampled == 2 * ROWS


def test_the_verdict_names_the_largest_region(engine: Engine) -> None:
    verdict = live_lab(engine, TimeFirst).verdict

    assert "TimeFirst: the largest of 4 regions has 35 % of the rows, where 25 %" in str(verdict)
    assert "Thrift does not count them" in str(verdict)


def test_at_most_some_rows_are_counted_and_that_is_remarked(engine: Engine) -> None:
    (design,) = live_lab(engine, TimeFirst, most_rows=10).designs

    assert design.tables[0].rows.tolist() == [10, 10, 10, 10]
    assert "at most 10 rows" in design.tables[0].remarks[0]


def test_the_regions_are_drawn_as_those_of_a_simulation_are(engine: Engine) -> None:
    drawing = page(live_lab(engine, PageFirst))

    assert "Regions of PageFirst" in drawing
    assert drawing.count("<figure>") == 2


def test_a_missing_table_is_refused(engine: Engine) -> None:
    with pytest.raises(TableNotFoundError):
        live_lab(engine, Salted)


def test_wrong_arguments_are_refused(engine: Engine) -> None:
    for models, options in [
        ((), {}),
        ((TimeFirst,), {"seconds": 0}),
        ((TimeFirst,), {"most_rows": 0}),
    ]:
        with pytest.raises(ConfigurationError):
            live_lab(engine, *models, **options)  # type: ignore[arg-type]  # wrong on purpose


# --- what RegionServers count ---------------------------------------------------------------------


@contextmanager
def region_server(answers: Iterator[Any]) -> Iterator[str]:
    """Serve answers by HTTP, as a RegionServer serves its metrics."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = next(answers)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its parent's name
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def metrics(names: list[str], writes: list[int]) -> dict[str, Any]:
    bean: dict[str, Any] = {"name": "Hadoop:service=HBase,name=RegionServer,sub=Regions"}
    for name, count in zip(names, writes, strict=True):
        of = f"Namespace_n_table_lab_time_first_region_{name}_metric_"
        bean |= {f"{of}writeRequestCount": count, f"{of}readRequestCount": 7}
        bean |= {f"{of}storeFileSize": 1000, f"{of}memStoreSize": 24, f"{of}replicaid": 0}
    return {"beans": [bean]}


def names_of(engine: Engine) -> list[str]:
    table = schema_in_use(engine, TimeFirst).table
    regions = runtime_of(engine).gateway.execute(ListRegions(table, needs_times=True))
    return [encoded_name(table, region) for region in regions]


def test_requests_are_those_between_two_looks(engine: Engine) -> None:
    names = names_of(engine)
    looks = [metrics(names, [5, 10 + 4 * look, 3, 0]) for look in range(25)]

    with region_server(iter(looks)) as address:
        result = live_lab(engine, TimeFirst, metrics=[address], seconds=12, sleep=lambda _: None)

    table = result.designs[0].tables[0]
    assert table.writes.sum(axis=0) * table.cell_s == pytest.approx([0, 96, 0, 0])
    assert table.size_bytes.tolist() == [1024] * 4
    assert "took 100 % of 96 writes; it is a hot spot" in str(result.verdict)
    assert "TimeFirst had no reads" in str(result.verdict)
    assert page(result).count("<figure>") == 2


def test_servers_without_the_regions_are_remarked(engine: Engine) -> None:
    with region_server(iter([{"beans": []}] * 25)) as address:
        result = live_lab(engine, TimeFirst, metrics=[address], seconds=1, sleep=lambda _: None)

    assert any("no RegionServer" in each for each in result.designs[0].tables[0].remarks)


@pytest.mark.parametrize("answer", [b"<html>", {"beans": 3}, [1]])
def test_another_page_is_refused(engine: Engine, answer: Any) -> None:
    with region_server(iter([answer])) as address, pytest.raises(ConfigurationError) as caught:
        live_lab(engine, TimeFirst, metrics=[address])

    assert caught.value.details["address"] == address


def test_a_server_that_does_not_answer_is_named(engine: Engine) -> None:
    with pytest.raises(ConnectionLostError) as caught:
        live_lab(engine, TimeFirst, metrics=["http://127.0.0.1:9"])

    assert caught.value.details["address"] == "http://127.0.0.1:9"


def test_an_address_of_another_kind_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigurationError, match="not that of a RegionServer"):
        live_lab(engine, TimeFirst, metrics=["file:///etc/hostname"])


@pytest.mark.only_on("hbase")
def test_encoded_names_are_those_of_hbase(engine: Engine, hbase: RealHBase) -> None:
    table = schema_in_use(engine, TimeFirst).table

    assert names_of(engine) == [region.name for region in hbase.admin.regions(table)]
