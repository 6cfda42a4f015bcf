"""Examples of Hypothesis: the same ones in every run, unless asked otherwise.

A change is judged by the same examples as the tree before it. ``pytest
--hypothesis-profile=random`` draws other ones.
"""

from __future__ import annotations

import gc

from hypothesis import settings

settings.register_profile("random", settings())
settings.register_profile("repeatable", settings(), derandomize=True)
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Leave modules and tests, millions of objects, out of all garbage collections."""
    gc.collect()
    gc.freeze()
