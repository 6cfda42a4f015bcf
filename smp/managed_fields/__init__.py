"""Managed fields: which manager owns which field of an object.

A server keeps in ``metadata.managedFields`` what each manager wrote, as sets of paths
(fieldsV1). Server-side apply is work on such sets. This package has the sets and what
is between them and objects, as pure functions:

1. ``FieldSet`` (_field_set.py) is a tree of path elements, and the algebra on it. Path
   elements (_elements.py) are text as Go prints it, so that equal ones are equal
   strings: sets of strings do the work, and printing is putting them in order.
2. ``Shape`` (_shapes.py) is what the schema makes of a value: a scalar, an atomic list
   or map, a list of type set or map, or a map. Only the last two have paths below
   them. It finds the path element of an element of a list.
3. ``fieldset_of`` (_fields_below.py) goes along an object and its type, and returns
   the set of all that it has. ``removed`` and ``extracted`` (_items.py) go the same way
   with a set, and leave out, or keep, what is in it.
4. ``owners``, ``owners_of``, ``extract`` and ``rename`` (_owners.py) read and write the
   entries of managedFields. ``upgrade`` (_migrate.py) hands over what a client-side
   apply owns, ``migrate`` names it in another version.
5. ``local_merge`` (_local_merge.py) is the merge of an apply without managed fields:
   the last-applied configuration says what the manager applied before.
6. ``blame`` (_blame.py) has the owners of every value of an object.

For example, the configuration of a Pod with ``containers: [{name: app, image: a}]``:

- ``spec`` is a struct: a map whose fields the schema declares. It is no member of the
  set itself, but has children: ``f:spec``.
- ``containers`` is a list of type map with the map key ``name``. The element is the
  path element ``k:{"name":"app"}``, and a member: the manager owns the existence of the
  element. It has children, too.
- ``name`` and ``image`` are scalars: members, without children.

So ``to_v1`` is ``{"f:spec": {"f:containers": {'k:{"name":"app"}': {".": {}, "f:image":
{}, "f:name": {}}}}}``. If the manager applies the configuration without ``image``, then
the difference of the former set and the new one has the path
``spec.containers[name=app].image``. If no other manager's set has that path,
``removed`` takes it out of the object.

An apply is: ``fieldset_of`` the configuration; merge it; compare with what the other
managers own (``intersection``: conflicts); ``difference`` to the manager's former set,
and what remains of it without the sets of the others is ``removed``.
"""

from __future__ import annotations

from smp.managed_fields._blame import AbsentField, Blame, BlamedValue, Ownership, blame
from smp.managed_fields._conflicts import ApplyConflict, ApplyConflictError
from smp.managed_fields._elements import elements_of
from smp.managed_fields._entries import Owner
from smp.managed_fields._field_set import FieldSet
from smp.managed_fields._fields_below import fieldset_of
from smp.managed_fields._items import extracted, removed
from smp.managed_fields._local_merge import LocalMerge, changed_members, local_merge
from smp.managed_fields._migrate import (
    migrate,
    migrate_patch,
    release,
    upgrade,
    upgrade_patch,
)
from smp.managed_fields._owned_paths import OwnedPlace as OwnedPlace
from smp.managed_fields._owned_paths import indexed_path, owned_path
from smp.managed_fields._owned_paths import owned_root as owned_root
from smp.managed_fields._owned_paths import owned_value as owned_value
from smp.managed_fields._owners import (
    extract,
    owners,
    owners_of,
    owners_of_fields,
    rename,
)
from smp.managed_fields._remarks import PatchRequest, Remark, Remedy, apply_request
from smp.managed_fields._reset_fields import reset_fields
from smp.managed_fields._scale import (
    unconvertible_scale,
    with_managers_of_scale,
    with_scale_managers,
)
from smp.managed_fields._server_side import (
    ServerSideApplyResult,
    predict_refusal,
    server_side_apply,
)
from smp.managed_fields._simulate import (
    Fight,
    Orphan,
    Simulation,
    State,
    Step,
    Verb,
    simulate,
)
from smp.managed_fields._track import track, with_former_times
from smp.managed_fields._versions import SERVING, Serving
from smp.managed_fields._ways_out import Escape, WayOut, give_up, ways_out

__all__ = [
    "SERVING",
    "AbsentField",
    "ApplyConflict",
    "ApplyConflictError",
    "Blame",
    "BlamedValue",
    "Escape",
    "FieldSet",
    "Fight",
    "LocalMerge",
    "Orphan",
    "Owner",
    "Ownership",
    "PatchRequest",
    "Remark",
    "Remedy",
    "ServerSideApplyResult",
    "Serving",
    "Simulation",
    "State",
    "Step",
    "Verb",
    "WayOut",
    "apply_request",
    "blame",
    "changed_members",
    "elements_of",
    "extract",
    "extracted",
    "fieldset_of",
    "give_up",
    "indexed_path",
    "local_merge",
    "migrate",
    "migrate_patch",
    "owned_path",
    "owners",
    "owners_of",
    "owners_of_fields",
    "predict_refusal",
    "release",
    "removed",
    "rename",
    "reset_fields",
    "server_side_apply",
    "simulate",
    "track",
    "unconvertible_scale",
    "upgrade",
    "upgrade_patch",
    "ways_out",
    "with_former_times",
    "with_managers_of_scale",
    "with_scale_managers",
]
