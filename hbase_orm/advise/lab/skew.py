"""How unevenly regions are used, as numbers that a person can compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Amounts = npt.NDArray[np.float64]
"""An amount for each region."""


@dataclass(frozen=True, slots=True)
class Skew:
    """How unevenly an amount is divided among regions.

    Attributes:
        max_over_mean: The largest amount divided by the mean; 1 if all are equal, the number of
            regions if one has everything. 0 if there is nothing.
        gini: The Gini coefficient: 0 if all amounts are equal, nearly 1 if one region has all.
        largest_share: The largest amount as a part of all, 0 to 1.
        empty: The number of regions that have nothing.
    """

    max_over_mean: float
    gini: float
    largest_share: float
    empty: int


def skew_of(amounts: Amounts) -> Skew:
    """Return how unevenly an amount is divided among regions, at least one.

    Examples:
        >>> skew_of(np.array([1.0, 1.0, 1.0, 1.0]))
        Skew(max_over_mean=1.0, gini=0.0, largest_share=0.25, empty=0)
        >>> skew_of(np.array([0.0, 0.0, 0.0, 8.0]))
        Skew(max_over_mean=4.0, gini=0.75, largest_share=1.0, empty=3)
    """
    total, count = float(amounts.sum()), len(amounts)
    empty = int((amounts == 0).sum())
    if not total:
        return Skew(0.0, 0.0, 0.0, empty)
    ascending = np.sort(amounts)
    ranks = np.arange(1, count + 1)
    gini = float((2 * ranks - count - 1) @ ascending) / (count * total)
    largest = float(ascending[-1])
    return Skew(largest * count / total, gini, largest / total, empty)
