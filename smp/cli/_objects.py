"""Kubernetes objects among documents, and what they are called."""

from __future__ import annotations

import msgspec

from smp.documents import Document
from smp.errors import ObjectError
from smp.values import JSON, JSONObject, type_name


class Object(msgspec.Struct, frozen=True):
    """A Kubernetes object and the document that it is in."""

    value: JSONObject
    document: Document

    @classmethod
    def of(cls, document: Document) -> Object:
        """Take the document for an object. Raises ObjectError where it is none."""
        if not isinstance(document.value, dict):
            raise ObjectError(
                f"a Kubernetes object is expected, not {type_name(document.value)}",
                code="not-an-object",
            )
        return cls(document.value, document)

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind: what a change of version leaves alone."""
        group, slash, _ = _text(self.value, "apiVersion").partition("/")
        return group if slash else "", _text(self.value, "kind")

    @property
    def namespace(self) -> str:
        """The namespace, or the empty string."""
        return _text(self.value.get("metadata"), "namespace")

    @property
    def name(self) -> str:
        """The name, or the empty string."""
        return _text(self.value.get("metadata"), "name")

    @property
    def is_generated(self) -> bool:
        """Whether a server would make up the name, so that the object is a new one each
        time.
        """
        return not self.name and bool(_text(self.value.get("metadata"), "generateName"))

    @property
    def label(self) -> str:
        """Name the object for a reader: ``apps/v1 Deployment shop/web``."""
        generated = (
            f"{_text(self.value.get('metadata'), 'generateName')}*"
            if self.is_generated
            else ""
        )
        name = "/".join(filter(None, (self.namespace, self.name or generated)))
        return " ".join(
            filter(
                None, (_text(self.value, "apiVersion"), _text(self.value, "kind"), name)
            )
        )


def is_object(document: Document) -> bool:
    """Tell whether the document means to be an object.

    One of both words alone makes a broken one, which whoever looks for its schema will
    say.
    """
    return isinstance(document.value, dict) and (
        "apiVersion" in document.value or "kind" in document.value
    )


def label(document: Document) -> str:
    """Name what is in a document: the object, if it is one, else the document."""
    return (
        Object.of(document).label
        if is_object(document)
        else f"{document.source}:{document.line}"
    )


def _text(value: JSON, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
