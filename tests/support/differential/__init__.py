"""smp beside the reference: one case, two answers, and a reason for each difference.

Theory of operation
-------------------

smp has to answer what the Go reference answers, except for the rows of
docs/deviations.md. So a difference alone is not a failure: it has to be *explained*,
and only by a deviation that takes part in it. A list of forgiven cases would hide new
faults, and a comparison that ignores, say, the order of lists would hide them, too.
Instead an explanation is an experiment:

1. Rewrite the documents of the case so that one deviation cannot show. For deviation
   10 (the reference sorts lists of scalars before it compares them) that is: sort
   every list of scalars in every document.
2. Ask both sides again.
3. If they agree now and differed before, this deviation is the reason.

An example, traced through. ``two_way`` of ``{"tags": ["b", "a"]}`` and itself:

- smp answers ``{}``. The reference sorts one side in place, and answers with an order
  directive. The answers differ: ``judge`` returns a Verdict without a reason.
- ``explain_by_one_deviation`` tries the deviations in turn. For "3" the documents hold
  nothing to rewrite, so it is skipped. For "10" the rewritten case is ``["a", "b"]``
  and itself, both sides answer ``{}``: the reason is "10".

Where one deviation is not enough, ``explain_by_several_deviations`` applies one after
the other, and keeps them, until the sides agree: the reason is then "3 and 10", say.
A few deviations cannot be shown by rewriting; they have explanations of their own in
``explanations``: a random outcome of the reference is asked for 400 times, and values
that are equal on all sides are taken out for deviation 21.

The modules:

- ``cases``: a question to both sides, made from a seed;
- ``answers``: what smp answers, and when two answers agree;
- ``contradictions``: when a patch of the reference contradicts itself;
- ``rewriting``: the rules that make a deviation invisible, one function each;
- ``deviations``: the table of deviations: rule, operations and documents of each;
- ``equality``: what deviation 21 does not look into;
- ``explanations``: compares cases, and finds the reasons.

To add a deviation: give it a row in docs/deviations.md, write a rule in ``rewriting``
that makes it invisible and changes as little else as possible, and add both to the
table. A rule that is too coarse explains too much: it forgives real faults.
"""

from __future__ import annotations

from tests.support.differential.answers import (
    CONFLICT,
    agree,
    answer_of,
    stored,
)
from tests.support.differential.cases import (
    OPERATIONS,
    Case,
    random_case,
    subjects_by_name,
)
from tests.support.differential.contradictions import contradicts_itself
from tests.support.differential.explanations import (
    AGREED,
    Verdict,
    compare,
    describe,
    prepared,
)
from tests.support.differential.rewriting import composable, rewritten

__all__ = [
    "AGREED",
    "CONFLICT",
    "OPERATIONS",
    "Case",
    "Verdict",
    "agree",
    "answer_of",
    "compare",
    "composable",
    "contradicts_itself",
    "describe",
    "prepared",
    "random_case",
    "rewritten",
    "stored",
    "subjects_by_name",
]
