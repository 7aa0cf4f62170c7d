"""Tests of the Python package."""

from __future__ import annotations

import sys
import unittest


def skip(case: unittest.TestCase, why: str) -> None:
    """Skips a test, and says so where everybody sees it."""
    print(f"\nSKIPPED {case.id()}: {why}", file=sys.stderr)
    case.skipTest(why)
