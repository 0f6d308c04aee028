"""The type of models: their classes print with table, row key, fields and indexes."""

from __future__ import annotations

from abc import ABCMeta
from typing import TYPE_CHECKING, Protocol

from hbase_orm.model.descriptions import class_text

if TYPE_CHECKING:
    # Type checkers would infer `list[ModelType]` for a list of models, which is no list of models.
    ModelType = type
else:
    # A class has one type: with that of protocols, which derives from that of abstract classes, a
    # model may have a protocol or an abstract class among its bases.
    class ModelType(type(Protocol)):
        """The type of `Model` and of all models. It only changes the `repr` of the classes."""

        # The text above would hide the `__doc__` of the classes from `help`, which does not read it
        # as an attribute of the class.
        __doc__ = type.__dict__["__doc__"]

        def __repr__(self) -> str:
            """Return the class with its table, row key, fields and indexes, in one line."""
            return class_text(self) or super().__repr__()

        # The type of protocols refuses a generic model. To find which objects are of a class, it
        # calls code in Python, and so does that of abstract classes.
        __new__ = ABCMeta.__new__
        __instancecheck__ = type.__instancecheck__
        __subclasscheck__ = type.__subclasscheck__
