"""Where behaviour tests run: in memory, or in namespaces of their own on a real HBase."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Protocol
from uuid import uuid4

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase
from tests.support.recording import gateway_of, through
from tests.support.thrift1_only import DoesWhatThrift1Does


class Backend(Protocol):
    """Makes engines, and ends what it made."""

    def engine(self) -> Engine:
        """Return an engine that shares no table with any other."""

    def another(self, engine: Engine) -> Engine:
        """Return another program's engine on the tables of `engine`."""

    def thrift1_alone(self, engine: Engine) -> Engine:
        """Return an engine on the tables of `engine` that has only a Thrift1 gateway."""

    def close(self) -> None:
        """Close the engines; drop their tables."""


class InMemory:
    """The memory gateway."""

    def engine(self) -> Engine:
        return connect("memory://")

    def another(self, engine: Engine) -> Engine:
        return through(gateway_of(engine), engine)

    def thrift1_alone(self, engine: Engine) -> Engine:
        return through(DoesWhatThrift1Does(gateway_of(engine)), engine)

    def close(self) -> None:
        """Leave everything to the collector."""


class OnHBase:
    """A namespace for each engine."""

    def __init__(self, hbase: RealHBase) -> None:
        self._hbase = hbase
        self._ends = ExitStack()

    def engine(self) -> Engine:
        namespace = f"n{uuid4().hex[:12]}"
        self._ends.callback(self._hbase.drop_namespace, namespace)
        return self._ends.enter_context(connect(self._hbase.url_in(namespace)))

    def another(self, engine: Engine) -> Engine:
        return self._ends.enter_context(connect(self._hbase.url_in(engine.options.namespace)))

    def thrift1_alone(self, engine: Engine) -> Engine:
        return self._ends.enter_context(connect(thrift1_url(engine)))

    def close(self) -> None:
        self._ends.close()


def thrift1_url(engine: Engine) -> str:
    """Return the URL by which the tables of `engine` are reached through Thrift1 alone."""
    (host, port), *_ = engine.options.thrift1
    return f"hbase://{host}:{port}/{engine.options.namespace}"
