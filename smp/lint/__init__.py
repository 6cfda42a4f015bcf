"""Lint: what is wrong with one text, before it is sent: a manifest, a patch, an object.

What a text is decides what can be wrong with it: a ``Form``. All that is
found is a ``Hazard``, with a code of the table LINT or of smp.hazards.HAZARDS.

The modules: _codes.py (codes, sentences, sources), _rules.py (the rules on the walk:
unknown fields, types, directives), _json_patch.py, _lint.py (what a text is, and all
that is wrong with it).
"""

from __future__ import annotations

from smp.lint._codes import LINT
from smp.lint._codes import finding as finding
from smp.lint._lint import FORMS, PATCH_FORMS, Form, form_of, has_directive, lint

__all__ = ["FORMS", "LINT", "PATCH_FORMS", "Form", "form_of", "has_directive", "lint"]
