"""All jobs by their names. A new job is one more line here, and a target in `targets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from benchmarks.jobs import (
    by_key,
    columnar,
    counting,
    fanout,
    guarded,
    imports,
    keys,
    load,
    memory,
    moving,
    newest,
    planning,
    pushdown,
    samples,
    scan,
    small_scans,
)
from benchmarks.models import (
    HandEntry,
    HandReading,
    IndexedReading,
    PlainReading,
    SaltedReading,
    ThriceIndexedReading,
    TwiceIndexedReading,
)
from benchmarks.place import Place
from benchmarks.results import Comparison

JOBS: Final[dict[str, Callable[[Place], Sequence[Comparison]]]] = {
    "memory": memory.memory,
    "scan": scan.scan,
    "scan-sparse": samples.sparse,
    "count": counting.counting,
    "wide-rows": samples.wide,
    "arrow": columnar.arrow,
    "small-scans": small_scans.small_scans,
    "get": by_key.single,
    "get-many": by_key.many,
    "load": load.plain,
    "newest": newest.newest,
    "load-indexed": load.indexed,
    "index-lookup": guarded.lookups,
    "guarded-updates": guarded.updates,
    "fanout": fanout.fanout,
    "pushdown": pushdown.pushdown,
    "planning": planning.planning,
    "moving": moving.moving,
}
"""Jobs on a server, in the order in which they run."""

LOCAL_JOBS: Final[dict[str, Callable[[int], Sequence[Comparison]]]] = {
    "imports": imports.imports,
    "keys": keys.keys,
}
"""Jobs that need no server; they take the number of repetitions."""

SLOW: Final = {"memory", "guarded-updates", "moving", "imports", "keys"}
"""Jobs that a quick run leaves out, unless they are named."""

MODELS: Final = (
    PlainReading,
    IndexedReading,
    TwiceIndexedReading,
    ThriceIndexedReading,
    SaltedReading,
    HandReading,
    HandEntry,
    *moving.MODELS,
    *samples.MODELS,
)
"""The models whose tables are dropped at the end."""
