"""Arguments that are models, indexes or statements; the default is the models of pyproject.toml."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Final

import click

from hbase_orm.cli.errors import one_line
from hbase_orm.cli.frame import NotedArgument, settings
from hbase_orm.cli.named_models import named_models, named_value, search_first, written
from hbase_orm.cli.project import SECTION, Project, find_project
from hbase_orm.errors import ConfigurationError, HBaseORMError
from hbase_orm.model import Model
from hbase_orm.model.discovery import has_table
from hbase_orm.query import Select, select

_Models = tuple[type[Model], ...]
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_MODEL_AND_INDEX: Final = 2  # the most texts that commands on indexes take
_CONDITION_SIGN: Final = re.compile("[=<>]")
_MODEL: Final = """\b
MODEL is MODULE:CLASS, as shop.models:Order, or MODULE, as shop.models, for"""
_PROJECT: Final = f"""the models of
{SECTION} in pyproject.toml are used; without --url and
HBASE_ORM_URL, the url there is used."""
_SEVERAL: Final = f"""{_MODEL}
all models of a module or package. Without MODEL, {_PROJECT}"""
_ONE: Final = f"""{_MODEL}
the only model of a module or package. Without MODEL, {_PROJECT} There must be only one model."""
_STATEMENT: Final = f"""\b
MODULE, without NAME, stands for the only model of a module or package.
Without both, {_PROJECT} There must be only one model."""
_INDEX: Final = f"""{_MODEL}
the model in a module or package that has the INDEX.
Without MODEL, {_PROJECT} Only one of them may have the INDEX."""
_INDEXES: Final = f"""{_SEVERAL}
Without INDEX, all built indexes of the models are meant."""


def several_models(*, unless: str | None = None) -> _Decorator:
    """Return a decorator that adds the argument `models`: a tuple of models, never empty.

    Args:
        unless: The name of an eager flag with which the command needs no models. If the flag is
            given, the argument is an empty tuple.
    """
    return _argument("models", _several, "[MODEL]...", _SEVERAL, unless)


def one_model() -> _Decorator:
    """Return a decorator that adds the argument `model`."""
    return _argument("model", _only, "[MODEL]", _ONE)


def model_and_texts(
    metavar: str,
    *,
    is_text: Callable[[str], bool] | None = None,
    of_texts: Callable[[type[Model], Sequence[str]], Any] | None = None,
) -> _Decorator:
    """Return a decorator that adds the argument `target`: a model and a tuple of further texts.

    The first text names the model. The model of pyproject.toml is used if the first text is not a
    model's name.

    Args:
        metavar: What follows the model, as the help shows it.
        is_text: Returns whether the first text is a further text, not a model's name. If None, the
            first text is a model's name unless it is the only text.
        of_texts: Returns the argument of the model and the further texts, which may be none. If
            None, there must be a text.
    """

    def convert(texts: Sequence[str]) -> Any:
        if not texts and of_texts is None:
            raise click.UsageError(f"no {metavar} was given.")
        lacks_model = len(texts) == 1 if is_text is None else bool(texts) and is_text(texts[0])
        own = 0 if lacks_model else 1
        model, further = _only(texts[:own]), tuple(texts[own:])
        return (model, further) if of_texts is None else of_texts(model, further)

    return _argument("target", convert, f"[MODEL] {metavar}", _ONE)


def statement() -> _Decorator:
    """Return a decorator that adds the argument `stmt`: a statement."""
    return _argument("stmt", _statement, "[MODULE:NAME]", _STATEMENT)


def statement_option(name: str, *, help: str) -> _Decorator:  # noqa: A002 - as in click
    """Return a decorator that adds an option for statements; its value is a tuple of statements."""

    def callback(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> Any:
        try:
            return tuple(_statement([text]) for text in texts)
        except click.BadParameter as error:
            error.param_hint = name
            raise

    return click.option(
        name, "statements", multiple=True, callback=callback, metavar="MODULE:NAME", help=help
    )


def one_index() -> _Decorator:
    """Return a decorator that adds the argument `target`: a model and the name of an index."""
    return _argument("target", _one_index, "[MODEL] INDEX", _INDEX)


def several_indexes() -> _Decorator:
    """Return a decorator that adds the argument `targets`: an `IndexTargets`."""
    return _argument("targets", _several_indexes, "[MODEL] [INDEX]", _INDEXES)


@dataclass(frozen=True, slots=True)
class IndexTargets:
    """The indexes that a command works on.

    Attributes:
        models: The models, at least one.
        name: The name of the index; None for all built indexes of the models. If there are several
            models, each of them declares the index.
        is_one_model: Whether the user named one model, as `MODULE:CLASS`.
    """

    models: _Models
    name: str | None
    is_one_model: bool

    @property
    def is_one_index(self) -> bool:
        """Whether one index of one model was named."""
        return self.name is not None and len(self.models) == 1


def _argument(
    name: str,
    convert: Callable[[Sequence[str]], Any],
    metavar: str,
    note: str,
    unless: str | None = None,
) -> _Decorator:
    """Return a decorator that adds an argument; `convert` makes its value from all given texts."""

    def callback(context: click.Context, _: click.Parameter, texts: Sequence[str]) -> Any:
        if unless is not None and context.params.get(unless):
            return ()
        return None if context.resilient_parsing else convert(texts)

    return click.argument(
        name,
        cls=NotedArgument,
        nargs=-1,
        callback=callback,
        metavar=metavar,
        note=note,
        shell_complete=_completed,
    )


def _completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the models of pyproject.toml whose names begin with a text, for completion by a shell.

    None if pyproject.toml or a model has a mistake: a shell has no place to show it.
    """
    try:
        project = find_project(Path.cwd())
        models = () if project is None else _of_project(project)
    except HBaseORMError:
        return []
    return [name for name in map(written, models) if name.startswith(incomplete)]


# --- models ---------------------------------------------------------------------------------------


def project_models() -> _Models:
    """Return the models of pyproject.toml.

    Raises:
        click.UsageError: pyproject.toml names no model.
        ConfigurationError: pyproject.toml is wrong.
    """
    return _several(())


def _several(names: Sequence[str]) -> _Models:
    """Return the models with these names; without names, the models of pyproject.toml.

    Raises:
        click.UsageError: A name is wrong; or no name is given, and there is none in pyproject.toml.
        ConfigurationError: pyproject.toml is wrong.
    """
    project = settings().project()
    if names:
        search_first(Path.cwd(), project)
        try:
            return named_models(names)
        except ConfigurationError as error:
            raise click.BadParameter(one_line(error), param_hint="MODEL") from error
    if project is None or not project.models:
        raise click.UsageError(
            "no MODEL was given; write MODULE:CLASS or MODULE, or models = "
            f'["MODULE"] below {SECTION} in pyproject.toml.'
        )
    settings().is_without_model = True
    return _of_project(project)


def _of_project(project: Project) -> _Models:
    """Return the models that pyproject.toml names.

    Raises:
        ConfigurationError: A name is wrong; the error names the file and the key.
    """
    search_first(None, project)
    try:
        return named_models(project.models)
    except ConfigurationError as error:
        raise project.located(error, "models") from error


def _only(names: Sequence[str]) -> type[Model]:
    """Return the only model with these names; without names, the only one of pyproject.toml.

    Raises:
        click.UsageError: There are several names or several models; or a name is wrong.
        ConfigurationError: pyproject.toml is wrong.
    """
    _refuse_more(names, 1)
    known = _several(names)
    if len(known) == 1:
        return known[0]
    project = settings().project()
    owner = repr(names[0]) if names or project is None else str(project.path)
    raise click.UsageError(
        f"exactly one MODEL is needed, but {owner} has several: write one of {_listed(known)}."
    )


def _refuse_more(texts: Sequence[str], most: int) -> None:
    if len(texts) > most:
        raise click.UsageError(f"got unexpected extra argument ({texts[most]})")


def _listed(models: Iterable[type[Model]]) -> str:
    """Return a text with the names of models, and of the record types of each base."""
    names = []
    for model in models:
        kinds = model.__schema__.record_types
        names += [written(each) for each in (model, *(kinds.models.values() if kinds else ()))]
    return ", ".join(names)


# --- indexes --------------------------------------------------------------------------------------


def _one_index(texts: Sequence[str]) -> tuple[type[Model], str]:
    _refuse_more(texts, _MODEL_AND_INDEX)
    if not texts or not texts[-1].isidentifier():
        raise click.UsageError(f"no INDEX was given{f' after {texts[-1]}' if texts else ''}.")
    *model, name = texts
    having = _having(_several(model), name)
    if len(having) > 1:
        raise click.UsageError(
            f"several models have an index {name!r}: write one of {_listed(having)}."
        )
    return having[0], name


def _several_indexes(texts: Sequence[str]) -> IndexTargets:
    _refuse_more(texts, _MODEL_AND_INDEX)
    is_one_model = bool(texts) and ":" in texts[0]
    having = _with_index_of_project(texts)
    if having:
        return IndexTargets(having, texts[0], is_one_model=False)
    known = _several(texts[:1])
    if len(texts) < _MODEL_AND_INDEX:
        return IndexTargets(known, None, is_one_model)
    return IndexTargets(_having(known, texts[1]), texts[1], is_one_model)


def _with_index_of_project(texts: Sequence[str]) -> _Models:
    """Return the models of pyproject.toml that declare an index, if the only text is its name.

    The result is empty if the text is something else, such as the name of a module.

    Raises:
        click.UsageError: The text names neither such an index nor a module.
        ConfigurationError: pyproject.toml is wrong.
    """
    project = settings().project()
    if len(texts) != 1 or not texts[0].isidentifier() or project is None or not project.models:
        return ()
    (name,) = texts
    having = tuple(model for model in _of_project(project) if _declares(model, name))
    if not having:
        search_first(Path.cwd(), project)
        if importlib.util.find_spec(name) is None:
            raise click.UsageError(
                f"{name!r} is neither an index of the models in {project.path} nor a module."
            )
    return having


def _having(known: _Models, name: str) -> _Models:
    """Return the models that declare an index; a single model need not declare it.

    Raises:
        click.UsageError: There are several models, and none of them declares the index.
    """
    having = tuple(model for model in known if _declares(model, name))
    if not having and len(known) > 1:
        names = [f"{m.__name__}.{index.name}" for m in known for index in m.__schema__.indexes]
        raise click.UsageError(
            f"none of the models has an index {name!r}; there are: {', '.join(names) or 'none'}."
        )
    return having or known


def _declares(model: type[Model], name: str) -> bool:
    return any(index.name == name for index in model.__schema__.indexes)


# --- statements -----------------------------------------------------------------------------------


def _statement(texts: Sequence[str]) -> Select[Any]:
    """Return the statement that a text names; for a model, the statement that selects all objects.

    Raises:
        click.UsageError: There is no such statement, or not exactly one such model.
        ConfigurationError: pyproject.toml is wrong.
    """
    for text in texts:
        if _CONDITION_SIGN.search(text):
            raise click.UsageError(f"a condition needs an option: write --where {quote(text)}.")
    _refuse_more(texts, 1)
    if not texts or ":" not in texts[0]:
        return select(_only(texts))
    search_first(Path.cwd(), settings().project())
    try:
        value = named_value(texts[0])
    except ConfigurationError as error:
        raise _refused(one_line(error)) from error
    if has_table(value):
        return select(value)
    name = texts[0].partition(":")[2]
    is_function = callable(value) and not isinstance(value, (type, Select))
    made = _called(value, name) if is_function else value
    if not isinstance(made, Select):
        raise _refused(
            f"{name!r} gives no statement: name a model, a statement, or a function without "
            "arguments that returns one."
        )
    return made


def _called(function: Any, name: str) -> object:
    """Return what a function of the user returns.

    Raises:
        click.BadParameter: The function needs arguments, or raised an error that is not the
            library's.
    """
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise _refused(f"{name}() cannot be called without arguments: {error}.") from error
    try:
        return function()
    except HBaseORMError:
        raise
    except Exception as error:  # the user's function may raise anything
        raise _refused(f"{name}() raised {type(error).__name__}: {error}") from error


def _refused(text: str) -> click.BadParameter:
    return click.BadParameter(text, param_hint="MODULE:NAME")
