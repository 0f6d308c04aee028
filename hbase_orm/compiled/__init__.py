"""The compiled reader: rows of Thrift1 stay encoded until an object is made of them.

The module `_cells` is built from `_cells.pyx` where a compiler is. Without it, if it was built from
another source, and if the environment variable `HBASE_ORM_PURE` is 1, everything is read by Python,
with the same results.

The words of the reader:

- *Forms* of values, by which it decodes them: "integer" (big-endian; flipped if negative numbers
  are stored, too), "signed" (two's complement), "float64" (the sorted form of doubles), "ieee" (4
  or 8 bytes), "either" (the bytes of False or of True), "text" (UTF-8), "raw", "instant" (a number
  of units since 1970), "late instant" (the largest long less that number) and "call" (a function).
- *Kinds* of columns, by which it gathers values into the buffers of Arrow arrays: "number", both
  forms of floats, "either", "text", "raw", "choice" (the place of a value among a few) and "value".
- What is done *without a cell*: the field is "left out", or is "none"; or the row is "refused",
  which means that it is left to Python.
"""

from __future__ import annotations

from hbase_orm.compiled.encoded_rows import EncodedRow, refusal
from hbase_orm.compiled.encoded_rows import cells as compiled_cells

__all__ = ["EncodedRow", "compiled_cells", "refusal"]
