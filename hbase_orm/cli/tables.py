"""`hbase-orm tables`: create, show and drop the tables that models declare, and other commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Group, answer, settings, table
from hbase_orm.cli.model_arguments import one_model, several_models
from hbase_orm.cli.named_models import labels
from hbase_orm.cli.parameters import INSTANT
from hbase_orm.cli.progress import WaitLines, WorkLines
from hbase_orm.cli.table_commands.table_contents import (
    adopt,
    confirm_loss,
    periods_option,
    tables_texts,
    truncate,
)
from hbase_orm.cli.table_commands.table_drift import alter, check
from hbase_orm.cli.table_commands.table_list import describe, list_tables
from hbase_orm.index.upkeep.repair import RepairCounts
from hbase_orm.model import Model
from hbase_orm.rowkey.leading import leading_bytes
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.rowkey.reach import RegionReach, even_split, survey
from hbase_orm.session import connect

_LEAST_SHOWN = 0.00001


@click.group(cls=Group)
def tables() -> None:
    """Create, compare, list, empty and drop the tables of models."""


tables.add_command(check)
tables.add_command(alter)
tables.add_command(list_tables)
tables.add_command(describe)
tables.add_command(truncate)
tables.add_command(adopt)


@tables.command()
@several_models()
@click.option(
    "--periods",
    nargs=2,
    type=INSTANT,
    metavar="FIRST AFTER_LAST",
    help="For models with a table for each period: the first time and the one after the last, as "
    "2026-01-31 (midnight UTC) or ISO 8601 with an offset.",
)
def create(models: tuple[type[Model], ...], periods: tuple[datetime, datetime] | None) -> None:
    """Create missing tables, pre-split, with index tables, dictionaries and namespaces."""
    spread = [m.__name__ for m in models if m.__schema__.layout.table_period is not None]
    if spread and periods is None:
        raise click.UsageError(
            f"{', '.join(spread)}: a table for each period; give --periods FIRST AFTER_LAST."
        )
    doing = f"creating {tables_texts(models, periods)}"
    with connect(settings().require_url()) as engine, WorkLines(doing):
        made = engine.create_tables(*models, periods=periods)
    answer(
        {"made": made},
        lambda: [f"made {name}" for name in made] or ["nothing was missing"],
    )


@tables.command()
@several_models()
@periods_option("Drop")
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(
    models: tuple[type[Model], ...], periods: tuple[datetime, datetime] | None, *, yes: bool
) -> None:
    """Drop the models' tables with all their rows, index tables included.

    Dictionaries are kept, because other tables may hold their numbers. Without MODEL, the tables of
    all models in pyproject.toml are dropped, but not with --yes.
    """
    url = settings().require_url()
    confirm_loss("drop {} with all rows", models, periods, yes=yes)
    with connect(url) as engine, WorkLines(f"dropping {tables_texts(models, periods)}"):
        dropped = engine.drop_tables(*models, periods=periods)
    answer(
        {"dropped": dropped},
        lambda: [f"dropped {name}" for name in dropped] or ["there was nothing to drop"],
    )


@tables.command()
@several_models()
def repair(models: tuple[type[Model], ...]) -> None:
    """Delete stale index entries; safe during writes, safe to repeat."""
    with connect(settings().require_url()) as engine:
        seen = {
            f"{label}.{index}": _plain(counts)
            for model, label in labels(models).items()
            for index, counts in engine.repair_indexes(model).items()
        }
    answer(seen, lambda: _repaired(seen))


def _plain(counts: RepairCounts) -> dict[str, Any]:
    left = {to_string_binary(entry): why for entry, why in counts.unrepaired.items()}
    return {**asdict(counts), "unrepaired": left}


def _repaired(seen: dict[str, dict[str, Any]]) -> Iterator[str]:
    head = ("index", *RepairCounts.__dataclass_fields__)
    shown = [[*counts.values()] for counts in seen.values()]
    rows = zip(seen, shown, strict=True)
    yield from table(head, [[name, *counts[:-1], len(counts[-1])] for name, counts in rows])
    for name, counts in seen.items():
        for entry, why in counts["unrepaired"].items():
            yield f"not repaired: {name} {entry}: {why}"


@tables.command()
@one_model()
def release(model: type[Model]) -> None:
    """Release a table that a killed program used exclusively, so that programs can write it again.

    The command watches the program's entry in the catalog for one lease. If the program still runs,
    the table is not released. A table whose load was killed is opened without the rest of its rows.
    """
    waits = WaitLines("it is certain that no program uses the table")
    with connect(settings().require_url()) as engine, engine.exclusive(model, on_wait=waits):
        pass
    released = model.__schema__.table
    answer({"released": released}, lambda: [f"other programs may write {released}"])


@tables.command()
@several_models()
def show(models: tuple[type[Model], ...]) -> None:
    """Show what the models declare: row key, families, indexes, dictionaries; nothing is sent."""
    shown = [_described(model) for model in models]
    head = ("model", "table", "row key", "families", "indexes", "dictionaries")
    answer(
        shown, lambda: table(head, [[_cell(value) for value in each.values()] for each in shown])
    )


@tables.command()
@one_model()
@click.option(
    "--regions", type=click.IntRange(1), help="Split evenly into this many regions instead."
)
def splits(model: type[Model], regions: int | None) -> int:
    """Show the split keys of a new table, and which regions can hold rows; sends nothing.

    The share of a region counts possible row keys, not the rows of a real table. The exit code is 1
    if a region can never hold a row.
    """
    schema = model.__schema__
    leading = leading_bytes(schema.layout)
    keys = schema.split_keys if regions is None else even_split(regions, leading)
    reaches = survey(keys, leading)
    answer(
        {
            "model": schema.model_name,
            "table": schema.table,
            "row_keys": str(leading),
            "regions": [_as_json(region) for region in reaches],
        },
        lambda: [
            f"row keys: {leading}",
            *table(("start", "stop", "share"), [_as_row(region) for region in reaches]),
        ],
    )
    return ExitCode.OK if all(region.is_reachable for region in reaches) else ExitCode.FAILED


def _as_json(region: RegionReach) -> dict[str, Any]:
    return {
        "start": to_string_binary(region.start),
        "stop": None if region.stop is None else to_string_binary(region.stop),
        "is_reachable": region.is_reachable,
        "beginnings": region.beginnings,
        "share": region.share,
    }


def _as_row(region: RegionReach) -> tuple[str, str, str]:
    return to_string_binary(region.start), to_string_binary(region.stop or b""), _share(region)


def _share(region: RegionReach) -> str:
    if not region.is_reachable:
        return "never a row"
    if region.share is None:
        return "not known"
    if region.share >= _LEAST_SHOWN:
        return f"{region.share:.3%}"
    return "a single value" if region.beginnings == 1 else f"under {_LEAST_SHOWN:.3%}"


def _described(model: type[Model]) -> dict[str, Any]:
    schema = model.__schema__
    dictionaries = dict.fromkeys(lookup.dictionary for lookup in schema.layout.lookups)
    return {
        "model": schema.model_name,
        "table": schema.table,
        "row_key": model.describe_key(),
        "families": [name.decode() for name in schema.family_names],
        "indexes": [index.name for index in schema.indexes],
        "dictionaries": list(dictionaries),
    }


def _cell(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value) or "none"
