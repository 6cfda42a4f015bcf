"""The hooks of MkDocs: what the site has beside the pages in docs/.

They add the pages of the reference, draw the charts, and copy what the pages link to in
the repository. What each of these is stands in website/.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import browser, pages, plots

_ROOT: Final = Path(__file__).resolve().parents[2]
# A link of a page in docs/ itself out of that folder, to a file of the repository.
_OUT: Final = re.compile(r"\]\(\.\./([\w./-]+)\)")
# A link of a page of the repository to the copy of a file.
_COPIED: Final = re.compile(r"\]\(\.\./files/([\w./-]+)\)")
# A relative link, up to its anchor.
_RELATIVE: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)")
# What a browser loads as it shows a page.
_LOADED: Final = re.compile(
    r'<(?:script|img|iframe)[^>]+src="https?:[^>]*>'
    r'|<link(?! rel="(?:canonical|prev|next)")[^>]+href="https?:[^>]*>'
)
_DIAGRAM: Final = '<pre class="mermaid">'
_LOG: Final = logging.getLogger("mkdocs.hooks.smp")
# Who searches has a problem: pages about that come before those about names.
_BOOSTS: Final = {"howto": 3, "reference": 0.5}
# Text of the repository that is a page of the site.
_PAGES: Final = {
    "reference/changelog.md": _ROOT / "CHANGELOG.md",
    "reference/contributing.md": _ROOT / ".github" / "CONTRIBUTING.md",
    "reference/conduct.md": _ROOT / ".github" / "CODE_OF_CONDUCT.md",
    "reference/security.md": _ROOT / ".github" / "SECURITY.md",
    "reference/spec_cases.md": _ROOT / "spec_cases" / "README.md",
}


def on_config(config: MkDocsConfig) -> None:
    """Leave out the choice of a version where none is published."""
    if not config.site_url:
        del config.extra["version"]


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages, the files that pages link to, and the engine."""
    for path, text in pages.all_pages().items():
        files.append(File.generated(config, path, content=text))
    linked: set[str] = {"LICENSE"}
    for path, page in _PAGES.items():
        text = _relinked(page)
        files.append(File.generated(config, path, content=text))
        linked.update(_COPIED.findall(text))
    for file in files.documentation_pages():
        if "/" not in file.src_uri:
            linked.update(_OUT.findall(file.content_string))
    for path in sorted(linked):
        source = str(_ROOT / path)
        files.append(File.generated(config, f"files/{path}", abs_src_path=source))
    for path, served in browser.files(_ROOT).items():
        files.append(File.generated(config, path, abs_src_path=str(served)))
    return files


def _relinked(page: Path) -> str:
    """Return a text of the repository with the links that it has in reference/."""
    copies = {source: Path(path).name for path, source in _PAGES.items()}

    def relink(link: re.Match[str]) -> str:
        target = (page.parent / link[1]).resolve()
        if target in copies:
            return f"]({copies[target]}"
        path = target.relative_to(_ROOT).as_posix()
        if path.startswith("docs/"):
            return f"](../{path.removeprefix('docs/')}"
        return f"](../files/{path}"

    return _RELATIVE.sub(relink, page.read_text(encoding="utf-8"))


def on_page_markdown(
    markdown: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Rank the page, draw the charts, and lead links out of docs/ to the copies."""
    del config, files
    folder = page.file.src_uri.partition("/")[0]
    if folder in _BOOSTS:
        page.meta["search"] = {"boost": _BOOSTS[folder]}
    if page.file.src_uri == "performance.md":
        markdown = plots.with_charts(markdown)
    if "/" not in page.file.src_uri:
        markdown = _OUT.sub(r"](files/\1)", markdown)
    return markdown


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Have diagrams drawn, and warn of what a page would load from elsewhere."""
    del config
    for tag in _LOADED.findall(output):
        _LOG.warning("%s loads something from elsewhere: %s", page.file.src_uri, tag)
    if _DIAGRAM not in output:
        return output
    if not browser.has_downloads():
        # The theme would load the library from elsewhere: leave the text as it is.
        return output.replace(_DIAGRAM, '<pre class="diagram">')
    url = "../" * page.url.count("/") + browser.MERMAID_URL
    return output.replace("</body>", f'<script src="{url}"></script>\n</body>')
