"""Objects of two inputs are paired by group, kind, namespace and name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from smp._values.last_applied import LAST_APPLIED
from smp.cli._identity import ObjectIdentity
from smp.cli._objects import Entry, EntryPairing, Listing, numbered
from tests.support.command import Ran, config_map, run, values


def applied_report(new: str, live: str) -> Ran:
    Path("new.yaml").write_text(new)
    Path("live.yaml").write_text(live)
    return run("apply", "-f", "new.yaml", "--live", "live.yaml", "-o", "report")


def test_a_missing_namespace_matches_the_only_candidate() -> None:
    ran = applied_report(config_map(x="1"), config_map(namespace="shop"))
    assert "1 object: 1 changed" in ran.stdout
    ran = applied_report(config_map(namespace="shop", x="1"), config_map())
    assert "1 object: 1 changed" in ran.stdout


def test_a_manifest_without_namespace_has_that_of_its_live_object() -> None:
    live: Any = values(config_map(namespace="shop", x="1"))[0]
    applied = json.dumps({**live, "data": {"x": "1"}})
    live["metadata"]["annotations"] = {LAST_APPLIED: applied}
    Path("new.yaml").write_text(config_map(x="2"))
    Path("live.yaml").write_text(json.dumps(live))
    ran = run("apply", "-f", "new.yaml", "--live", "live.yaml")
    applied_object: Any = values(ran.stdout)[0]
    assert applied_object["metadata"]["namespace"] == "shop"
    ran = run("diff", "new.yaml", "--live", "live.yaml", "-o", "patch")
    assert values(ran.stdout) == [{"data": {"x": "2"}}]
    assert ran.stdout.startswith("# v1 ConfigMap shop/")


def test_different_namespaces_do_not_match() -> None:
    ran = applied_report(config_map(namespace="here"), config_map(namespace="there"))
    assert "1 object: 1 new, 1 skipped" in ran.stdout
    assert "skipped 1 document" in ran.stderr


def test_a_missing_namespace_with_several_candidates_is_an_error() -> None:
    several = config_map(namespace="here") + config_map(namespace="there")
    for new, live in ((config_map(), several), (several, config_map())):
        ran = applied_report(new, live)
        assert ran.exit_code == 2
        assert "several objects match without a namespace" in ran.stderr
        assert "hint:   set metadata.namespace" in ran.stderr


def test_an_exact_match_is_not_a_candidate_for_an_object_without_namespace() -> None:
    new = config_map(namespace="here", x="1") + config_map(x="2")
    ran = applied_report(
        new, config_map(namespace="here") + config_map(namespace="there")
    )
    assert "2 objects: 2 changed" in ran.stdout


def test_objects_of_two_versions_of_a_group_are_paired() -> None:
    autoscaler = "kind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"
    Path("old.yaml").write_text("apiVersion: autoscaling/v1\n" + autoscaler)
    Path("new.yaml").write_text("apiVersion: autoscaling/v2\n" + autoscaler)
    assert values(run("diff", "old.yaml", "new.yaml", "-o", "patch").stdout) == [
        {"apiVersion": "autoscaling/v2"}
    ]
    ran = run("apply", "-f", "new.yaml", "--live", "old.yaml")
    assert ran.exit_code == 2
    assert "apiVersion must not change" in ran.stderr


def test_objects_with_generated_names_are_always_created() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: run-}\n---\n"
    ran = applied_report(job * 2, job)
    assert ran.stdout.count("batch/v1 Job run-*: to be created") == 2


def entries_of(names: list[tuple[str, str]]) -> list[Entry]:
    """Make entries of names and namespaces."""
    return [
        *numbered(
            Entry(ObjectIdentity("v1", "ConfigMap", namespace, name), "x.yaml", line)
            for line, (name, namespace) in enumerate(names, 1)
        )
    ]


NAMES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["m", "n"])),
    max_size=8,
)


@given(NAMES, NAMES)
def test_the_first_document_of_an_object_is_paired_with_the_first(
    names: list[tuple[str, str]], other_names: list[tuple[str, str]]
) -> None:
    others = entries_of(other_names)
    listing = Listing(others)
    pairing = EntryPairing(Listing(entries_of(names)), listing)
    partners: list[Entry] = []
    for entry in entries_of(names):
        same = [
            other for other in others if other.identity.label == entry.identity.label
        ]
        # Of fewer documents the last one is paired with all that are left.
        partner = same[min(entry.occurrence, len(same) - 1)] if same else None
        assert pairing.partner(entry) == partner
        if partner is not None:
            partners.append(partner)
    assert pairing.unpaired() == [other for other in others if other not in partners]


@given(NAMES)
def test_an_input_is_listed_until_the_partner_is_found(
    names: list[tuple[str, str]],
) -> None:
    listed: list[Entry] = []

    def listing() -> Iterator[Entry]:
        for entry in entries_of(names):
            listed.append(entry)
            yield entry

    pairing = EntryPairing(Listing(), Listing(listing()))
    for entry in entries_of(names):
        assert pairing.partner(entry) == entry
        assert len(listed) == entry.number + 1


def test_the_order_of_the_live_objects_does_not_matter() -> None:
    names = [f"name-{index}" for index in range(5)]
    new = [config_map(name, x="2") for name in names]
    live = [config_map(name, x="1") for name in [*names[1:], "other"]]
    Path("new.yaml").write_text("".join(new))
    outputs: set[str] = set()
    for order in (live, live[::-1], live[2:] + live[:2]):
        Path("live.yaml").write_text("".join(order))
        for jobs in ("1", "2"):
            ran = run("apply", "-f", "new.yaml", "--live", "live.yaml", "--jobs", jobs)
            assert ran.exit_code == 0
            assert "5 objects: 1 new, 4 changed, 1 skipped" in ran.stderr
            outputs.add(ran.stdout)
    assert len(outputs) == 1


def test_what_is_skipped_behind_the_last_partner_is_counted() -> None:
    Path("new.yaml").write_text(config_map(x="2"))
    Path("old.yaml").write_text(config_map(x="1") + config_map("b") + "---\na: 1\n")
    for command, skipped in (
        (("diff", "old.yaml", "new.yaml"), 1),
        (("diff", "old.yaml", "new.yaml", "--live", "old.yaml"), 4),
        (("apply", "-f", "new.yaml", "--live", "old.yaml"), 2),
        (("apply", "-f", "new.yaml", "--last-applied", "old.yaml"), 2),
    ):
        ran = run(*command)
        assert f"smp: skipped {skipped} document" in ran.stderr


def write(folder: str, **files: str) -> None:
    """Write files into a folder; two underscores in a name stand for a slash."""
    for name, text in files.items():
        path = Path(folder, f"{name.replace('__', '/')}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_documents_of_equal_content_are_paired_wherever_they_are() -> None:
    dev, prod = config_map(env="dev"), config_map(env="prod")
    write("old", dev=dev, prod=prod)
    write("new", overlays__dev=dev, overlays__a_prod=prod)
    ran = run("diff", "old", "new", "-o", "report")
    assert (ran.exit_code, "2 unchanged" in ran.stdout) == (0, True)
    # Both places tell two documents of one object apart.
    place = "unchanged (old/dev.yaml:1 -> new/overlays/dev.yaml:1)"
    assert place in ran.stdout


def test_what_is_not_equal_is_paired_in_its_order_and_once() -> None:
    write("old", a=config_map(x="1"), b=config_map(x="2"), c=config_map(x="3"))
    write("new", d=config_map(x="4"), e=config_map(x="2"))
    ran = run("diff", "old", "new", "-o", "report")
    # a has become d, b is e, and c is gone.
    assert "changed (old/a.yaml:1 -> new/d.yaml:1)" in ran.stdout
    assert "unchanged (old/b.yaml:1 -> new/e.yaml:1)" in ran.stdout
    assert "3 objects: 1 changed, 1 unchanged, 1 removed" in ran.stdout
    back = run("diff", "new", "old", "-o", "report")
    assert "3 objects: 1 changed, 1 unchanged, 1 new" in back.stdout


def test_a_missing_namespace_hides_no_removal() -> None:
    named = config_map(namespace="here")
    write("one", a=named)
    write("two", a=config_map())
    assert "1 object: 1 changed" in run("diff", "one", "two", "-o", "report").stdout
    # What has a partner of its own has no other one.
    write("one", b=config_map())
    ran = run("diff", "one", "two", "-o", "report")
    assert "2 objects: 1 unchanged, 1 removed" in ran.stdout
    # Several documents do not say which of them is meant.
    write("old", a=named)
    write("new", a=config_map(x="1"), b=config_map(x="2"))
    ran = run("diff", "old", "new", "-o", "report")
    assert "3 objects: 2 new, 1 removed" in ran.stdout
    several = config_map(namespace="there") + named
    write("many", a=several)
    ran = run("diff", "many", "two", "-o", "report")
    assert "several objects match without a namespace" in ran.stderr
