"""The reasons that silence rules: `__lint__ = {"key-monotone": "ten rows a day"}` in a model."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hbase_orm.errors import SchemaError
from hbase_orm.model import Model

_FIX = '__lint__ = {"key-monotone": "ten rows a day"}'


@dataclass(frozen=True, slots=True)
class Silences:
    """The reasons that a model gives, its own and inherited ones.

    Attributes:
        reasons: The reasons by rule, or by `rule:subject`.
        own: The keys that the model itself has, and does not inherit.
    """

    reasons: Mapping[str, str]
    own: tuple[str, ...]

    def key_of(self, rule: str, subject: str) -> str | None:
        """Return the key that silences a rule about a subject, or None."""
        keys = (f"{rule}:{subject}", rule)
        return next((key for key in keys if key in self.reasons), None)


def silences_of(model: type[Model], rules: Collection[str]) -> Silences:
    """Return the reasons of a model, and check them.

    Args:
        model: The model.
        rules: The ids of all rules.

    Raises:
        SchemaError: `__lint__` is not a mapping of ids to reasons, has an unknown id, or an empty
            reason.
    """
    reasons: dict[str, str] = {}
    for base in reversed(model.__mro__):
        declared = vars(base).get("__lint__", {})
        reasons |= _checked(base, declared, rules)
    return Silences(reasons, tuple(vars(model).get("__lint__", {})))


def _checked(cls: type, declared: object, rules: Collection[str]) -> dict[str, str]:
    if not isinstance(declared, Mapping):
        raise SchemaError(
            "__lint__ must be a dict of rule ids and reasons",
            model=cls.__name__,
            got=declared,
            fix=f"write {_FIX}",
        )
    for key, reason in declared.items():
        _check(cls, key, reason, rules)
    return dict(declared)


def _check(cls: type, key: object, reason: object, rules: Collection[str]) -> None:
    rule = key.partition(":")[0] if isinstance(key, str) else ""
    if rule not in rules:
        near = difflib.get_close_matches(rule, sorted(rules), 1)
        raise SchemaError(
            "__lint__ names an unknown rule",
            model=cls.__name__,
            rule=key,
            fix=f'write "{near[0]}"' if near else "'hbase-orm lint --rules' lists the rules",
        )
    if not isinstance(reason, str) or not reason.strip():
        raise SchemaError(
            "a rule is silenced without a reason",
            model=cls.__name__,
            rule=key,
            got=reason,
            fix=f'write why it does not matter here: "{key}": "ten rows a day"',
        )
