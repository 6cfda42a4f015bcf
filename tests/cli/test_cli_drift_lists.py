"""``smp drift`` of clusters whose lists are interrupted, in a run and across runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from smp._values.values import JSONObject
from smp.cluster import Cluster
from smp.cluster.plan import listing
from smp.cluster.plan.exchange import Plan, PlannedRequest, Response
from smp.cluster.plan.failures import ApiError, BrokenConnectionError
from smp.cluster.plan.sending import send_for_object
from smp.documents import dump_yaml
from smp.testing import KubernetesApi
from tests.support.command import Ran, run
from tests.support.paths import ROOT

NAMES: Final = [f"n-{number:02}" for number in range(12)]
# Pages of so many objects, so four of them.
PAGE: Final = 3
# What ends the process when it has kept some pages.
KILLER: Final = f"""
import os, signal, sys
from smp.cli import main
from smp.cli._drift.state import DriftState
from smp.cluster.plan import listing
listing._LIMIT = {PAGE}
keep = DriftState.keep_page
def keep_and_end(*arguments, **options):
    keep(*arguments, **options)
    if arguments[2].more and not options["is_first"]:
        os.kill(os.getpid(), signal.SIGKILL)
DriftState.keep_page = keep_and_end
main(sys.argv[1:])
"""


def config_map(name: str, value: str = "1") -> JSONObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"key": value},
    }


class Pages:
    """What lists ask for: which pages, and what is answered in place of them."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        # What is raised for the n-th request of a list; it is asked again then.
        self.faults: dict[int, Exception] = {}

    def send(self, request: PlannedRequest) -> Plan[JSONObject]:
        query = dict(request.query)
        self.asked.append("continue" in query)
        fault = self.faults.get(len(self.asked))
        if fault is not None:
            raise fault
        return (yield from send_for_object(request))


def refused(code: int, reason: str, more: str = "") -> ApiError:
    status = {
        "kind": "Status",
        "reason": reason,
        "code": code,
        "message": reason,
        "metadata": {"continue": more} if more else {},
    }
    answer = Response(code, (), json.dumps(status).encode())
    return ApiError(answer, PlannedRequest("GET", "/", (), ()))


def lost() -> BrokenConnectionError:
    return BrokenConnectionError("GET", "the connection is lost")


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Pages:
    found = Pages()
    monkeypatch.setattr(listing, "_LIMIT", PAGE)
    monkeypatch.setattr(listing, "send_for_object", found.send)
    return found


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesApi]:
    """A server with two contexts, and manifests of which one is not there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    with KubernetesApi() as server:
        configuration = {
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [
                {"name": name, "context": {"cluster": "c", "user": "u"}}
                for name in ("eu", "us")
            ],
            "current-context": "eu",
        }
        Path("kubeconfig").write_text(json.dumps(configuration))
        there = [config_map(name) for name in NAMES]
        Cluster.connect("eu").apply(there).raise_for_errors()
        wanted = [config_map(name) for name in [*NAMES, "x"]]
        Path("want.yaml").write_text(dump_yaml(wanted))
        yield server


EU: Final = ("--contexts", "eu")
OPTIONS: Final = ("-f", "want.yaml", "--format", "ndjson", "--all", "--jobs", "1")


def drift(*arguments: str) -> Ran:
    return run("drift", *OPTIONS, *EU, *arguments)


def verdicts(ran: Ran) -> dict[str, str]:
    rows: list[dict[str, Any]] = [json.loads(line) for line in ran.stdout.splitlines()]
    return {row["name"]: row["verdict"] for row in rows if "verdict" in row}


WHOLE: Final = {**dict.fromkeys(NAMES, "same"), "x": "missing"}


@pytest.mark.usefixtures("api")
def test_a_list_that_has_become_too_old_is_read_to_its_end(pages: Pages) -> None:
    """API concepts: 410 has what the rest is asked for by, or the list begins again."""
    assert verdicts(drift()) == WHOLE
    # Discovery asks for other things.
    assert pages.asked == [False, True, True, True]
    pages.asked.clear()
    pages.faults = {3: refused(410, "Expired")}
    ran = drift()
    assert (verdicts(ran), ran.exit_code) == (WHOLE, 1)
    assert pages.asked == [False, True, True, False, True, True, True]
    pages.asked.clear()
    # A server that never keeps a list is an error, and no endless run.
    pages.faults = {number: refused(410, "Expired") for number in range(2, 99, 2)}
    ran = drift()
    assert "too old each time" in ran.stderr
    assert ran.exit_code == 3
    found = verdicts(ran)
    assert found.pop("x") == "unreadable"
    assert {found[name] for name in NAMES[:PAGE]} == {"same"}
    assert {found[name] for name in NAMES[PAGE:]} == {"unreadable"}


@pytest.mark.usefixtures("api")
def test_what_was_not_read_of_a_list_is_unreadable_and_the_rest_is_known(
    pages: Pages,
) -> None:
    pages.faults = {3: lost()}
    ran = drift()
    assert ran.exit_code == 3
    assert verdicts(ran) == {
        **dict.fromkeys(NAMES[: 2 * PAGE], "same"),
        **dict.fromkeys([*NAMES[2 * PAGE :], "x"], "unreadable"),
    }
    assert "the connection is lost" in ran.stderr


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize("live", [EU, ("--live", "cluster")], ids=["some", "alone"])
def test_the_next_run_goes_on_where_a_list_was_interrupted(
    pages: Pages, live: tuple[str, ...]
) -> None:
    options = (*OPTIONS, *live, "--state", "state.db")
    pages.faults = {3: lost()}
    run("drift", *options)
    pages.asked.clear()
    pages.faults = {}
    ran = run("drift", *options)
    assert (verdicts(ran), ran.exit_code) == (WHOLE, 1)
    assert pages.asked == [True, True]
    assert "a list goes on that was begun at" in ran.stderr
    # It has come to its end.
    pages.asked.clear()
    assert verdicts(run("drift", *options)) == WHOLE
    assert pages.asked == [False, True, True, True]


@pytest.mark.usefixtures("api")
def test_who_may_not_list_gets_what_manifests_name(pages: Pages) -> None:
    """As a role of one verb, get; what it may not get is not known."""
    pages.faults = {1: refused(403, "Forbidden")}
    ran = drift()
    assert (verdicts(ran), ran.exit_code) == (WHOLE, 1)
    assert pages.asked == [False]
    # What has no manifest cannot be found in this way.
    pages.asked.clear()
    ran = drift("--extra")
    assert {*verdicts(ran).values()} == {"unreadable"}
    assert ran.exit_code == 3


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    "refusal",
    [refused(410, "Expired"), refused(410, "Expired", "rest"), refused(400, "Invalid")],
    ids=["410", "410 with the rest", "400"],
)
def test_a_list_that_no_server_keeps_any_more_is_read_anew(
    pages: Pages, refusal: ApiError
) -> None:
    pages.faults = {3: lost()}
    drift("--state", "state.db")
    Cluster.connect("eu").apply([config_map("n-00", "2")]).raise_for_errors()
    pages.asked.clear()
    pages.faults = {1: refusal}
    ran = drift("--state", "state.db")
    # What an earlier run has read of it does not count.
    assert verdicts(ran) == {**WHOLE, "n-00": "drift"}
    assert pages.asked == [True, False, True, True, True]


@pytest.mark.usefixtures("api")
def test_other_manifests_have_a_list_read_anew(pages: Pages) -> None:
    pages.faults = {3: lost()}
    drift("--state", "state.db")
    more = [config_map(name) for name in [*NAMES, "x", "y"]]
    Path("want.yaml").write_text(dump_yaml(more))
    pages.asked.clear()
    pages.faults = {}
    assert verdicts(drift("--state", "state.db")) == {**WHOLE, "y": "missing"}
    assert pages.asked == [False, True, True, True]


@pytest.mark.usefixtures("api")
def test_another_cluster_of_the_same_name_has_its_lists_read_anew(
    pages: Pages,
) -> None:
    pages.faults = {3: lost()}
    drift("--state", "state.db")
    # The same server, by another address.
    text = Path("kubeconfig").read_text()
    Path("kubeconfig").write_text(text.replace("127.0.0.1", "localhost"))
    pages.asked.clear()
    pages.faults = {}
    assert verdicts(drift("--state", "state.db")) == WHOLE
    assert pages.asked == [False, True, True, True]


@pytest.mark.slow
@pytest.mark.usefixtures("api")
def test_a_run_that_was_killed_goes_on_behind_the_pages_that_it_read(
    pages: Pages,
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLER, "drift", *OPTIONS, *EU, "--state", "state.db"],
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert killed.returncode == -signal.SIGKILL
    ran = drift("--state", "state.db")
    assert verdicts(ran) == WHOLE
    assert pages.asked == [True, True]


@pytest.mark.usefixtures("api")
def test_a_list_that_began_again_and_was_interrupted_is_known_as_a_whole(
    pages: Pages,
) -> None:
    pages.faults = {2: refused(410, "Expired"), 4: lost()}
    drift("--state", "state.db")
    pages.asked.clear()
    pages.faults = {}
    assert verdicts(drift("--state", "state.db")) == WHOLE
    assert pages.asked == [True, True, True]


@pytest.mark.usefixtures("api")
def test_what_was_not_read_of_a_list_is_not_gone(pages: Pages) -> None:
    Cluster.connect("eu").apply([config_map("z-extra")]).raise_for_errors()
    # All that manifests are about is on other pages.
    Path("want.yaml").write_text(dump_yaml([config_map(name) for name in NAMES]))
    found = drift("--state", "state.db", "--extra")
    assert verdicts(found)["z-extra"] == "extra"
    pages.faults = {len(pages.asked) * 2: lost()}
    interrupted = drift("--state", "state.db", "--extra")
    assert "z-extra" not in verdicts(interrupted)
    pages.faults = {}
    rows = [
        json.loads(line)
        for line in drift("--state", "state.db", "--extra").stdout.splitlines()
    ]
    assert [row["change"] for row in rows if row.get("name") == "z-extra"] == ["still"]
