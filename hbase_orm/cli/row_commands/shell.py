"""`hbase-orm shell`: a Python console with models, an engine and a session."""

from __future__ import annotations

import code
import importlib.util
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import click

from hbase_orm import func
from hbase_orm.binding.url import shown_url
from hbase_orm.cli.frame import Command, note, settings
from hbase_orm.cli.model_arguments import several_models
from hbase_orm.cli.named_models import labels
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.query import select
from hbase_orm.session import Engine, Session, connect
from hbase_orm.session.session import unsent_writes

_NAMES: Final = ("engine", "session", "select", "func")


@click.command(cls=Command)
@several_models()
@click.option("--plain", is_flag=True, help="Use Python's own console even if IPython is there.")
def shell(models: tuple[type[Model], ...], *, plain: bool) -> None:
    """Open a Python console with the models, an engine, a session, select and func.

    It is IPython if that is installed, else Python's own. Changes are sent by session.flush(); the
    end of the console sends none.

    \b
    Examples:
      hbase-orm shell shop.models
      echo 'print(session.first(select(Order).limit(1).allow_full_scan()))' | hbase-orm shell
    """  # noqa: D301 -- click's mark, not an escape
    if settings().is_json:
        raise click.UsageError("a console has no answer, and so no --json.")
    url = settings().require_url()
    with connect(url) as engine:
        session = engine.session()
        names = names_in_console(models, engine, session)
        banner = banner_of(names, shown_url(url))
        if not plain and importlib.util.find_spec("IPython") is not None:
            _open_ipython(names, banner)
        else:
            _open_console(names, banner)
        if unsent_writes(session):
            note(f"not sent, because session.flush() was not called: {session!r}")
        session.close()


def names_in_console(
    models: tuple[type[Model], ...], engine: Engine, session: Session
) -> dict[str, Any]:
    """Return the names of a console with their values.

    Models that share a name have that of their module in front: `shop_audit_Event`.
    """
    kinds = [
        kind
        for model in models
        if model.__schema__.record_types is not None
        for kind in model.__schema__.record_types.models.values()
    ]
    every = dict.fromkeys((*models, *kinds))
    named = {_identifier(label): model for model, label in labels(every).items()}
    return {**named, "engine": engine, "session": session, "select": select, "func": func}


def banner_of(names: Mapping[str, Any], url: str) -> str:
    """Return the lines that a console begins with: what there is, and how to begin."""
    models = {name: value for name, value in names.items() if name not in _NAMES}
    width = max(map(len, models), default=0)
    first = next(iter(models), "Model")
    return "\n".join(
        (
            f"hbase-orm on {url}",
            *(f"  {name.ljust(width)}  {_described(model)}" for name, model in models.items()),
            f"and {', '.join(_NAMES)}. For example:",
            f"  session.all(select({first}).limit(3).allow_full_scan())",
            f"  session.explain(select({first}).allow_full_scan())",
            "Changes are sent by session.flush().",
        )
    )


def _identifier(label: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in label)


def _described(model: type[Model]) -> str:
    base = base_of(model)
    kind = "" if base is None else f", a kind of {base.__name__}"
    return f"{model.__schema__.table}  {model.describe_key()}{kind}"


def _open_ipython(names: dict[str, Any], banner: str) -> None:
    ipython: Any = import_module("IPython")
    config: Any = import_module("traitlets.config").Config()
    config.TerminalInteractiveShell.banner1 = f"{banner}\n"
    ipython.start_ipython(argv=[], user_ns=names, config=config)


def _open_console(names: dict[str, Any], banner: str) -> None:
    """Open Python's own console; where it reads from a terminal, Tab completes names."""
    if sys.stdin.isatty() and importlib.util.find_spec("readline") is not None:
        readline: Any = import_module("readline")
        readline.set_completer(import_module("rlcompleter").Completer(names).complete)
        readline.parse_and_bind("tab: complete")
    try:
        code.InteractiveConsole(names).interact(banner=banner, exitmsg="")
    except SystemExit:
        return  # of exit()
