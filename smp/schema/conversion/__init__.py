"""OpenAPI documents converted from version 2 to version 3 and back.

Schemas keep every word, so enums, unions and patch strategies survive both ways. Only
references move, and the words beside a reference: v2 as Kubernetes writes it has
``$ref`` among other words, v3 wraps it in an ``allOf`` of one. Words that only v3 has
(oneOf, nullable) stay as they are, because kube-openapi reads both versions into one
type of schema. Operations are reworded, and a response or a body that several of them
share is written out in each.
"""

from smp.schema.conversion._convert import Conversion, to_v2, to_v3

__all__ = ["Conversion", "to_v2", "to_v3"]
