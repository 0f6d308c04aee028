"""`lint`: the advice about models and statements. Nothing is sent."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hbase_orm.advise.remarks import (
    DEFAULT_ROWS,
    Advice,
    LintRule,
    LintTarget,
    Remark,
    StatementRule,
    StatementTarget,
)
from hbase_orm.advise.rules import MODEL_RULES, RULES, SILENCE_UNUSED
from hbase_orm.advise.silences import Silences, silences_of
from hbase_orm.advise.statement_rules import STATEMENT_RULES
from hbase_orm.errors import ConfigurationError, UnboundedScanError
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.model.discovery import has_table
from hbase_orm.query import Select, names_in, plan

_OF_STATEMENTS: Final = frozenset(rule.id for rule in STATEMENT_RULES)


def lint(
    *models: type[Model],
    statements: Iterable[Select[Any]] = (),
    samples: Iterable[Model] = (),
    rows: int = DEFAULT_ROWS,
) -> tuple[Advice, ...]:
    """Return advice about declarations that make HBase slow, large or hot; nothing is sent.

    Only what the declarations tell is judged. A model silences a rule by a reason:
    `__lint__ = {"key-monotone": "ten rows a day"}`, or `"index-monotone:by_time"` for one index,
    family or field. Silenced advice is returned too, with its reason.

    Args:
        models: The models. The base of record types stands for all of them.
        statements: Statements whose plans are judged; those of other models, too.
        samples: Objects of the models, whose sizes are measured.
        rows: The number of rows for which costs are computed.

    Returns:
        The advice, by model, in the order of the rules; then that about statements. It is an alarm
        if `is_alarm` is true.

    Raises:
        ConfigurationError: There is neither a model nor a statement, one is no model with a table,
            a sample is of another model, or `rows` is less than 1.
        SchemaError: A model's `__lint__` has an unknown rule or an empty reason.
        QueryError: A statement does not fit its model.

    Examples:
        >>> lint(Order)  # doctest: +SKIP
        ()
    """
    chosen_statements, objects = tuple(statements), tuple(samples)
    _check(models, chosen_statements, objects, rows)
    advice: list[Advice] = []
    for model in _with_record_types(models):
        own = tuple(obj for obj in objects if type(obj) is model)
        target = LintTarget(model, model.__schema__, rows, own)
        advice += _of_model(target)
    for statement in chosen_statements:
        advice += advice_on(statement, rows=rows)
    return tuple(advice)


def advice_on(
    statement: Select[Any],
    *,
    rows: int = DEFAULT_ROWS,
    text: str = "",
    at: tuple[str, int] = ("", 0),
) -> tuple[Advice, ...]:
    """Return the advice about one statement.

    Args:
        statement: The statement.
        rows: The number of rows for which costs are computed.
        text: The name of the statement; empty means its conditions.
        at: The file and the line that run the statement; without a file, the model's are used.
    """
    model = statement.model
    schema = model.__schema__
    if names_in(statement, schema) or (
        schema.layout.table_period is not None and statement.full_scan_allowed
    ):
        return ()  # only a session can plan it: it must look up numbers or tables
    shown = text or ", ".join(map(str, statement.conditions)) or f"select({model.__name__})"
    try:
        chosen = plan(statement, schema)
    except UnboundedScanError:
        chosen = None
    target = StatementTarget(statement, schema, chosen, rows, shown)
    silences = silences_of(model, RULES)
    place = at if at[0] else _place(model)
    return tuple(
        _advice(rule, remark, model, silences, place)
        for rule in STATEMENT_RULES
        for remark in rule.check(target)
    )


def _check(
    models: Sequence[object], statements: Sequence[object], samples: Sequence[object], rows: int
) -> None:
    if not models and not statements:
        raise ConfigurationError("there is nothing to lint", fix="write lint(Order)")
    wrong = next((each for each in models if not has_table(each)), None)
    if wrong is not None:
        raise ConfigurationError(
            "the argument is not a model with a table",
            got=wrong,
            fix="name classes that derive from Model and have table=...; "
            "lint(*hbase_orm.models(MODULE)) names all of a module",
        )
    other = next((each for each in statements if not isinstance(each, Select)), None)
    if other is not None:
        raise ConfigurationError(
            "the argument is not a statement", got=other, fix="write select(...)"
        )
    of_models = set(_with_record_types(models))  # type: ignore[arg-type]  # models, checked above
    stray = next((obj for obj in samples if type(obj) not in of_models), None)
    if stray is not None:
        raise ConfigurationError(
            "a sample is not an object of the models", got=stray, fix="name its model, too"
        )
    if not isinstance(rows, int) or rows < 1:
        raise ConfigurationError("rows must be a number, 1 or more", rows=rows, fix="rows=1000000")


def _with_record_types(models: Iterable[type[Model]]) -> tuple[type[Model], ...]:
    every: dict[type[Model], None] = {}
    for model in models:
        every[model] = None
        kinds = model.__schema__.record_types
        every.update(dict.fromkeys(kinds.models.values() if kinds is not None else ()))
    return tuple(every)


def _of_model(target: LintTarget) -> Iterator[Advice]:
    model = target.model
    silences, place = silences_of(model, RULES), _place(model)
    used: set[str] = set()
    is_of_table = not target.schema.is_foreign and base_of(model) is None
    for rule in MODEL_RULES:
        if rule.of_table and not is_of_table:
            continue
        for remark in rule.check(target):
            key = silences.key_of(rule.id, remark.subject)
            used |= {key} if key else set()
            yield _advice(rule, remark, model, silences, place)
    for key in silences.own:
        if key not in used and key.partition(":")[0] not in _OF_STATEMENTS:
            unused = Remark(
                key,
                f"__lint__ silences {key}, but nothing is remarked",
                f"1 of {len(silences.own)} reasons is not needed",
                f'leave "{key}" out of __lint__',
            )
            yield _advice(SILENCE_UNUSED, unused, model, silences, place)


def _advice(
    rule: LintRule | StatementRule,
    remark: Remark,
    model: type[Model],
    silences: Silences,
    place: tuple[str, int],
) -> Advice:
    key = silences.key_of(rule.id, remark.subject)
    return Advice(
        rule=rule.id,
        level=rule.level,
        model=f"{model.__module__}:{model.__qualname__}",
        subject=remark.subject,
        seen=remark.seen,
        why=f"{remark.cost}; {rule.why}",
        fix=remark.fix,
        source=rule.source,
        silenced="" if key is None else silences.reasons[key],
        file=place[0],
        line=place[1],
    )


def _place(model: type[Model]) -> tuple[str, int]:
    """Return the file and the line of a model's class; without them, an empty text and 0."""
    try:
        return inspect.getsourcefile(model) or "", inspect.getsourcelines(model)[1]
    except (OSError, TypeError):  # made by a program, or its source is gone
        return "", 0
