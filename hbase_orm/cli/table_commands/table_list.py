"""`hbase-orm tables list` and `describe`: show the tables that exist, without comparing models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import click

from hbase_orm.cli.errors import one_line
from hbase_orm.cli.frame import Command, answer, settings, table
from hbase_orm.cli.model_arguments import project_models
from hbase_orm.cli.named_models import named_models, search_first
from hbase_orm.errors import ConfigurationError
from hbase_orm.index.catalog.entry import VERSION_COLUMN, CatalogEntry
from hbase_orm.model import Model
from hbase_orm.ops import FamilyDescriptor, TableDescriptor
from hbase_orm.record.declaration import Declaration, RecordedRows, TableRecord
from hbase_orm.record.notation import codec_notation, key_notation
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import ListedTable, connect

_MOST_SPLITS: Final = 8
_WIDTH: Final = 12


@click.command("list", cls=Command)
def list_tables() -> None:
    """List all tables of the HBase, with what the catalog knows of each.

    A table that this library made for itself is marked: the catalog, tables of indexes, of
    dictionaries and of sequences. A table without a kind is not known to the library.
    """
    with connect(settings().require_url()) as engine:
        listed = engine.tables()
    head = ("table", "kind", "regions", "record", "models", "state")
    answer(
        [_summary(each) for each in listed],
        lambda: table(head, [_row(each) for each in listed]) if listed else ["there is no table"],
    )


@click.command(cls=Command)
@click.argument("named", nargs=-1, metavar="[TABLE|MODEL]...")
def describe(named: Sequence[str]) -> None:
    """Show tables as they are: options, regions, the record and the state of the indexes.

    Of HBase's options only those are shown that differ from the defaults.

    \b
    TABLE is the name of a table as 'tables list' shows it.
    MODEL is MODULE:CLASS, as shop.models:Order, or MODULE, as shop.models, for
    all models of a module or package. Without both, the models of
    [tool.hbase-orm] in pyproject.toml are used.
    """  # noqa: D301 -- click's mark, not an escape
    with connect(settings().require_url()) as engine:
        chosen: list[str | type[Model]] = []
        if named:
            existing = {each.name for each in engine.tables()}
            for name in named:
                chosen += [name] if name in existing else _models_named(name)
        else:
            chosen += project_models()
        described = engine.describe_tables(*chosen)
    answer([_everything(each) for each in described], lambda: _lines(described))


def _models_named(name: str) -> Sequence[type[Model]]:
    """Return the models that a name means; no table has this name.

    Raises:
        click.BadParameter: No model has this name either.
    """
    search_first(Path.cwd(), settings().project())
    try:
        return named_models([name])
    except ConfigurationError as error:
        raise click.BadParameter(
            f"no table has this name, and {one_line(error)}", param_hint=repr(name)
        ) from error


# --- lists ----------------------------------------------------------------------------------------


def _summary(listed: ListedTable) -> dict[str, Any]:
    return {
        "table": listed.name,
        "kind": listed.kind,
        "regions": None if listed.regions is None else len(listed.regions),
        "replicas": listed.replicas,
        "record": listed.record_state,
        "models": list(listed.models),
        "state": None if listed.state is None else listed.state.value,
    }


def _row(listed: ListedTable) -> list[str]:
    shown = _summary(listed)
    return [
        listed.name,
        listed.kind or "-",
        "unknown" if listed.regions is None else _count(listed),
        _record_text(listed),
        ", ".join(listed.models) or "-",
        shown["state"] or "-",
    ]


def _record_text(listed: ListedTable) -> str:
    return "-" if listed.record_state == "none" else listed.record_state


# --- descriptions ---------------------------------------------------------------------------------


def _lines(described: Sequence[ListedTable]) -> Iterator[str]:
    for number, each in enumerate(described):
        if number:
            yield ""
        yield f"table {each.name}" + (f" ({each.kind})" if each.kind else "")
        yield from map(_indented, _of_table(each))


def _indented(line: str) -> str:
    return f"  {line}" if line else line


def _item(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}} {text}".rstrip()


def _of_table(listed: ListedTable) -> Iterator[str]:
    descriptor = listed.descriptor
    options = _differing(descriptor, TableDescriptor(descriptor.name, ()), {"name", "families"})
    if options:
        yield _item("options", _options_text(options))
    for name, value in sorted(descriptor.attributes.items()):
        yield _item("attribute", f"{name}={value}")
    for family in descriptor.families:
        yield _item("family", _family_text(family))
    if not listed.has_all_options:
        yield _item("other", "Thrift1 shows no attributes, and only some options of families")
    yield _item("regions", _regions_text(listed))
    yield from _of_record(listed)
    yield from _of_entry(listed.name, listed.catalogued.entry)


def _family_text(family: FamilyDescriptor) -> str:
    options = _family_options(family)
    return f"{to_string_binary(family.name)}  {_options_text(options)}".rstrip()


def _family_options(family: FamilyDescriptor) -> dict[str, Any]:
    return _differing(family, FamilyDescriptor(family.name), {"name"})


def _differing(value: Any, usual: Any, left_out: set[str]) -> dict[str, Any]:
    """Return the attributes that differ between two descriptors, except those in `left_out`."""
    names = [each.name for each in fields(value) if each.name not in left_out | {"attributes"}]
    return {n: getattr(value, n) for n in names if getattr(value, n) != getattr(usual, n)}


def _options_text(options: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_option_text(value)}" for name, value in options.items())


def _option_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{each}" for name, each in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _regions_text(listed: ListedTable) -> str:
    if listed.regions is None:
        return "a region is on no server; the table may be disabled"
    starts = [to_string_binary(region.start) for region in listed.regions if region.start]
    if not starts:
        return _count(listed)
    more = f" and {len(starts) - _MOST_SPLITS} more" if len(starts) > _MOST_SPLITS else ""
    return f"{_count(listed)}, split at {', '.join(starts[:_MOST_SPLITS])}{more}"


def _count(listed: ListedTable) -> str:
    """Return the number of regions, and separately that of their replicas."""
    regions, replicas = len(listed.regions or ()), listed.replicas
    if not replicas:
        return str(regions)
    return f"{regions} + 1 replica" if replicas == 1 else f"{regions} + {replicas} replicas"


def _of_record(listed: ListedTable) -> Iterator[str]:
    known = listed.catalogued
    if known.damage:
        yield _item("catalog", known.damage)
    record = known.record
    if record is None:
        yield _item("record", "none" if listed.record_state == "none" else listed.record_state)
        return
    tied = "" if record.table_id else ", without an id"
    at = "" if known.pattern == listed.name else f", of {known.pattern}"
    yield _item("record", f"{listed.record_state}{at}{tied}")
    yield from map(_indented, _of_declaration(record.current))
    if record.next is not None:
        yield _item("next record", "the rows are being changed to this declaration")
        yield from map(_indented, _of_declaration(record.next))


def _of_declaration(declaration: Declaration) -> Iterator[str]:
    if declaration.period:
        yield _item("period", f"a table for each {declaration.period}")
    if declaration.is_guarded:
        yield _item("guards", "rows have guards")
    for family in declaration.families.values():
        yield _item("family", _family_text(family))
    for rows in declaration.rows:
        yield from _of_rows(rows)
    for name, index in declaration.indexes.items():
        manual = "  (only builds write it)" if index.maintained == "manual" else ""
        yield _item("index", f"{name}  {_entries_text(index.entries)}{manual}")


def _of_rows(rows: RecordedRows) -> Iterator[str]:
    yield _item("models", ", ".join(rows.models))
    if rows.record_type:
        yield _item("record type", rows.record_type)
    yield _item("row key", key_notation(rows))
    if rows.packed_bytes:
        yield _item("cells", f"each object is a cell, its offset has {rows.packed_bytes} bytes")
    elif rows.anchor is not None:
        yield _item("row exists", f"if it has {to_string_binary(rows.anchor)}")
    elif rows.marker is not None:
        yield _item("row exists", f"if it has a cell; puts write {to_string_binary(rows.marker)}")
    head = ("column", "role", "codec", "required", "fields")
    yield from map(_indented, table(head, [list(each.values()) for each in _columns(rows)]))


def _columns(rows: RecordedRows) -> Iterator[dict[str, str]]:
    for name, column in rows.columns.items():
        names = dict.fromkeys(
            f for model in rows.models.values() for f, c in model.fields.items() if c == name
        )
        of_names = "" if column.names is None else f"{codec_notation(column.names)} to "
        yield {
            "column": to_string_binary(name) + ("*" if column.role == "dynamic" else ""),
            "role": column.role,
            "codec": of_names + codec_notation(column.codec),
            "required": "yes" if column.is_required else "no",
            "fields": ", ".join(names) or "-",
        }


def _entries_text(entries: str) -> str:
    """Return the part of an index's declaration text that describes the entries themselves."""
    return entries.partition(": ")[2].partition(" | ")[0] or entries


def _of_entry(name: str, entry: CatalogEntry | None) -> Iterator[str]:
    if entry is None:
        return
    guards = ", rows are written without guards" if entry.is_lww else ""
    yield _item("state", f"{entry.state.value}, epoch {entry.epoch}{guards}")
    shown = [each for each in _index_rows(name, entry) if each]
    if shown:
        yield "indexes"
        yield from map(_indented, table(("index", "state", "table", "entries"), shown))


def _index_rows(name: str, entry: CatalogEntry) -> Iterator[Sequence[str]]:
    for index_name, index in entry.known_indexes.items():
        if index_name == VERSION_COLUMN:
            continue
        has_table = index.state.value != "ABSENT"
        index_table = (index.table or f"{name}_ix_{index_name}") if has_table else "-"
        state = f"{index.state.value}{', being built' if index.build else ''}"
        yield index_name, state, index_table, _entries_text(index.entries)


# --- JSON -----------------------------------------------------------------------------------------


def _everything(listed: ListedTable) -> dict[str, Any]:
    descriptor, known = listed.descriptor, listed.catalogued
    return {
        **_summary(listed),
        "durability": descriptor.durability,
        "has_all_options": listed.has_all_options,
        "region_replication": descriptor.region_replication,
        "attributes": dict(descriptor.attributes),
        "families": {to_string_binary(f.name): _all_options(f) for f in descriptor.families},
        "region_ranges": None
        if listed.regions is None
        else [
            {
                "start": to_string_binary(each.start),
                "stop": None if each.stop is None else to_string_binary(each.stop),
                "server": each.server,
            }
            for each in listed.regions
        ],
        "catalog_damage": known.damage or None,
        "recorded_as": known.pattern if known.record is not None else None,
        "declaration": _record_json(known.record),
        "catalog_entry": None if known.entry is None else _entry_json(listed.name, known.entry),
    }


def _all_options(family: FamilyDescriptor) -> dict[str, Any]:
    options = {name: value for name, value in asdict(family).items() if name != "name"}
    return {name: dict(v) if isinstance(v, Mapping) else v for name, v in options.items()}


def _record_json(record: TableRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    following = None if record.next is None else _declaration_json(record.next)
    return {"id": record.table_id, **_declaration_json(record.current), "next": following}


def _declaration_json(declaration: Declaration) -> dict[str, Any]:
    return {
        "period": declaration.period or None,
        "guarded": declaration.is_guarded,
        "families": {
            to_string_binary(f.name): _all_options(f) for f in declaration.families.values()
        },
        "rows": [_rows_json(rows) for rows in declaration.rows],
        "indexes": {name: _index_json(index) for name, index in declaration.indexes.items()},
    }


def _index_json(value: Any) -> dict[str, Any]:
    """Return the attributes of a recorded index; bytes as HBase prints them."""
    return {
        name: [to_string_binary(key) for key in each] if isinstance(each, tuple) else each
        for name, each in asdict(value).items()
    }


def _rows_json(rows: RecordedRows) -> dict[str, Any]:
    return {
        "record_type": rows.record_type or None,
        "models": list(rows.models),
        "row_key": key_notation(rows),
        "key_parts": list(rows.key),
        "anchor": None if rows.anchor is None else to_string_binary(rows.anchor),
        "marker": None if rows.marker is None else to_string_binary(rows.marker),
        "packed_bytes": rows.packed_bytes,
        "columns": list(_columns(rows)),
    }


def _entry_json(name: str, entry: CatalogEntry) -> dict[str, Any]:
    return {
        "state": entry.state.value,
        "epoch": entry.epoch,
        "without_guards": entry.is_lww,
        "indexes": [
            dict(zip(("index", "state", "table", "entries"), row, strict=True))
            for row in _index_rows(name, entry)
        ],
    }
