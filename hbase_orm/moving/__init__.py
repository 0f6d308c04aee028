"""Moves a table that is in use to another row key or layout, row by row, as sans-I/O protocols.

A row is either in the old table or in the new one; the guard of the row decides. A *seal*, a final
guard, ends the row's life in the old table. The *adoption* then puts the row into the new table.
Whoever needs the row first does both: a writer, a repair or the mover. `docs/moving-tables.md`
names the rules and the reasons.
"""
