"""Errors as data: a code, a path, what would help, and the HTTP status to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ClassVar, Final, ParamSpec, Self, TypeVar

import msgspec

from smp._values.findings import Finding, Origin, Severity
from smp._values.values import ABSENT, show, type_name
from smp.paths import Path, Step

P = ParamSpec("P")
R = TypeVar("R")

# The hint where a boolean stands for a text.
QUOTE_BOOLEANS: Final = (
    "YAML 1.1 reads n, no, off, y, yes and on as booleans: quote them"
)
# Names that a hint lists where none is similar to the one that is unknown.
_MAX_LISTED: Final = 40


class Option(msgspec.Struct, frozen=True):
    """A keyword option of the library with which the operation would succeed.

    ``effect`` is the rest of a sentence that begins with the option, so that a command
    can word the same advice with its own flag.
    """

    name: str
    value: str | bool
    effect: str

    def __str__(self) -> str:
        """Word it for a caller of the library: ``overwrite=True lets ..``."""
        value = f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"{self.name}={value} {self.effect}"


class SmpError(Exception):
    """The root of all errors of this library.

    ``code`` is stable and kebab-case; ``path`` is the place in the document;
    ``advice`` is a sentence on what would help, and ``option`` the option of the
    library that would; ``status`` is the HTTP status that a server should answer.
    Errors that ``depend_on_order`` may be others, or say it otherwise, where members
    are in another order.
    """

    default_code: ClassVar[str] = "error"
    depend_on_order: ClassVar[bool] = True
    status: int = 400

    def __init__(
        self,
        problem: str,
        *,
        code: str | None = None,
        path: Path | None = None,
        hint: str = "",
        option: Option | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.code: str = code or self.default_code
        self.path: Path = path or Path()
        self.advice = hint
        self.option = option

    @property
    def hint(self) -> str:
        """What would help: the advice, and the option as a keyword argument."""
        if self.option is None:
            return self.advice
        return f"{self.advice}; {self.option}" if self.advice else str(self.option)

    def within(self, step: Step) -> Self:
        """Move the error one level up.

        It is called while the stack unwinds, so that a walk that succeeds builds no
        paths.
        """
        self.path = self.path.under(step)
        return self

    def at(self, path: Path) -> Self:
        """Move the error below a path."""
        self.path = Path((*path.steps, *self.path.steps))
        return self

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path.steps else ""
        return f"{where}{self.problem}" + (f" ({self.hint})" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy the attributes, without a call of ``__init__``.

        Python would call it with the message alone, which is not what the subclasses
        take.
        """
        return _drop_attributes, (type(self), self.args), vars(self)

    def __repr__(self) -> str:
        facts = {"code": self.code, "path": str(self.path), "problem": self.problem}
        listing = ", ".join(f"{name}={fact!r}" for name, fact in facts.items())
        return f"{type(self).__name__}({listing})"


def _drop_attributes(
    error_class: type[SmpError], arguments: tuple[object, ...]
) -> SmpError:
    """Make an error of a class; what unpickles or copies it sets the attributes."""
    # A UnionError is one of its own problems, so the attributes come after the object.
    return error_class.__new__(error_class, *arguments)


class DocumentError(SmpError):
    """Text or bytes that are not the JSON or YAML document that they should be.

    ``source`` is the name of the text, ``line`` and ``column`` count from 1; each may
    be unknown.
    """

    default_code = "invalid-document"

    def __init__(  # what SmpError takes, and the place in the text
        self,
        problem: str,
        *,
        code: str | None = None,
        path: Path | None = None,
        hint: str = "",
        source: str = "",
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(problem, code=code, path=path, hint=hint)
        self.source = source
        self.line = line
        self.column = column

    @property
    def place(self) -> str:
        """Source, line and column as far as they are known: ``file.yaml:3:7``."""
        parts = [self.source, self.line, self.column]
        return ":".join(str(part) for part in parts if part not in ("", None))

    def __str__(self) -> str:
        return f"{self.place}: {super().__str__()}" if self.place else super().__str__()


class SchemaError(SmpError):
    """A schema document that cannot be used, or a schema that does not exist."""

    default_code = "invalid-schema"


class UnknownKindError(SchemaError):
    """A kind that the catalog does not describe, or a version that is not bundled."""

    default_code = "unknown-kind"
    status = 404


class UnknownResourceError(SmpError):
    """A path or a kind that a server does not serve."""

    default_code = "unknown-resource"
    status = 404


class UnknownFieldError(SchemaError):
    """A field that the schema does not know.

    It is an error only where an object or a list below the field has to be merged.
    """

    default_code = "unknown-field"
    status = 422


class ObjectError(SmpError):
    """An object that cannot be compared or merged.

    A list has elements of several types, or an element lacks its patch merge key.
    """

    default_code = "invalid-object"
    status = 422


class PatchError(SmpError):
    """A patch that cannot be applied as written."""

    default_code = "invalid-patch"


class CompositionError(PatchError):
    """Patches whose combined effect a single strategic merge patch cannot have."""

    default_code = "not-composable"


class UnionError(SmpError):
    """Unions that a profile cannot normalize; ``problems`` has an error for each."""

    default_code = "union-refused"
    status = 422

    def __init__(
        self,
        problem: str,
        *,
        code: str | None = None,
        path: Path | None = None,
        hint: str = "",
        option: Option | None = None,
        problems: tuple[UnionError, ...] = (),
    ) -> None:
        super().__init__(problem, code=code, path=path, hint=hint, option=option)
        self.problems: tuple[SmpError, ...] = problems or (self,)


class UnionConflictError(UnionError):
    """A normalization that would clear a member that the patch sets or retains."""

    default_code = "union-conflict"


class PreconditionError(SmpError):
    """A patch that changes what must not change (apiVersion, kind, metadata.name)."""

    default_code = "precondition-failed"
    status = 422


class DepthError(SmpError):
    """A value nested deeper than the interpreter's stack allows."""

    default_code = "too-deep"


def did_you_mean(name: str, candidates: Iterable[str], within: str = "") -> str:
    """Word a hint for an unknown name; empty where no candidate is similar.

    ``within`` is written before each name.
    """
    # Imported here because errors are rare, and difflib takes time to import.
    from difflib import get_close_matches  # noqa: PLC0415  # see above

    similar = get_close_matches(name, list(candidates))
    if not similar:
        return ""
    names = " or ".join(f"{within}{candidate}" for candidate in similar)
    return f"did you mean {names}?"


def listing(what: str, candidates: Iterable[str]) -> str:
    """Word a hint that lists the names that there are; empty without candidates.

    ``what`` names the candidates: "fields", "commands".
    """
    known = list(dict.fromkeys(candidates))
    if not known:
        return ""
    names = ", ".join(known[:_MAX_LISTED])
    if len(known) > _MAX_LISTED:
        names += f" and {len(known) - _MAX_LISTED} more"
    return f"{what}: {names}"


def too_deep(what: str) -> DepthError:
    """Make the error for a value that is nested too deeply; ``what`` names it."""
    return DepthError(
        f"{what} is nested too deeply",
        hint="real objects nest some tens of levels",
    )


def bounded(
    what: str = "the value",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a decorator that turns the interpreter's recursion limit into a DepthError.

    ``what`` names the value in the message: "the object", "the document". An argument
    ``schema`` that is no Schema becomes a SchemaError; other arguments that no caller
    could mean, such as a number for options, are a TypeError or an AttributeError.
    """

    def decorate(operation: Callable[P, R]) -> Callable[P, R]:
        @wraps(operation)
        def within_bounds(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return operation(*args, **kwargs)
            except RecursionError:
                raise too_deep(what) from None
            except (AttributeError, TypeError):
                check_schema(operation, args, kwargs)
                raise

        return within_bounds

    return decorate


def check_schema(
    operation: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, Any]
) -> None:
    """Raise SchemaError where the argument ``schema`` of a failed call is no Schema."""
    # Few calls fail.
    import inspect  # noqa: PLC0415  # see above

    try:
        arguments = inspect.signature(operation).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        # Compiled functions may have no signature.
        return
    schema = arguments.get("schema", ABSENT)
    # The class is in a layer above.
    if schema is not ABSENT and not hasattr(schema, "with_unknown_fields"):
        raise not_a_schema(schema) from None


def not_a_schema(value: object) -> SchemaError:
    """Make the error for an argument ``schema`` that is no Schema."""
    return SchemaError(
        f"schema is a Schema, not {type_name(value)}",
        code="not-a-schema",
        hint="smp.kubernetes().schema(api_version, kind), or smp.Schema.inline(..)",
    )


class Conflict(Finding, frozen=True):
    """One path on which two sides disagree; a side, or the base, may be ``ABSENT``."""

    path: Path
    ours: Any
    theirs: Any
    base: Any = ABSENT
    code: str = "conflict"

    @property
    def sentence(self) -> str:
        """The three values."""
        base, ours, theirs = show(self.base), show(self.ours), show(self.theirs)
        return f"base {base}, ours {ours}, theirs {theirs}"


class ConflictError(SmpError):
    """A three-way patch that would overwrite changes made to the live object."""

    default_code = "conflict"
    status = 409

    def __init__(self, conflicts: tuple[Conflict, ...]) -> None:
        plural = "s" if len(conflicts) != 1 else ""
        listing = "".join(f"\n  {conflict}" for conflict in conflicts)
        super().__init__(
            f"{len(conflicts)} conflict{plural} with changes made to the live object"
            f"{listing}",
            path=conflicts[0].path if conflicts else None,
            option=Option(
                name="overwrite",
                value=True,
                effect="lets the manifest win",
            ),
        )
        self.conflicts = conflicts


class ApplyWarning(Finding, frozen=True):
    """Something that a user should know about an apply that succeeded."""

    origin: ClassVar[Origin] = "warning"
    code: str
    path: Path
    message: str
    severity: Severity = "warning"

    @property
    def sentence(self) -> str:
        """The message."""
        return self.message
