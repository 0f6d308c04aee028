"""What a model's body declares: a field that takes the name of its attribute."""

from __future__ import annotations

from hbase_orm.schema.conditions import Owned


class Attribute(Owned):
    """A field by the name that it is assigned to.

    Attributes:
        name: That name; empty until the class is made.
    """

    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self.name = name
        self.model_name = owner.__name__
        self.owner = owner
