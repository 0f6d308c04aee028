"""The loaders of a table: the programs that load it together, as the catalog stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.index.protocol.load import LoadTicket

LOADING: Final = "LOADING"
WITH_LOADERS: Final = "LOADING TOGETHER"
"""What the catalog has for the state LOADING if it names loaders.

Programs with an older version of this library cannot decode it. At the end of its load such a
program would open the table while others still load it.
"""


@dataclass(frozen=True, slots=True)
class TableLoader:
    """One program that loads a table.

    Attributes:
        id: A random text; no other loader has it.
        holder: The program, for people.
        renewals: A number that the program increases as long as it runs.
    """

    id: str
    holder: str = ""
    renewals: int = 0


def stored_load(
    state: str, load: LoadTicket | None, loaders: Sequence[TableLoader]
) -> dict[str, Any]:
    """Return the state of a table, its load and its loaders, as JSON content."""
    content: dict[str, Any] | None = None
    if load is not None:
        content = {"t": load.timestamp_ms, "nonce": load.nonce.hex()}
        if loaders and state == LOADING:
            content["loaders"] = [[each.id, each.holder, each.renewals] for each in loaders]
            state = WITH_LOADERS
    return {"state": state, "load": content}


def load_of(content: Mapping[str, Any]) -> tuple[str, LoadTicket | None, tuple[TableLoader, ...]]:
    """Return the state of a stored table, the ticket of its load, and the loaders."""
    state, load = content["state"], content["load"]
    if load is None:
        return state, None, ()
    ticket = LoadTicket(load["t"], bytes.fromhex(load["nonce"]), content["epoch"])
    loaders = tuple(TableLoader(*each) for each in load.get("loaders", ()))
    return LOADING if state == WITH_LOADERS else state, ticket, loaders
