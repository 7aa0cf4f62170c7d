"""Files of results: what is missing or malformed is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class MalformedResult(Exception):
    """A file is missing or is not what its name promises; the message names it."""


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file with an object in it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MalformedResult(f"{path}: {error}") from error
    if not isinstance(value, dict):
        raise MalformedResult(f"{path}: not a JSON object")
    return value


def point_of(folder: Path) -> dict[str, str]:
    """The point of the sweep in a run's name or folder: `series/key=value,key=value/seed-1`."""
    parts = [part for part in folder.parts if "=" in part]
    return dict(each.split("=", 1) for part in parts for each in part.split(","))
