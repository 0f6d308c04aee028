"""What a program supplies because records cannot hold it, such as functions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hbase_orm.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class Supplied:
    """The functions and codecs that a program supplies.

    Attributes:
        table: The table, for errors.
        functions: The functions and codecs by name; see `rebuilt_models`.
    """

    table: str
    functions: Mapping[str, Any]

    def get(self, name: str) -> Any:
        """Return what is supplied under a name, or None."""
        return self.functions.get(name)

    def needed(self, name: str, text: str, **details: Any) -> Any:
        """Return what is supplied under a name.

        Args:
            name: The name.
            text: The text of the error if nothing is supplied.
            details: The details of the error.

        Raises:
            DeclarationError: Nothing is supplied under this name.
        """
        supplied = self.get(name)
        if supplied is None:
            raise self.lacking(name, text, **details)
        return supplied

    def lacking(self, name: str, text: str, **details: Any) -> DeclarationError:
        """Return the error that the record lacks what could be supplied under `name`."""
        return DeclarationError(
            text,
            table=self.table,
            missing=name,
            fix=f"supply it: functions={{{name!r}: ...}}",
            **details,
        )
