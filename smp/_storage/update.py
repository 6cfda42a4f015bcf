"""The steps of a server, from an object that a request asks for to the one it stores.

They are in the order of k8s.io/apiserver: endpoints/handlers/patch.go and create.go
make the object, registry/rest/create.go and update.go prepare and validate it. A caller
takes the steps that its server takes:

1. ``decode_object``: types, fields that are not known, what cannot be decoded. An apply
   has compared its configuration with the types before anything changed that (Go:
   structuredMergeManager.Apply).
2. ``normalize_before_defaults``: what the KEP of 2019 does with unions. It writes
   discriminators, on which defaults depend, and none of these is a choice.
   ``default_request``: typed storage, and the defaults, as a field manager sees them.
   ``as_stored`` is the same without the managers.
3. What the endpoint does not write is as it was (Go: PrepareForUpdate). Field managers
   do not look at it either (Go: ResetFields), whether it comes before or after them.
4. Managed fields: ``smp.managed_fields.track``, or an apply.
5. Admission, the hook of a caller.
6. ``normalize_update``: unions are normalized, and they and enums are validated
   (KEP-1027). ``find_violations``: what else the validation of the kind finds.
7. ``put_at_rest``: what the strategy of a kind drops, and what a server reads from its
   storage again.

``predict_refusals`` is what a server of today would refuse, for those who ask none. The
rules of a step share one walk, over what the update changed.
"""

from __future__ import annotations

from typing import Final

import msgspec

from smp import custom_resources
from smp._storage.conformance import ConformanceRule, conform, find_fields
from smp._storage.defaults import with_defaults
from smp._storage.enums import ENUM_INTEREST, EnumRule
from smp._storage.immutable import find_changed_immutable_fields
from smp._storage.service_addresses import keep_allocated
from smp._storage.typed_storage import (
    drop_fields_of_service,
    fill_data_sources,
    find_decoding_problem,
    stored,
)
from smp._storage.workloads import find_unmade
from smp._values.api_objects import is_stated, metadata_of, set_metadata
from smp._values.values import (
    ABSENT,
    JSON,
    JSONArray,
    JSONObject,
    as_list,
    as_object,
    same,
    show,
)
from smp.errors import ApplyWarning, UnionError
from smp.paths import Path, sort_by_path
from smp.schema.model import AnyType, ObjectType, Schema
from smp.schema.plan import Interests, Plan, plan_of
from smp.schema.walk import Rule, Walk, name_elements
from smp.unions import (
    CONTRADICTION_INTEREST,
    NORMALIZATION_INTERESTS,
    OFF,
    PROFILES,
    VALIDATION_INTERESTS,
    Change,
    ContradictionRule,
    NormalizationRule,
    OnConflict,
    ValidationRule,
    contradictions,
    drop_unchosen_defaults,
    profile_named,
    raise_problems,
)
from smp.validation import find_mounts_of_refused, in_order, judge_names, violations_of
from smp.violations import Misfit, Violation


class Decoded(msgspec.Struct, frozen=True):
    """An object as a server decodes it, and what is wrong with it.

    ``misfits`` are values of a wrong type, at which a decoder fails; ``problem`` is a
    text that its type does not allow, such as a quantity that is none.
    """

    object: JSONObject
    unknown_fields: tuple[Path, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    problem: str = ""

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Why a server cannot decode it, whatever the validation."""
        if not self.problem:
            return self.misfits
        return (*self.misfits, wrong_text(self.problem))


def wrong_text(problem: str) -> Violation:
    """Make the violation of a text that its type does not allow."""
    return Violation("wrong-type", Path(), "FieldValueTypeInvalid", problem)


class Update(msgspec.Struct, frozen=True):
    """The normalized object, what was changed in it, and what a server would reject."""

    object: JSONObject
    changes: tuple[Change, ...] = ()
    warnings: tuple[ApplyWarning, ...] = ()
    violations: tuple[Violation, ...] = ()


# API servers of today validate unions, and normalize none.
STOCK_PROFILE: Final = "validate-only"
_VALIDATION: Final = {
    name: Interests(VALIDATION_INTERESTS[name], ENUM_INTEREST) for name in PROFILES
}
_NORMALIZATION: Final = {
    name: Interests(
        NORMALIZATION_INTERESTS[name], VALIDATION_INTERESTS[name], ENUM_INTEREST
    )
    for name in PROFILES
}
_BEFORE_DEFAULTS: Final = {
    name: Interests(NORMALIZATION_INTERESTS[name], CONTRADICTION_INTEREST)
    for name in PROFILES
}
_APPLY: Final = {
    name: Interests(
        NORMALIZATION_INTERESTS[name],
        VALIDATION_INTERESTS[name],
        ENUM_INTEREST,
        CONTRADICTION_INTEREST,
    )
    for name in PROFILES
}
_ADMISSION: Final = "admissionregistration.k8s.io"
# Go: k8s.io/apiserver, pkg/registry/generic/registry, OptimisticLockErrorMsg.
_MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and"
    " try again"
)
_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_ENUMS: Final = Interests(ENUM_INTEREST)


class UpdateRequest(msgspec.Struct, frozen=True):
    """What led to an object, and what it is judged by.

    ``profile`` is that of the unions. With ``ratchet``, what the new object shares with
    the old one is not looked at, and what was wrong before for the same reason is
    tolerated. ``patch`` is what led to the new object, ``on_conflict`` says what to do
    where it sets a member and asks for another one, ``configuration`` is the modified
    configuration of an apply: where it contradicts itself, that is an error, or it
    ``reports`` that as violations. ``applied`` says that the patch is a configuration,
    which server-side apply has merged, ``whole`` that a request without a patch sets
    what differs from the old object. ``defaulted``: the object has its defaults, which
    ``normalize_before_defaults`` came before.
    """

    profile: str
    ratchet: bool = True
    patch: JSONObject | None = None
    on_conflict: OnConflict = "error"
    configuration: JSONObject | None = None
    applied: bool = False
    whole: bool = False
    defaulted: bool = False
    reports: bool = False


def normalize_update(
    old: JSONObject | None, new: JSONObject, schema: Schema, request: UpdateRequest
) -> Update:
    """Normalize the unions of an object by a profile, and validate it.

    Raises UnionError where a profile refuses, or where the configuration contradicts
    itself, and RecursionError. KEP-1027, Normalization and Validation.
    """
    profile, configuration = request.profile, request.configuration
    ratchet, reports = request.ratchet, request.reports
    before = ABSENT if old is None else old
    if profile_named(profile) is OFF:
        # Enums are judged all the same.
        rule = EnumRule(ratchet=ratchet)
        walk = Walk(plan_of(schema.types, _ENUMS), [rule], whole=not ratchet)
        walk.run(before, new, schema.type)
        return Update(new, violations=in_order(tuple(rule.violations), schema.type))
    if configuration is not None and not ratchet and not reports:
        _raise_contradictions(contradictions(configuration, schema))
    interests = (_NORMALIZATION if configuration is None else _APPLY)[profile]
    plan = plan_of(schema.types, interests)
    if not plan.leads(schema.type):
        # No union and no enum can be reached: a ConfigMap, a Secret.
        return Update(new)
    normalization = _normalization(plan, request)
    judgement = _Judgement(ratchet=ratchet)
    rules: list[Rule] = [*judgement.rules]
    if not (request.defaulted and profile_named(profile).before_defaults):
        rules.insert(0, normalization)
    contradiction = ContradictionRule(configuration or {})
    if configuration is not None:
        rules.append(contradiction)
    result = Walk(plan, rules, whole=not ratchet).run(before, new, schema.type)
    contradicted = in_order(tuple(contradiction.violations), schema.type)
    if reports and contradicted:
        return Update(new, violations=contradicted)
    _raise_contradictions(contradicted)
    raise_problems(normalization.problems)
    obj = as_object(result)
    if normalization.changes:
        # A member with a violation may have been cleared: the normalized object counts.
        judgement = _Judgement(ratchet=ratchet)
        plan = plan_of(schema.types, _VALIDATION[profile])
        Walk(plan, judgement.rules, whole=not ratchet).run(before, obj, schema.type)
    return Update(
        obj,
        sort_by_path(normalization.changes),
        sort_by_path(normalization.warnings),
        in_order(judgement.violations(), schema.type),
    )


class _Judgement:
    """What validation finds in the unions and enums of an object."""

    def __init__(self, *, ratchet: bool) -> None:
        self._unions = ValidationRule(ratchet=ratchet)
        self._enums = EnumRule(ratchet=ratchet)
        self.rules: list[Rule] = [self._unions, self._enums]

    def violations(self) -> tuple[Violation, ...]:
        """Return what was found, once."""
        # A discriminator may have an enum of its own: a server refuses its value once.
        found = self._unions.violations
        refused = [(violation.code, violation.path) for violation in found]
        others = [
            violation
            for violation in self._enums.violations
            if (violation.code, violation.path) not in refused
        ]
        return (*found, *others)


def _normalization(plan: Plan, request: UpdateRequest) -> NormalizationRule:
    return NormalizationRule(
        plan,
        ABSENT if request.patch is None else request.patch,
        clear_conflicts=request.on_conflict == "clear",
        applied=request.applied,
        whole=request.whole,
    )


def find_violations(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    ratchet: bool = True,
    found: tuple[Violation, ...] = (),
    values: bool = True,
    immutable: bool = True,
) -> tuple[Violation, ...]:
    """Return what the validation of a kind finds, in the order of a server.

    The object is as a server has it then, with its defaults. ``found`` are the
    violations of ``normalize_update``. Without ``values`` or ``immutable`` these rules
    are not asked. With ``ratchet`` what the object shares with the old one is not
    judged. Raises RecursionError. Go: Validate and ValidateUpdate of the strategy of a
    kind.
    """
    if values:
        of_values = violations_of(old, new, schema, ratchet=ratchet)
        worded = {violation.path for violation in of_values}
        others = [each for each in found if not _is_worded(each, worded)]
        found = (*others, *of_values)
        found = in_order((*found, *find_mounts_of_refused(new, found)), schema.type)
        if old is None:
            # Go: rest.BeforeCreate; an update keeps the name.
            metadata = as_object(new.get("metadata"))
            group, _, _ = schema.api_version.rpartition("/")
            found = (*judge_names(metadata, group, schema.kind), *found)
    if old is not None and immutable:
        changed = find_changed_immutable_fields(old, new, schema, is_stored=True)
        found = (*found, *changed)
    return tuple([_name_elements(violation, new, schema) for violation in found])


def _is_worded(violation: Violation, worded: set[Path]) -> bool:
    """Tell whether a rule of the kind refuses a value that is not in its enum.

    Of an element it may name the list. A server has only one of both.
    """
    if violation.code != "unsupported-value":
        return False
    *above, last = violation.path.steps
    is_element = isinstance(last, int)
    return violation.path in worded or (is_element and Path((*above,)) in worded)


def _name_elements(violation: Violation, obj: JSONObject, schema: Schema) -> Violation:
    """Return a violation whose path has the keys of elements, as all that is found."""
    if not any(isinstance(step, int) for step in violation.path.steps):
        return violation
    path = name_elements(violation.path, obj, schema.type)
    return msgspec.structs.replace(violation, path=path)


def predict_refusals(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    *,
    profile: str,
    found: tuple[Violation, ...] = (),
) -> tuple[Violation, ...]:
    """Return what an API server of today would refuse in an object, or in an update.

    The object was decoded, and its types are right; defaults are filled in here.
    ``found`` are violations that are known already, by the ``profile``: one that does
    not look at unions leaves them to a server, which does. A kind that the schema does
    not describe is not judged. With a warning is what could not be decided, which is no
    refusal. Raises RecursionError.
    """
    if isinstance(schema.type, AnyType):
        return found
    kept = drop_by_strategy(new, schema, old)
    whole = as_stored(kept, old, schema, profile=profile)
    group, _, _ = schema.api_version.rpartition("/")
    if profile_named(profile) is OFF:
        stock = normalize_update(
            old, whole, schema, UpdateRequest(profile=STOCK_PROFILE)
        )
        found = (*found, *stock.violations)
    violations = find_violations(old, whole, schema, found=found)
    # Go: customResourceStrategy.Validate and ValidateUpdate; the definition decides.
    judged: tuple[Violation, ...] = ()
    if schema.structural is not None:
        judged = custom_resources.validate(new, schema, old)
    elif (schema.api_version, schema.kind) == _DEFINITION:
        judged = custom_resources.definition_violations(whole, old)
    elif group == _ADMISSION:
        judged = tuple(custom_resources.find_expression_violations(whole))
    elif (schema.api_version, schema.kind) == ("v1", "Pod") and old is None:
        judged = tuple(find_unmade(whole))
    # The key of a rule in a definition is all its text, so these have indexes.
    if (schema.api_version, schema.kind) != _DEFINITION:
        judged = tuple([_name_elements(each, new, schema) for each in judged])
    unique: dict[tuple[str, str], Violation] = {}
    for violation in violations:
        unique.setdefault((violation.code, str(violation.path)), violation)
    # Several rules of a definition may refuse one value, and it is told here alone what
    # an update leaves; what could not be decided is no refusal.
    judged = tuple(each for each in judged if (each.code, str(each.path)) not in unique)
    if unique and old is not None:
        # A server has accepted what it stores, of which a file may have a part only.
        before = as_stored(old, None, schema, profile=profile)
        for violation in find_violations(None, before, schema):
            key = (violation.code, str(violation.path))
            # Another value in the place of a wrong one is judged as any other.
            if key in unique and unique[key].message == violation.message:
                del unique[key]
    return (*unique.values(), *sorted(judged, key=lambda each: each.warning))


def find_other_identity(old: JSONObject, new: JSONObject) -> tuple[Violation, ...]:
    """Return that an update is of another object, or of another state of this one.

    What one of the two lacks is not compared: a manifest has no uid, and 0 is no
    version in it. Go: ValidateObjectMetaAccessorUpdate; registry.Store.Update.
    """
    before, after = as_object(old.get("metadata")), as_object(new.get("metadata"))
    found: list[Violation] = []
    for name in ("uid", "resourceVersion"):
        former = before.get(name)
        if former in (None, "") or not is_stated(after, name):
            continue
        value = after[name]
        if same(value, former):
            continue
        path, said = Path(("metadata", name)), f"Invalid value: {show(value)}: "
        if name == "uid":
            said += "field is immutable"
            found.append(
                Violation("field-immutable", path, "FieldValueInvalid", said, value)
            )
        else:
            said += _MODIFIED
            found.append(
                Violation("other-version", path, "FieldValueInvalid", said, value)
            )
    return tuple(found)


def normalize_before_defaults(
    old: JSONObject | None, new: JSONObject, schema: Schema, request: UpdateRequest
) -> Update:
    """Normalize the unions of an object where a profile does so before its defaults.

    Without a patch, the new object is what was asked for. What it raises is what
    ``normalize_update`` raises. KEP-1027 of 2019, Normalizing on updates: after the
    patch, before validation and tracking.
    """
    if not profile_named(request.profile).before_defaults or new is old:
        return Update(new)
    plan = plan_of(schema.types, _BEFORE_DEFAULTS[request.profile])
    rule = _normalization(plan, msgspec.structs.replace(request, whole=True))
    contradiction = ContradictionRule(request.configuration or {})
    before = ABSENT if old is None else old
    result = Walk(plan, [rule, contradiction]).run(before, new, schema.type)
    contradicted = in_order(tuple(contradiction.violations), schema.type)
    if request.reports and contradicted:
        return Update(new, violations=contradicted)
    _raise_contradictions(contradicted)
    raise_problems(rule.problems)
    changes, warnings = sort_by_path(rule.changes), sort_by_path(rule.warnings)
    return Update(as_object(result), changes, warnings)


def decode_object(
    new: JSONObject,
    old: JSONObject | None,
    schema: Schema,
    *,
    typed: bool,
    custom: bool,
    prunes: bool = True,
) -> Decoded:
    """Compare an object with the types of its kind, and drop what a server drops.

    With ``typed`` the object goes into typed storage next, which makes zero values of
    nulls; the nulls of a ``custom`` resource stay. Unknown fields are dropped where the
    server ``prunes``. What the object shares with ``old`` is not visited. Raises
    RecursionError. Go: the decoders of apimachinery and of apiextensions-apiserver.
    """
    if new is old:
        return Decoded(new)
    rule = ConformanceRule(
        prunes=prunes, keeps_nulls=custom or typed, null_elements=typed and not custom
    )
    obj = conform(new, old, schema, rule)
    problem = ""
    if typed and not rule.misfits:
        problem = find_decoding_problem(obj, schema, old)
    unknown = rule.unknown_fields
    if custom:
        # Go: structural pruning, PruneWithOptions, which looks at no types.
        for path, value in rule.misfit_values:
            unknown += find_fields(value, path)
        unknown = sorted(unknown, key=lambda path: path.decoded)
    return Decoded(obj, tuple(unknown), tuple(rule.misfits), problem)


def default_request(
    obj: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return an object as a server shows it to field managers: see ``as_stored``.

    An empty list of managedFields is not stored, but it means to reset them (Go:
    isResetManagedFields).
    """
    typed = as_stored(obj, old, schema, profile=profile)
    if metadata_of(obj).get("managedFields") == []:
        return set_metadata(typed, managedFields=[])
    return typed


def as_stored(
    obj: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return an object as a server decodes it, and with the defaults that it fills in.

    What it shares with ``old``, the stored object, is not visited. Raises DepthError.
    """
    return fill_in(stored(obj, schema, old), old, schema, profile=profile)


def fill_in(
    decoded: JSONObject, old: JSONObject | None, schema: Schema, *, profile: str
) -> JSONObject:
    """Return a decoded object with the defaults that a server fills in.

    Where a profile of unions is in force, no default is a member that is not chosen.
    """
    defaulted = with_defaults(decoded, schema, old=old)
    return drop_unchosen_defaults(decoded, defaulted, schema, profile=profile)


# Lists of built-in kinds, and the fields that a server stores of their elements.
_STORED_OF_ELEMENTS: Final = {
    # Go: pkg/registry/core/serviceaccount, cleanSecretReferences.
    ("v1", "ServiceAccount"): ("secrets", ("name",)),
}
# Kinds whose spec no update changes, whatever it says.
_KEPT_SPEC: Final = frozenset(
    {
        # Go: pkg/registry/core/namespace, PrepareForUpdate.
        ("", "Namespace"),
        # Go: pkg/registry/certificates/certificates, PrepareForUpdate.
        ("certificates.k8s.io", "CertificateSigningRequest"),
    }
)
_KEEPS_STATUS: Final = frozenset(
    {
        # A kubelet registers its node and reports its status in one request.
        ("", "Node"),
    }
)


def put_at_rest(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> JSONObject:
    """Return an object of a built-in kind as a server reads it from its storage.

    What it shares with ``old``, the stored object, is not visited. Raises DepthError.
    """
    return stored(drop_by_strategy(obj, schema, old), schema, old, at_rest=True)


def drop_status(
    obj: JSONObject, asked: JSONObject, schema: Schema, old: JSONObject | None = None
) -> JSONObject:
    """Return an object with the status that its server keeps.

    Where there is a subresource for it, only that writes a status. What tools generate
    into a manifest, such as ``status: {loadBalancer: {}}``, is left: ``asked`` is the
    manifest, and it asks for nothing. Go: PrepareForCreate and PrepareForUpdate.
    """
    if not _has_status_subresource(schema) or (old is None and keeps_status(schema)):
        return obj
    if old is not None and "status" in old:
        # Zero values of the manifest are not stored either.
        if obj.get("status") is old["status"]:
            return obj
        return {**obj, "status": old["status"]}
    if not asks_for_anything(asked.get("status")):
        return obj
    return {name: value for name, value in obj.items() if name != "status"}


def keeps_status(schema: Schema) -> bool:
    """Tell whether a server stores the status of an object that is created."""
    return (schema.api_version.rpartition("/")[0], schema.kind) in _KEEPS_STATUS


def _has_status_subresource(schema: Schema) -> bool:
    if schema.structural is not None:
        return schema.subresources.get("status") is not None
    type_ = schema.type
    # Of a custom resource in the OpenAPI of a cluster it is not known.
    if not schema.kind or schema.is_custom or not isinstance(type_, ObjectType):
        return False
    return type_.field("status") is not None and not type_.no_status


def asks_for_anything(value: JSON) -> bool:
    """Tell whether a value has a leaf that is not the zero value of its type."""
    pending: JSONArray = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            pending += each.values()
        elif isinstance(each, list):
            pending += each
        elif each:
            return True
    return False


def drop_by_strategy(
    obj: JSONObject, schema: Schema, old: JSONObject | None = None
) -> JSONObject:
    """Return an object without what the strategy of its kind drops.

    A Service has what was allocated to the old one, where it leaves that out. Its
    manager owns that all the same, and not what is filled in here. Go:
    PrepareForCreate and PrepareForUpdate.
    """
    kind = (schema.api_version, schema.kind)
    if kind == ("v1", "Service"):
        return drop_fields_of_service(old or {}, keep_allocated(old or {}, obj))
    if kind == ("v1", "PersistentVolumeClaim"):
        return fill_data_sources(old or {}, obj)
    group, _, _ = schema.api_version.rpartition("/")
    if (group, schema.kind) in _KEPT_SPEC and old and "spec" in old:
        return obj if obj.get("spec") is old["spec"] else {**obj, "spec": old["spec"]}
    name, fields = _STORED_OF_ELEMENTS.get(kind, ("", ()))
    elements = as_list(obj.get(name))
    if any(not as_object(element).keys() <= {*fields} for element in elements):
        stored_elements: JSONArray = []
        for element in elements:
            members = as_object(element)
            kept: JSONObject = {}
            for field in fields:
                if field in members:
                    kept[field] = members[field]
            stored_elements.append(kept)
        return {**obj, name: stored_elements}
    return obj


def _raise_contradictions(violations: tuple[Violation, ...]) -> None:
    if violations:
        violations = sort_by_path(violations)
        listing = [str(violation) for violation in violations]
        if len(listing) == 1:
            text = f": {listing[0]}"
        else:
            text = "".join([f"\n  {line}" for line in listing])
        raise UnionError(
            f"the configuration contradicts itself{text}",
            code="union-contradiction",
            path=violations[0].path,
            hint="set one member of a union, and the discriminator to its value",
        )
