"""The examples in the documentation run as they stand, and so do the cells of the table of jobs in other libraries."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.S), start=1)
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "example.py"
    script.write_text(code)
    exec(compile(code, str(script), "exec"), {"__name__": "__main__"})
    assert "print(" not in code or capsys.readouterr().out.strip()


# docs/coming-from.md: what a section defines, then the code of each cell of its table, in the order of the rows.

LIBRARIES = {"scikit-learn": "sklearn", "River": "river", "Vowpal Wabbit": "vowpalwabbit", "CapyMOA": "capymoa"}
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", (ROOT / "docs/coming-from.md").read_text(), re.S | re.M))
NO_CODE = re.compile(r"^(--|-b |vw -|prequential_evaluation$|moment$|auto$)")


def cells(section, column):
    """The code of a column, a list a row; words that are no code of Python are left out."""
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| job ")]
    rows = [re.split(r"(?<!\\) \|(?: |$)", line[2:]) for line in lines if not line.startswith("| ---")]
    found = [[code.replace("\\|", "|") for code in re.findall("`(.*?)`", row[column])] for row in rows]
    return [[code for code in row if not NO_CODE.match(code)] for row in found]


def test_the_table_has_every_library():
    assert list(SECTIONS) == list(LIBRARIES)


@pytest.mark.parametrize("library", SECTIONS)
@pytest.mark.parametrize(("side", "column"), [("there", 1), ("here", 2)])
def test_every_cell_of_the_table_runs(library, side, column, tmp_path, monkeypatch):
    if side == "there" and importlib.util.find_spec(LIBRARIES[library]) is None:
        pytest.skip(f"{library} is not installed; the page says so")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    names = {"__name__": "__main__"}
    exec(re.search(r"```python\n(.*?)```", SECTIONS[library], re.S)[1], names)
    rows = cells(SECTIONS[library], column)
    assert sum(map(bool, rows)) >= len(rows) - 2 >= 6
    for row in rows:
        for code in row:
            exec(compile(code, f"{library}: {code}", "exec"), names)
