"""Validation of built-in kinds: what a kube-apiserver refuses in their objects.

The rules are a table, smp/schema/bundled/validation.json, each with the Go function
that it is from; ``smp.validation._table`` describes it. They are required fields, names
and labels, selectors beside the labels of templates, references inside an object,
duplicates, and the ranges that people meet. What a server would accept is never
refused; it refuses more than this (most formats, CEL rules, admission plugins).
"""

from __future__ import annotations

from smp.validation._operations import judge_names as judge_names
from smp.validation._operations import validate_object
from smp.validation._operations import violations_of as violations_of
from smp.validation._pod_checks import find_mounts_of_refused as find_mounts_of_refused
from smp.validation._rule import in_order as in_order

__all__ = ["validate_object"]
