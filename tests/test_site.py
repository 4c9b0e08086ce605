"""The documentation site: it builds without a warning, loads nothing from elsewhere, and has a page for every name."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kernelstream

pytest.importorskip("sphinx_gallery", reason="the site needs pip install '.[docs]'")

ROOT = Path(__file__).parents[1]
# What a browser fetches of itself. A link is followed by people.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|embed|video|audio|object|link)\b[^>]*?\b(?:src|href|data|srcset)=\"([^\"]+)\""
)
STYLED = re.compile(r"(?:@import\s+|url\()['\"]?([^'\")]+)")


def elsewhere(address):
    return address.startswith(("http:", "https:", "//"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All of it but the examples' pictures, which `make docs` draws."""
    copy = tmp_path_factory.mktemp("site")
    generated = shutil.ignore_patterns("gallery", "generated", "project", "__pycache__")
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=generated)
    for name in ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-D", "plot_gallery=0", "docs", "html"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "html"


def test_nothing_comes_from_elsewhere(site):
    pages, styles = list(site.rglob("*.html")), list(site.rglob("*.css"))
    assert len(pages) > 100 and styles
    fetched = {address for page in pages for address in FETCHED.findall(page.read_text())}
    styled = {address for style in styles for address in STYLED.findall(style.read_text())}
    assert "_static/site.css" in {address.partition("?")[0] for address in fetched}
    assert not [address for address in fetched | styled if elsewhere(address)]


def test_a_formula_is_drawn_by_the_browser_alone(site):
    page = (site / "theory" / "features.html").read_text()
    assert "<math" in page and "mathjax" not in page.lower()


def test_every_name_and_every_page_is_there(site):
    assert all(
        (site / "api" / "generated" / f"kernelstream.{name}.html").exists()
        for name in kernelstream.__all__
        if name != "ALGORITHMS"
    )
    pages = {
        page.relative_to(ROOT / "docs")
        for folder in ("", "guide", "theory", "decisions")
        for page in (ROOT / "docs" / folder).glob("*.md")
    }
    assert not [page for page in pages if not (site / page.with_suffix(".html")).exists()]
    first = (site / "index.html").read_text()
    for page in (
        "start",
        "guide/index",
        "choosing",
        "theory/index",
        "api/index",
        "gallery/index",
        "evidence",
        "project",
    ):
        assert f'href="{page}.html"' in first
