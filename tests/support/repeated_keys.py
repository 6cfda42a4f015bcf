"""Objects whose merge lists repeat a patch merge key, as real ones do.

Ports merge by their number alone, so that 53/TCP and 53/UDP have one key. Three sources
of such objects: ``random_case`` draws lists at random, ``real_applies`` combines what
people have with what happens to it, and ``random_ports`` makes ports of a user and of
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, NamedTuple, TypeAlias

from smp._values.values import JSONArray, JSONObject, as_object
from tests.support.differential import Case, subjects_by_name
from tests.support.makers import Triple

Make: TypeAlias = Callable[[Random, int], JSONArray]


class Apply(NamedTuple):
    """One apply, with a name that tells what happens."""

    name: str
    triple: Triple


# --- Random lists ---

# Up to twelve elements Go uses an insertion sort, above that a quicksort, which chooses
# its pivots in another way from fifty elements on.
_LENGTHS: Final = (1, 2, 2, 3, 3, 4, 5, 12, 13, 20, 60)
_SHORT: Final = (1, 2, 3, 4)
_FEW: Final = 8


def _ports(name: str) -> Make:
    def make(random: Random, count: int) -> JSONArray:
        numbers = [53, 80, 443] if count < _FEW else range(50, 50 + count)
        ports: JSONArray = []
        for _ in range(count):
            port: JSONObject = {name: random.choice(numbers)}
            if random.random() < 0.8:
                port["protocol"] = random.choice(["TCP", "UDP", "SCTP"])
            if random.random() < 0.8:
                port["name"] = random.choice(["a", "b", "c", "dns"])
            if random.random() < 0.3:
                extra = "nodePort" if name == "port" else "hostPort"
                port[extra] = random.choice([30000, 30001])
            ports.append(port)
        return ports

    return make


def _env(random: Random, count: int) -> JSONArray:
    names = ["A", "B", "C"]
    if count >= _FEW:
        names = [f"E{number}" for number in range(count)]
    variables: JSONArray = []
    for _ in range(count):
        variable: JSONObject = {"name": random.choice(names)}
        chance = random.random()
        if chance < 0.6:
            variable["value"] = random.choice(["1", "2", "3"])
        elif chance < 0.8:
            path = random.choice(["a", "b"])
            variable["valueFrom"] = {"fieldRef": {"fieldPath": path}}
        variables.append(variable)
    return variables


def _mounts(random: Random, count: int) -> JSONArray:
    mounts: JSONArray = []
    for _ in range(count):
        mount: JSONObject = {
            "mountPath": random.choice(["/a", "/b"]),
            "name": random.choice("xyz"),
        }
        if random.random() < 0.5:
            mount["subPath"] = random.choice("pq")
        mounts.append(mount)
    return mounts


def _containers(random: Random, count: int) -> JSONArray:
    containers: JSONArray = []
    for _ in range(count):
        container: JSONObject = {"name": random.choice("ccd")}
        if random.random() < 0.6:
            container["ports"] = _ports("containerPort")(random, random.randint(0, 3))
        if random.random() < 0.6:
            container["env"] = _env(random, random.randint(0, 3))
        if random.random() < 0.3:
            container["volumeMounts"] = _mounts(random, random.randint(1, 2))
        if random.random() < 0.3:
            container["image"] = random.choice("ij")
        containers.append(container)
    return containers


def _volumes(random: Random, count: int) -> JSONArray:
    sources: list[JSONObject] = [
        {"emptyDir": {}},
        {"emptyDir": {"medium": "Memory"}},
        {"hostPath": {"path": "/x"}},
        {"configMap": {"name": "n", "items": [{"key": "a", "path": "p"}]}},
    ]
    return [
        {"name": random.choice("vw"), **random.choice(sources)} for _ in range(count)
    ]


def _constraints(random: Random, count: int) -> JSONArray:
    return [
        {
            "topologyKey": random.choice(["zone", "host"]),
            "whenUnsatisfiable": random.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "maxSkew": random.choice([1, 2]),
        }
        for _ in range(count)
    ]


def _in_spec(name: str) -> Callable[[JSONArray], JSONObject]:
    return lambda elements: {"spec": {name: elements}}


def _in_container(name: str) -> Callable[[JSONArray], JSONObject]:
    return lambda elements: {"spec": {"containers": [{"name": "c", name: elements}]}}


class _List(NamedTuple):
    """A merge list: the schema that has it, its elements, and the object around it."""

    subject: str
    make: Make
    around: Callable[[JSONArray], JSONObject]
    lengths: tuple[int, ...] = _LENGTHS


_LISTS: Final = (
    _List("Service", _ports("port"), _in_spec("ports")),
    _List("Pod", _ports("containerPort"), _in_container("ports")),
    _List("Pod", _env, _in_container("env")),
    _List("Pod", _mounts, _in_container("volumeMounts"), _SHORT),
    _List("Pod", _containers, _in_spec("containers"), _SHORT),
    _List("Pod", _volumes, _in_spec("volumes"), _SHORT),
    _List("Pod", _constraints, _in_spec("topologySpreadConstraints"), _SHORT),
)


def random_case(seed: int) -> Case:
    """Make a two-way or three-way diff of lists that mostly repeat a merge key."""
    random = Random(seed)
    chosen = random.choice(_LISTS)
    base = chosen.make(random, random.choice(chosen.lengths))
    modified = _changed(base, random, chosen.make)
    injected = chosen.make(random, 1)
    live = random.choice(
        (
            base,
            _changed(base, random, chosen.make),
            [*injected, *base],
            [*base, *injected],
            _changed(modified, random, chosen.make),
        )
    )

    def whole(elements: JSONArray) -> JSONObject:
        return {"metadata": {"name": "x"}, **chosen.around(elements)}

    nothing: JSONObject = {"metadata": {"name": "x"}}
    subject = subjects_by_name()[chosen.subject]
    applied = whole(base) if random.random() < 0.9 else random.choice([nothing, None])
    if random.random() < 0.3 and applied is not None:
        documents = {"original": applied, "modified": whole(modified)}
        return Case("two_way", subject, {**documents})
    return Case(
        "three_way",
        subject,
        {
            "original": applied,
            "modified": whole(modified),
            "current": whole(live) if random.random() < 0.9 else nothing,
        },
    )


def _changed(elements: JSONArray, random: Random, make: Make) -> JSONArray:
    """Remove, insert, change and shuffle elements, at most three times."""
    result = elements.copy()
    for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
        chance = random.random()
        if chance < 0.3 and result:
            result.pop(random.randrange(len(result)))
        elif chance < 0.6 or not result:
            result.insert(random.randint(0, len(result)), make(random, 1)[0])
        elif chance < 0.8:
            place = random.randrange(len(result))
            changes = as_object(make(random, 1)[0])
            result[place] = {**as_object(result[place]), **changes}
        else:
            random.shuffle(result)
    return result


# --- What people have, and what happens to it ---


def _service(ports: JSONArray) -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": ports},
    }


def _daemon_set(fields: JSONObject, pod: JSONObject | None = None) -> JSONObject:
    container: JSONObject = {"name": "app", "image": "a:1", **fields}
    labels: JSONObject = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], **(pod or {})},
            },
        },
    }


class _Real(NamedTuple):
    """Two elements of one merge key among others, and what is done to them.

    ``defaults`` is what the server adds to each element, ``injected`` what another
    actor adds to the list.
    """

    elements: JSONArray
    changed: JSONObject
    added: JSONObject
    injected: JSONObject
    defaults: JSONObject
    around: Callable[[JSONArray], JSONObject]


_REAL: Final[dict[str, _Real]] = {
    "ports of a DNS Service": _Real(
        [
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        ],
        {"targetPort": 5353},
        {"name": "metrics", "port": 9153},
        {"name": "dns-sctp", "port": 53, "protocol": "SCTP"},
        {"protocol": "TCP", "targetPort": 53},
        _service,
    ),
    "ports of a DNS Service, TCP implied": _Real(
        [
            {"name": "dns-tcp", "port": 53},
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "metrics", "port": 9153},
        ],
        {"name": "renamed"},
        {"name": "dns-sctp", "port": 53, "protocol": "SCTP"},
        {"name": "mesh", "port": 15021},
        {"protocol": "TCP", "targetPort": 53},
        _service,
    ),
    "ports of a DNS container": _Real(
        [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
        ],
        {"hostPort": 53},
        {"name": "metrics", "containerPort": 9153},
        {"name": "dns-sctp", "containerPort": 53, "protocol": "SCTP"},
        {"protocol": "TCP"},
        lambda ports: _daemon_set({"ports": ports}),
    ),
    "ports of MetalLB's speaker": _Real(
        [
            {"name": "monitoring", "containerPort": 7472},
            {"name": "memberlist-tcp", "containerPort": 7946},
            {"name": "memberlist-udp", "containerPort": 7946, "protocol": "UDP"},
        ],
        {"hostPort": 7946},
        {"name": "webhook", "containerPort": 9443},
        {"name": "memberlist-sctp", "containerPort": 7946, "protocol": "SCTP"},
        {"protocol": "TCP"},
        lambda ports: _daemon_set({"ports": ports}),
    ),
    "a repeated environment variable": _Real(
        [
            {"name": "MODE", "value": "a"},
            {"name": "LEVEL", "value": "info"},
            {"name": "MODE", "value": "b"},
        ],
        {"value": "c"},
        {"name": "MODE", "value": "d"},
        {"name": "MODE", "value": "injected"},
        {},
        lambda env: _daemon_set({"env": env}),
    ),
    "two mounts at one path": _Real(
        [
            {"mountPath": "/etc/app", "name": "config", "subPath": "a"},
            {"mountPath": "/etc/app", "name": "config", "subPath": "b"},
        ],
        {"readOnly": True},
        {"mountPath": "/data", "name": "data"},
        {"mountPath": "/etc/app", "name": "injected"},
        {},
        lambda mounts: _daemon_set({"volumeMounts": mounts}),
    ),
    "two constraints on one topology key": _Real(
        [
            {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1},
            {
                "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "maxSkew": 1,
            },
        ],
        {"maxSkew": 2},
        {"topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1},
        {"topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1},
        {"labelSelector": {"matchLabels": {"app": "web"}}},
        lambda listed: _daemon_set({}, {"topologySpreadConstraints": listed}),
    ),
    # An atomic list, where keys have no meaning.
    "two tolerations of one key": _Real(
        [
            {"key": "node", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node", "operator": "Exists", "effect": "NoExecute"},
        ],
        {"effect": "PreferNoSchedule"},
        {"key": "gpu", "operator": "Exists"},
        {"key": "node", "operator": "Exists"},
        {},
        lambda tolerations: _daemon_set({}, {"tolerations": tolerations}),
    ),
}


def real_applies() -> Iterator[Apply]:
    """Yield applies of real lists: each change of a user, over each live object."""
    for name, real in _REAL.items():
        for change, modified in _changes(real):
            for situation, live in _situations(real):
                yield Apply(
                    f"{name}: {change}, {situation}",
                    Triple(
                        real.around(real.elements),
                        real.around(modified),
                        real.around(live),
                    ),
                )


def _changes(real: _Real) -> Iterator[tuple[str, JSONArray]]:
    *others, last = real.elements
    first, *rest = real.elements
    yield "unchanged", real.elements
    yield "the last one removed", others
    yield "the first one removed", rest
    yield "the last one changed", [*others, {**as_object(last), **real.changed}]
    yield "the first one changed", [{**as_object(first), **real.changed}, *rest]
    yield "one added", [*real.elements, real.added]
    yield "the order reversed", real.elements[::-1]


def _situations(real: _Real) -> Iterator[tuple[str, JSONArray]]:
    stored: JSONArray = [
        {**real.defaults, **as_object(element)} for element in real.elements
    ]
    yield "live with defaults", stored
    yield "one injected before", [real.injected, *stored]
    yield "one injected after", [*stored, real.injected]
    yield "live reversed", stored[::-1]


# --- What an apply may lose ---


def random_ports(seed: int) -> Triple:
    """Make an apply of the ports of a Service or Pod, some of them of others."""
    random = Random(seed)
    kind, key = random.choice([("Service", "port"), ("Pod", "containerPort")])

    def port() -> JSONObject:
        made: JSONObject = {key: random.choice([53, 53, 80])}
        protocol = random.choice(["TCP", "UDP", "SCTP", ""])
        if protocol:
            made["protocol"] = protocol
        if random.random() < 0.7:
            made["name"] = random.choice(["a", "b", "c"])
        return made

    def unique(ports: list[JSONObject]) -> list[JSONObject]:
        # A server refuses two ports of one number and protocol.
        by_identity: dict[tuple[str, str], JSONObject] = {}
        for made in ports:
            by_identity.setdefault(identity(made), made)
        return [*by_identity.values()]

    def identity(made: JSONObject) -> tuple[str, str]:
        return str(made[key]), str(made.get("protocol", "TCP"))

    def stored(ports: list[JSONObject]) -> list[JSONObject]:
        extra = "nodePort" if kind == "Service" else "hostPort"
        result = []
        for made in ports:
            defaulted: JSONObject = {"protocol": "TCP", **made}
            if random.random() < 0.4:
                defaulted[extra] = random.choice([30000, 30001])
            result.append(defaulted)
        return result

    applied = unique([port() for _ in range(random.randint(0, 3))])
    modified = [made for made in applied if random.random() < 0.8]
    modified += [port() for _ in range(random.choice((0, 0, 1)))]
    modified = unique(modified)
    if random.random() < 0.2:
        random.shuffle(modified)
    live = [made for made in applied if random.random() < 0.9]
    injected = [port() for _ in range(random.choice((0, 1, 1, 2)))]
    place = random.choice((0, len(live)))
    live = stored(unique([*live[:place], *injected, *live[place:]]))

    def whole(ports: list[JSONObject]) -> JSONObject:
        spec: JSONObject = {"ports": [*ports]}
        if kind == "Pod":
            spec = {"containers": [{"name": "app", **spec}]}
        return {
            "apiVersion": "v1",
            "kind": kind,
            "metadata": {"name": "x"},
            "spec": spec,
        }

    return Triple(whole(applied), whole(modified), whole(live))
