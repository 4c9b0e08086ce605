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
# What a browser fetches of itself. A link in the text is followed by people.
TAGS = re.compile(r"<(?:script|img|iframe|source|embed|video|audio|object|link)\b[^>]*>")
ADDRESSES = re.compile(r"\b(?:src|href|data|srcset|poster)=[\"']([^\"']+)[\"']")
STYLED = re.compile(r"(?:@import\s+['\"]|url\(['\"]?)([^'\")]+)")


def fetched(page):
    return {part for tag in TAGS.findall(page) for address in ADDRESSES.findall(tag) for part in address.split(", ")}


def elsewhere(addresses):
    return sorted(address for address in addresses if address.startswith(("http:", "https:", "//")))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What `make docs` has built, which names it; or all of it but the examples' pictures."""
    if "KERNELSTREAM_SITE" in os.environ:
        return Path(os.environ["KERNELSTREAM_SITE"]).resolve()
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
    found = {address for page in pages for address in fetched(page.read_text())}
    found |= {address for style in styles for address in STYLED.findall(style.read_text())}
    assert "_static/mark.svg" in found
    assert not elsewhere(found)


def test_what_comes_from_elsewhere_is_found():
    page = '<img src="a.png" srcset="b.png, https://c/d.png 2x"> <a href="https://e">f</a>' + "<script src='//g/h.js'>"
    assert elsewhere(fetched(page)) == ["//g/h.js", "https://c/d.png 2x"]
    assert elsewhere(STYLED.findall("@import 'https://a/b.css'; i { background: url(c.svg) }")) == ["https://a/b.css"]


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_real_browser_asks_nobody_and_no_page_is_wider_than_a_phone(site, tmp_path, scheme):
    seen = pytest.importorskip("test_serve_page", reason="the browser is that of the service's page")
    if seen.BROWSER is None or seen.DRIVER is None:
        pytest.skip("no chromium or no chromedriver: apt-get install chromium chromium-driver")
    page = seen.Page(tmp_path / "profile")
    try:
        for name in ("index", "choosing", "no-tuning", "theory/features", "api/generated/kernelstream.Learner"):
            for size in (seen.DESK, seen.PHONE):
                page.open((site / f"{name}.html").as_uri(), size, scheme)
                assert page.run("return document.documentElement.dataset.theme") == scheme
                assert page.run("return document.documentElement.scrollWidth") <= size[0], (name, size)
        asked = page.asked()
        assert asked and not elsewhere(asked)
    finally:
        page.driver.quit()
