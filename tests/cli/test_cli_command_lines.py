"""A command line means the same to the table of options and to click."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp.cli._click import DeclaredCommand
from smp.cli._command_line import parse
from smp.cli._commands import CommandOption
from tests.support.command import declared_commands, process, run

DECLARED = declared_commands()
FLAGS = sorted(
    {flag for command in DECLARED.values() for o in command.options for flag in o.flags}
)
WORDS = ["old.yaml", "-", "", "json", "report", "7", "0", "-1", "x y", "é", "*.yaml"]


def values_of_click(words: list[str]) -> dict[str, Any] | None:
    """Return what click reads; None for a command line with an error."""
    names = next(names for names in DECLARED if (*words[: len(names)],) == names)
    command = DeclaredCommand(names, DECLARED[names])
    try:
        return command.make_context(names[-1], words[len(names) :]).params
    except (click.ClickException, click.exceptions.Exit):
        return None


def values_of_table(words: list[str]) -> dict[str, Any] | None:
    parsed = parse(words)
    return None if parsed is None else parsed.values


USUAL = [
    "apply -f new.yaml",
    "apply -f new.yaml -f - --live live.yaml --live - -o report",
    "apply --filename=new.yaml --no-overwrite --validate=strict -q",
    "apply -f a -n shop -l app=web --include-kind deploy --jobs 4 --strict",
    "apply -k dir --kustomize dir --last-applied= --profile off",
    "diff old.yaml new.yaml",
    "diff old.yaml -k dir --ignore spec.replicas --ignore-file x --all-fields",
    "diff - new.yaml --stat --color always --max-bytes 100",
    "explain deploy",
    "explain apps/v1 Deployment spec -o table --kubernetes 1.33",
    "patch live.yaml -p {} --type merge",
    "patch live.yaml --patch-file patch.json --crd a --crd b --openapi c",
    "patch --patch {} live.yaml --show-secrets --max-bytes 9",
    "cluster apply -f new.yaml --server-side --timeout 1m30s --grace-period 5",
    "cluster wait -f new.yaml",
    "cluster get deploy web -A",
    "openapi convert openapi.json --to v3 --no-defaults",
    "schema compile a.json b.json -o out --source x",
    "schema versions",
    "serve --port 0 --seed 7 --kubeconfig kubeconfig.yaml --no-ratchet",
    "test cases.yaml --update",
    "doctor -o json",
]


@pytest.mark.parametrize("line", USUAL)
def test_a_usual_line_is_read_without_click_and_as_click_reads_it(line: str) -> None:
    values = values_of_table(line.split())
    assert values is not None
    assert values == values_of_click(line.split())


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-h",
        "apply -h",
        "apply --help -f x",
        "schema",
        "schema version",
        "schema compile a.json",
        "cluster wait -f x --timeout long",
        "cluster apply -f x --wait=false",
        "serve --port 65536",
        "serve --kubeconfig .",
        "serve --seed -1",
        "aply -f x",
        "apply -fx",
        "apply -f",
        "apply -f -o",
        "apply -f x -qf y",
        "apply -f x --jobs -1",
        "apply -f x --jobs many",
        "apply -f x --max-bytes 0",
        "apply -f x -o xml",
        "apply -f x -o json -o yaml",
        "apply -f x -o json --format json",
        "diff a b --stat --format json",
        "diff a b --stat -o report",
        "apply -f x --strict=yes",
        "apply -f x --no-strict",
        "apply -f x --overwrite --no-overwrite",
        "apply -f x -- y",
        "patch x y -p",
        "explain -x",
        "diff a b --ignore-fil x",
    ],
)
def test_help_errors_and_rare_forms_are_left_to_click(line: str) -> None:
    assert parse(line.split()) is None


def test_two_outputs_that_cannot_both_be_answered_are_refused() -> None:
    wrong = []
    for first, second in (
        ("--format json", "-o patch"),
        ("--format json", "--stat"),
        ("--stat", "-o patch"),
    ):
        ran = run("diff", "a.yaml", "b.yaml", *first.split(), *second.split())
        reason = f"error: {first.split()[0]} and {second} ask for different outputs"
        if ran.exit_code != 2 or reason not in ran.stderr:
            wrong.append((first, second, ran.output))
    assert wrong == []
    # A report for programs is a report.
    both = ("diff", "a", "b", "-o", "report", "--format", "json")
    assert values_of_click([*both]) is not None


@pytest.mark.parametrize("variable", ["_SMP_COMPLETE", "SMP_IGNORE_FILE"])
def test_variables_are_left_to_click(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["diff", "old.yaml", "new.yaml"]
    assert parse(words) is not None
    monkeypatch.setenv(variable, "x")
    assert parse(words) is None


def command_words(option: CommandOption) -> st.SearchStrategy[list[str]]:
    """Make the words of an option, which may be wrong."""
    flag = st.sampled_from([*option.flags, option.opposite or option.flags[0]])
    value = st.sampled_from([*option.choices, *WORDS])
    return st.one_of(
        flag.map(lambda name: [name]),
        st.tuples(flag, value).map(list),
        st.tuples(flag, value).map(lambda pair: ["=".join(pair)]),
        st.tuples(flag, value).map(lambda pair: ["".join(pair)]),
    )


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    names = draw(st.sampled_from(sorted(DECLARED)))
    others = st.sampled_from([*WORDS, *FLAGS, "--", "-x"]).map(lambda word: [word])
    options = DECLARED[names].options
    parts = others
    if options:
        parts = st.one_of(st.sampled_from(options).flatmap(command_words), others)
    return [
        *names,
        *(word for part in draw(st.lists(parts, max_size=5)) for word in part),
    ]


@given(command_lines())
def test_what_is_read_without_click_is_what_click_reads(words: list[str]) -> None:
    values = values_of_table(words)
    if values is not None:
        expected = values_of_click(words)
        assert values == expected
        assert [type(value) for value in values.values()] == [
            type((expected or {})[name]) for name in values
        ]


def test_an_error_of_use_looks_the_same_with_and_without_click() -> None:
    read = run("patch", "old.yaml")
    left = run("patch", "--", "old.yaml")
    assert "  hint:   smp patch --help has the options" in read.stderr
    assert "give the patch either in --patch-file or in --patch" in read.stderr
    assert (
        (left.exit_code, left.stderr)
        == (read.exit_code, read.stderr)
        == (2, read.stderr)
    )
    in_process = process("patch", "old.yaml")
    assert (in_process.returncode, in_process.stderr) == (2, read.stderr)


def test_what_other_programs_take_is_taken_or_corrected() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\n"
    by_letter = run(
        "apply", "-f=-", "-o=json", stdin=text.replace("name: n", "name: a")
    )
    assert by_letter.exit_code == 0
    assert json.loads(by_letter.stdout)["kind"] == "ConfigMap"
    version, usage = run("--version").stdout, run("apply", "--help").stdout
    assert run("version").stdout == run("-v").stdout == version
    assert run("help", "apply").stdout == usage
    # YAML 1.1 reads n as false.
    assert "quote them" in run("lint", "-", stdin=text).output
    twice = run("apply", "-f", "-", stdin=f"{text}data: {{y: a, on: b}}\n")
    assert "quote them" in twice.stderr


def test_a_list_whose_items_are_none_is_said_to_be_that() -> None:
    text = "apiVersion: v1\nkind: List\nitems: hello\n"
    for command in (("apply", "-f", "-"), ("lint", "-")):
        ran = run(*command, stdin=text)
        assert "items of a List" in ran.output
        assert ran.exit_code != 0
