"""What a random model may be wished to have, and what a wish decides while the model is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.property.strategies import OTHER_KINDS, TIME_KINDS

COMPONENTS = (
    "Key",
    "Salt",
    "RandomSalt",
    "Bucket",
    "HashPrefix",
    "Digest",
    "Substitute",
    "Computed",
    "Period",
    "Offset",
    "RecordType",
    "TablePerPeriod",
)

INDEXES = ("index", "plain index", "partial", "nulls", "salted index", "covered")
"""Wishes for an index: any, one without options, or one with this option."""

WISHES = ("", *COMPONENTS, *INDEXES)
"""What a model may be wished to have: nothing, a component, or an index."""

SHAPES = {
    "Salt": "salt",
    "RandomSalt": "random",
    "Bucket": "bucket",
    "HashPrefix": "hash",
    "Digest": "digest",
    "Substitute": "substitute",
    "Computed": "computed",
    "Period": "period and offset",
    "Offset": "period and offset",
}
"""The shape of a part of a model by which a wish is met."""

KEY_KINDS = {
    "Substitute": tuple(kind for kind in OTHER_KINDS if kind.python_type is str),
    "Bucket": tuple(kind for kind in OTHER_KINDS if kind.python_type is int),
    "Period": TIME_KINDS,
    "Offset": TIME_KINDS,
}
"""The kinds of key fields that a component can be of."""

BESIDE = ("HashPrefix", "Computed")
"""The components that stand beside those that tell a field."""


def is_wished(draw: st.DrawFn, wish: str, own: str, choices: Sequence[bool]) -> bool:
    """Draw whether a model has what excludes indexes; a wish for it, or for an index, decides."""
    return wish == own if wish in {*INDEXES, own} else draw(st.sampled_from(choices))
