"""Where each page stands in the site, so that no page has to say it; the root's pages; how examples begin to draw.

A page that is not there yet, such as one that another change brings, is left out.
"""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent

# The pages below each page, by their headings in the sidebar.
TREE: dict[str, dict[str, list[str]]] = {
    "index": {
        "": ["start", "guide/index", "choosing", "theory/index", "api/index", "gallery/index", "evidence", "project"]
    },
    "guide/index": {
        "By task": [
            "guide/classify",
            "guide/regress",
            "guide/uncertainty",
            "guide/anomalies",
            "guide/clusters",
            "guide/drift",
            "guide/late-labels",
            "guide/few-labels",
            "guide/imbalance",
            "guide/sparse-text",
            "guide/images",
            "guide/big-files",
            "scale",
            "serving",
        ],
        "In full": ["usage", "streams", "river", "handing-on"],
        "Coming from elsewhere": ["coming-from", "others"],
    },
    "theory/index": {
        "": [
            "theory/mistakes",
            "theory/descent",
            "theory/features",
            "theory/removal",
            "theory/projection",
            "theory/merging",
            "theory/cover",
            "theory/least-squares",
            "theory/recursive",
            "theory/confidence",
            "theory/kernels",
            "theory/auto",
        ]
    },
    "evidence": {"": ["no-tuning", "compared", "performance", "reproduction", "reliability", "drift", "scale"]},
    "project": {"": ["project/design", "decisions/README", "project/contributing", "project/changelog"]},
    "decisions/README": {"": ["decisions/[0-9]*"]},
}
LAST = "project"  # has what is left over
# Pages of the root, and what they are called here.
ROOT_PAGES = {
    "DESIGN.md": "project/design.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}


def _found(pattern: str, below: str) -> list[str]:
    """The pages that a name or a pattern stands for; the first page to name one has it."""
    named = next(page for page, parts in TREE.items() if any(pattern in pages for pages in parts.values()))
    if named != below:
        return []
    if pattern in ("gallery/index", *(page.removesuffix(".md") for page in ROOT_PAGES.values())):
        return [pattern]
    files = [path for suffix in (".md", ".rst") for path in DOCS.glob(pattern + suffix)]
    return sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in files)


def _left_over() -> list[str]:
    """Pages that nobody has given a place yet."""
    placed = {one for page, parts in TREE.items() for pages in parts.values() for p in pages for one in _found(p, page)}
    there = {path for pattern in ("*.md", "guide/*.md") for path in DOCS.glob(pattern)}
    return sorted({path.relative_to(DOCS).with_suffix("").as_posix() for path in there} - placed - {"index"})


def add_toctree(app: Any, page: str, source: list[str]) -> None:
    """Let a page end with the list of those below it, which the theme draws and the page does not."""
    for caption, patterns in TREE.get(page, {}).items():
        below = [one for pattern in patterns for one in _found(pattern, page)]
        below += _left_over() if page == LAST else []
        named = f":caption: {caption}\n" if caption else ""
        source[0] += "\n\n```{toctree}\n:hidden:\n" + named + "\n" + "\n".join(f"/{one}" for one in below) + "\n```\n"


def outdated(app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Lists of pages are made anew where there is a page more or less."""
    return [page for page in TREE if page in env.found_docs] if added or removed else []


def resolve_links(app: Any, page: str, source: list[str]) -> None:
    """Let links to the root's pages, to examples and to algorithms' files lead to what they are here."""
    up = "../" * page.count("/")
    for name, place in ROOT_PAGES.items():
        source[0] = re.sub(rf"\]\((?:\.\./)+{name}", f"]({up}{place}", source[0])
    source[0] = re.sub(r"\]\((?:\.\./)+README\.md(?:#[\w-]*)?\)", f"]({up}index.md)", source[0])
    source[0] = re.sub(r"\]\((?:\.\./)*examples\)", f"]({up}gallery/index.rst)", source[0])
    source[0] = re.sub(r"\]\((?:\.\./)*examples/(\w+/\w+)\.py\)", rf"]({up}gallery/\1.rst)", source[0])
    algorithm = r"\[(\w+)\]\((?:\.\./)+src/kernelstream/algorithms/\w+\.py\)"
    source[0] = re.sub(algorithm, rf"[\1]({up}api/generated/kernelstream.\1.rst)", source[0])


def write_root_pages(app: Any, config: Any) -> None:
    """The root's pages as pages of the site, their links resolved."""
    (DOCS / "project").mkdir(exist_ok=True)
    for name, place in ROOT_PAGES.items():
        text = (ROOT / name).read_text().replace("](docs/", "](../")
        for other, target in ROOT_PAGES.items():
            text = text.replace(f"]({other}", f"]({Path(target).name}")
        path = DOCS / place
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def drawing(gallery: dict[str, Any], file: str) -> None:
    """How every example begins to draw."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.rcdefaults()
    mpl.style.use(DOCS / "examples" / "kernelstream.mplstyle")


def setup(app: Any) -> dict[str, Any]:
    app.connect("config-inited", write_root_pages, priority=100)
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", add_toctree)
    app.connect("source-read", resolve_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
