"""What is printed as KYAML is what is printed as YAML, in the form of kubectl."""

from __future__ import annotations

import re
from typing import Final

from smp import documents
from smp._values.values import same
from smp.cli._command_line import load_command
from smp.cli._commands import COMMANDS, Command, CommandGroup
from tests.support.command import run
from tests.support.paths import ROOT

NEW: Final = str(ROOT / "docs/examples/new.yaml")
LIVE: Final = str(ROOT / "docs/examples/live.yaml")
NAMESPACE: Final = str(ROOT / "docs/examples/namespace.yaml")
TYPES: Final = str(ROOT / "tests/data/cli/types.go")
SIDES: Final = ("-f", NEW, "-f", NAMESPACE, "--live", LIVE)
RUNS: Final = {
    "apply": ("apply", *SIDES),
    "diff": ("diff", LIVE, NEW),
    "explain": ("explain", "deploy", "spec.strategy"),
    "openapi generate": ("openapi", "generate", TYPES),
    "patch": ("patch", NEW, "-p", '{"spec": {"replicas": 3}}'),
}
# Those of `smp cluster` are printed by the same functions.
NEED_A_CLUSTER: Final = {f"cluster {name}" for name in ("apply", "get")}


def offered() -> set[str]:
    """Return the commands that print YAML and KYAML."""
    commands: dict[str, Command] = {}
    for name in COMMANDS:
        command = load_command(name)
        if isinstance(command, CommandGroup):
            inner = command.commands
            commands |= {f"{name} {each}": inner[each] for each in inner}
        else:
            commands[name] = command
    return {
        name
        for name, command in commands.items()
        for option in command.options
        if option.name == "output" and "kyaml" in option.choices
    }


def test_each_command_prints_the_same_values() -> None:
    of_documents = {name for name in offered() if name.startswith("openapi ")}
    needed = offered() - of_documents - NEED_A_CLUSTER
    assert needed == RUNS.keys() - of_documents
    wrong = []
    for name, words in RUNS.items():
        plain = "patch" if name == "diff" else "yaml"
        yaml, kyaml = (run(*words, "-o", output) for output in (plain, "kyaml"))
        texts = re.split(r"^---\n", kyaml.stdout, flags=re.MULTILINE)
        found = [each.value for each in documents.read(yaml.stdout)]
        # Each document begins with its separator, and has the comment that YAML has.
        comments = re.findall(r"^# .*", yaml.stdout, re.MULTILINE)
        if (
            yaml.exit_code != kyaml.exit_code
            or not same([each.value for each in documents.read(kyaml.stdout)], found)
            or texts[0] != ""
            or len(texts) - 1 != len(found)
            or re.findall(r"^# .*", kyaml.stdout, re.MULTILINE) != comments
        ):
            wrong.append((name, kyaml.stdout))
    assert wrong == []
