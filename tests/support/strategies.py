"""Hypothesis strategies that many tests use."""

from __future__ import annotations

from hypothesis import strategies as st

from smp._values.values import JSON
from tests.support.makers import DIRECTIVE_NAMES, Maker

seeds = st.integers(min_value=0, max_value=2**64 - 1)


@st.composite
def makers(draw: st.DrawFn, *, keyless: float = 0.1) -> Maker:
    """Draw a maker: everything it makes follows from one integer."""
    return Maker(draw(seeds), keyless=keyless)


def json_values() -> st.SearchStrategy[JSON]:
    """Draw any JSON value, integers beyond 64 bit and all kinds of strings included."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text()
    )
    fields = ("a", "name", "spec", "metadata", "finalizers", "data")
    names = st.sampled_from([*DIRECTIVE_NAMES, *fields]) | st.text(max_size=3)
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4)
        ),
    )
