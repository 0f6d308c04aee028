"""Commands on rows in memory: each test has empty tables of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Engine, Model, connect
from hbase_orm.cli import main as cli_main
from tests.support import meter_models
from tests.support.meter_models import MODELS, Reading, Unit


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code and what it has printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def error(self) -> Any:
        """The error of a command with `--json`, at the end of standard error."""
        return json.loads(self.err[self.err.index("{") :])["error"]


Run = Callable[..., Ended]


def named(model: type[Model] | str) -> str:
    name = model if isinstance(model, str) else model.__name__
    return f"{meter_models.__name__}:{name}"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Return an engine with the same tables as the commands of the test."""
    url = f"memory://rows-{uuid4().hex}"
    monkeypatch.setenv("HBASE_ORM_URL", url)
    with connect(url) as engine:
        engine.create_tables(*MODELS)
        yield engine


@pytest.fixture
def run(engine: Engine, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs a command; a model may be given as its class."""
    del engine

    def run(*arguments: str | type[Model]) -> Ended:
        texts = [each if isinstance(each, str) else named(each) for each in arguments]
        code = cli_main.run(texts)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def readings(engine: Engine) -> None:
    """Write three readings of web-1, and one of web-2."""
    with engine.session() as session:
        for host, day in (("web-1", 1), ("web-1", 2), ("web-1", 3), ("web-2", 1)):
            session.add(
                Reading(
                    host=host,
                    at=datetime(2026, 1, day, tzinfo=UTC),
                    value=day / 2,
                    unit=Unit.VOLT if day == 1 else None,
                    labels=["a, b"],
                    note=f"note {day}\nof {host}",
                )
            )
