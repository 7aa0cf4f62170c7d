"""Values of a sweep in a run's name, as numbers, or as quantities in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars

from trimline import _core

#: A value of a sweep: a number, a boolean, or what else the scenario writes there.
Value = int | bool | str

#: Units of scenarios, each in the smallest of its kind.
UNITS = _core.units()


def typed(labels: Mapping[str, str]) -> dict[str, Value]:
    """Labels of a point as values."""
    return {key: value_of(label) for key, label in labels.items()}


def value_of(label: str) -> Value:
    """A label as the number or boolean that it is."""
    if label in ("true", "false"):
        return label == "true"
    is_number = re.fullmatch("-?[0-9]{1,18}", label) and str(int(label)) == label
    return int(label) if is_number else label


def shown(value: Value) -> str:
    """A value as the scenario writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def type_of(values: Sequence[Value]) -> Any:
    """The type of a column with these values."""
    if all(isinstance(value, bool) for value in values):
        return polars.Boolean
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return polars.Int64
    sizes = {shown(value): size(value) for value in values}
    found = {label: at for label, at in sizes.items() if at is not None}
    if len(found) < len(sizes):
        return polars.String
    return polars.Enum(sorted(found, key=lambda label: (found[label], label)))


def order(value: Value) -> tuple[bool, float, str]:
    """Sort key of a value among others of its key: numbers and quantities by size, then words."""
    at = float(value) if isinstance(value, int) else size(value)
    return (at is None, at or 0.0, shown(value))


def size(value: Value) -> float | None:
    """The size of a quantity among others of its kind."""
    part = re.fullmatch("([0-9]+)[/:]([1-9][0-9]*)", shown(value))
    if part is not None:
        return int(part[1]) / int(part[2])
    match = re.fullmatch(r"([0-9]+\.?[0-9]*) *([A-Za-z/%]*)", shown(value))
    if match is None or (match[2] and match[2] not in UNITS):
        return None
    return float(match[1]) * UNITS.get(match[2], 1)
