"""The page of problems by their words: each section is run with its own files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.project.test_docs_blocks import Block, console
from tests.support.paths import DOCS

PAGE: Final = "howto/symptoms.md"


def test_each_section_prints_what_it_shows(tmp_path: Path) -> None:
    _, *sections = (DOCS / PAGE).read_text().split("\n## ")
    wrong = []
    for number, section in enumerate(sections):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = re.findall(r"^```(\w+)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        for language, text in found:
            if language == "yaml":
                name = text.partition("\n")[0].removeprefix("# ")
                (folder / name).write_text(text)
        shown = [text for language, text in found if language == "console"]
        for text in shown:
            try:
                console(Block(PAGE, "console", text), folder)
            except AssertionError as error:
                wrong.append((section.partition("\n")[0], str(error)))
        assert shown, section
    assert wrong == []


def test_the_words_of_the_page_are_those_of_servers_and_kubectl() -> None:
    """What users search for, as issues have it."""
    page = (DOCS / PAGE).read_text()
    words = [
        "may not be specified when strategy",
        "Service lost a port",
        "Required value",
        "field is immutable",
        "may not be specified when \\`value\\` is not empty",
        "may not specify more than 1 handler type",
        "may not specify more than 1 volume type",
        "OutOfSync for ever",
        'Duplicate value: "http"',
        "list was replaced",
        "My env variable came back",
        "volumeClaimTemplates",
        "zero value differs for ever",
        "must have at most 262144 bytes",
        "strict decoding error",
        "no matches for kind",
    ]
    assert [each for each in words if each not in page] == []
