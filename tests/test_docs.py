"""The examples in the documentation run as they stand, as do those of the gallery and the cells of the table of jobs in
other libraries; what is said of commands, settings and results is so.
"""

import configparser
import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import json
import re
import shutil
import subprocess
import tomllib
import urllib.request
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import typer.main
import yaml
from benchmarks import choosing

from kernelstream import ALGORITHMS
from kernelstream.algorithms import PURPOSES
from kernelstream.cli import app, command
from kernelstream.serve.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *(page for folder in ("", "guide", "theory") for page in sorted((DOCS / folder).glob("*.md"))),
]
SCRIPTS = sorted((DOCS / "examples").glob("*/plot_*.py"))
ADDRESS = "http://127.0.0.1:8000"  # where the examples find a service


READ = {"python", "sh", "toml", "yaml", "ini"}  # the kinds of code that something below runs or reads


def test_every_block_of_code_is_of_a_kind_that_is_run_or_read():
    shown = {kind for page in PAGES for kind in re.findall(r"^ *```(\w+)", page.read_text(), re.M)}
    assert shown == READ


def blocks(kind):
    return [
        pytest.param(code, id=f"{page.relative_to(DOCS if DOCS in page.parents else ROOT)}-{number}")
        for page in PAGES
        for number, code in enumerate(re.findall(rf"```{kind}\n(.*?)```", page.read_text(), re.S), start=1)
    ]


@pytest.mark.parametrize("code", blocks("python"))
def test_example_runs(code, tmp_path, monkeypatch, capsys, request):
    monkeypatch.chdir(tmp_path)
    if ADDRESS in code:
        code = code.replace(ADDRESS, request.getfixturevalue("service").url)
    script = tmp_path / "example.py"
    script.write_text(code)
    exec(compile(code, str(script), "exec"), {"__name__": "__main__"})
    assert "print(" not in code or capsys.readouterr().out.strip()


def test_commands_of_the_first_page_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    page = (DOCS / "start.md").read_text()
    monkeypatch.chdir(tmp_path)
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "shop.csv" in block)
    exec(code, {})  # writes the file
    header, *rows = Path("shop.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join([header, *rows[:200]]) + "\n")
    shown = re.findall(r"^ {4}(kernelstream (?:run|predict) .*)$|`(kernelstream compare digits [^`]*)`", page, re.M)
    assert len(shown) == 3
    for line in ("".join(pair) for pair in shown):
        with pytest.raises(SystemExit) as ended:
            app(line.split()[1:], prog_name="kernelstream")
        assert ended.value.code in (0, None), capsys.readouterr().err
    assert Path("shop.html").stat().st_size > 10_000 and Path("page.html").stat().st_size > 10_000
    assert len(Path("predictions.csv").read_text().splitlines()) == 201


def test_what_others_have_is_what_river_has():
    said = (DOCS / "others.md").read_text().split("## River")[1].split("## ")[0].lower()
    for module in "linear_model", "anomaly", "active", "cluster":
        for name in importlib.import_module(f"river.{module}").__all__:
            if name != "base":
                assert re.sub("(Classifier|Regressor|Regression)$", "", name).lower() in said, f"{module}.{name}"


def test_every_learner_is_on_the_pages_where_people_look():
    """A measured row, what it keeps and its family in the tables; on its family's page a link to its file."""
    choosing, index = (DOCS / "choosing.md").read_text(), (DOCS / "theory" / "index.md").read_text()
    theory = "".join(page.read_text() for page in (DOCS / "theory").glob("*.md") if page.stem != "index")
    rows = set(re.findall(r"^\| `([^`]+)` \|", choosing, re.M))
    kept, families = (
        set(re.findall(r"`([^` ]+)`", text)) for text in (choosing.split("## By what they keep")[1], index)
    )
    purposes = {name for names in PURPOSES.values() for name in names}
    assert rows == set(ALGORITHMS) - {"density"}, "which looks at no labels"
    for name, spec in ALGORITHMS.items():
        assert name in kept and name in families and name in purposes, name
        assert f"algorithms/{Path(inspect.getfile(type(spec))).name})" in theory, name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example_of_the_gallery_draws(script, tmp_path, monkeypatch):
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.append(plt.gcf().savefig(tmp_path / "shown.png")))
    try:
        with plt.style.context(DOCS / "examples" / "kernelstream.mplstyle"):
            exec(compile(script.read_text(), str(script), "exec"), {"__name__": "__main__"})
    finally:
        plt.close("all")
    assert drawn and matplotlib.image.imread(tmp_path / "shown.png").std() > 0.01


def test_examples_among_the_names_of_the_api_are_true():
    found = doctest.testfile(str(DOCS / "api" / "index.rst"), module_relative=False)
    assert found.attempted and not found.failed


LEARNERS = [
    pytest.param(section, id=section.partition("\n")[0])
    for page in sorted((DOCS / "theory").glob("*.md"))
    for section in re.split(r"^## ", page.read_text(), flags=re.M)[1:]
    if "src/kernelstream/algorithms/" in section
]


@pytest.mark.parametrize("section", LEARNERS)
def test_a_learners_section_says_idea_formula_bound_and_when_it_fails(section):
    parts = re.findall(r"^\*\*(Idea|Bounds?|When it fails)\b", section, re.M)
    assert {part.rstrip("s") if part == "Bounds" else part for part in parts} == {"Idea", "Bound", "When it fails"}
    assert "$" in section


def test_the_table_of_merges_has_every_learner_once():
    table = (DOCS / "scale.md").read_text().split("| learners | merged by |")[1].split("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in row.split("|")[1].replace(",", " ").split()]
    assert sorted(named) == sorted(ALGORITHMS)


def test_the_first_page_says_what_was_measured():
    said = (DOCS / "index.md").read_text()
    table = (DOCS / "no-tuning.md").read_text().split("## Error and speed")[1]
    for learner in "`auto`", "CapyMOA's adaptive random forest of 30":
        error, speed = re.search(rf"\| {re.escape(learner)} \| ([\d.]+) \(([\d,]+)\)", table).groups()
        assert f"{100 * float(error):.1f} %" in said and f"{speed} rows a second" in said


def test_the_tables_of_choices_are_those_of_what_was_measured():
    """And what is said beside them: a page that was written before the last run says something else."""
    page, found = (DOCS / "choosing.md").read_text(), json.loads(choosing.FILE.read_text())
    assert page.split(choosing.BEGIN)[1].split(choosing.END)[0].strip() == choosing.tables(found)
    drifting = set(choosing.CHOSEN) - set(choosing.DESIGN)
    assert set(found) == set(choosing.CHOSEN) and (len(choosing.DESIGN), len(drifting)) == (20, 3)
    assert f"The first {choosing.ROWS:,} rows of the twenty data sets" in page and "three streams that drift" in page
    assert f"no less than {choosing.LEAST}," in page
    for sets in choosing.CLASSES, choosing.VALUES, choosing.DRIFTING:
        assert choosing.by_error(choosing.summaries(found, sets))[0][0] == "auto"  # "usually the most accurate"


def test_every_learner_was_measured_and_gave_numbers():
    found = json.loads(choosing.FILE.read_text())
    for data, runs in found.items():
        assert set(runs) == set(ALGORITHMS) - set(choosing.WITHOUT_ERRORS), data
        for name, one in runs.items():
            assert one is None or all(0.0 <= value < np.inf for value in one.values()), (data, name, one)


def test_who_does_not_do_all_sets_is_compared_on_those_that_it_does():
    found = json.loads(choosing.FILE.read_text())
    for sets in choosing.CLASSES, choosing.TWO, choosing.VALUES, choosing.DRIFTING:
        assert choosing.summaries(found, sets).keys() == {
            name for name in found[sets[0]] if all(found[data][name] for data in sets)
        }
    alone = choosing.summaries(found, choosing.TWO).keys() - choosing.summaries(found, choosing.CLASSES).keys()
    assert alone == {"tvm", "lasvm", "pros-n-kons", "opauc", "koil"}


def test_headers_of_learners_on_no_front_say_so():
    headers = {" ".join(inspect.getdoc(inspect.getmodule(type(spec))).split()) for spec in ALGORITHMS.values()}
    said = [name for text in headers for name in re.findall(r"(\S+) is on no front of docs/choosing\.md", text)]
    assert sorted(said) == sorted(choosing.on_no_front(json.loads(choosing.FILE.read_text())))


def test_what_theory_quotes_was_measured():
    said = (DOCS / "theory" / "removal.md").read_text()
    table = (DOCS / "no-tuning.md").read_text().split("## Error and speed")[1]
    head = re.search(r"^\|.*elec2.*\|$", table, re.M).group().split("|")
    row = re.search(r"^\| `budget-perceptron` \|.*$", table, re.M).group().split("|")
    cells = {name.strip().split()[0]: cell.split()[0] for name, cell in zip(head[2:-1], row[2:-1], strict=True)}
    elec2, rna = (f"{100 * float(cells[name]):.0f} %" for name in ("elec2", "cod-rna"))
    assert f"[{elec2} and {rna} mistakes](../no-tuning.md#error-and-speed) on elec2 and cod-rna" in said


@pytest.mark.parametrize("code", blocks("sh"))
def test_lines_of_curl_are_answered(code, tmp_path, service):
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    lines = code.replace(ADDRESS, service.url)
    quick = lines.replace("curl ", "curl --fail-with-body --silent --show-error ")
    done = subprocess.run(["bash", "-euc", quick], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines.count("curl ") == done.stdout.count("}{") + 1


# Commands: every line of code that begins with the command's name.

LISTED = typer.main.get_command(app)
LINES = sorted(
    {line for page in PAGES for line in re.findall(r"^(?: {4,}|[^`\n]*\| )(kernelstream .*)$", page.read_text(), re.M)}
    | {line for page in PAGES for line in re.findall(r"`(kernelstream [a-z][^`\n]*)`", page.read_text())}
)


@pytest.mark.parametrize("line", LINES)
def test_commands_have_the_options_that_are_shown(line):
    check_options(line)


def check_options(line):
    asked, words = LISTED, line.split("#")[0].split()[1:]
    if words and words[0] in LISTED.commands:
        asked = command(words.pop(0))
    while words and words[0] in getattr(asked, "commands", {}):
        asked = asked.commands[words.pop(0)]
    known = {name for one in asked.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    shown = re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(words))
    assert asked is not LISTED or not words or words[0].startswith("-"), f"there is no command {words[0]}"
    assert not set(shown) - known


# The service.

SERVING = (ROOT / "docs" / "serving.md").read_text()


def test_every_setting_of_the_service_stands_in_its_table_with_its_default():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (`[^`]*`|none) \|", SERVING, re.M)
    told = {name: default.strip("`") for names, default in rows for name in re.findall(r"\w+", names)}
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    assert told == {
        name: "none" if default is None else f'"{default}"' if isinstance(default, str) else str(default)
        for name, default in defaults.items()
    }


def test_settings_that_are_shown_can_be_read(tmp_path):
    (shown,) = re.findall(r"```toml\n(.*?)```", SERVING, re.S)
    (tmp_path / "service.toml").write_text(shown)
    found = Settings.read(tmp_path / "service.toml")
    assert {name: getattr(found, name) for name in tomllib.loads(shown)} == tomllib.loads(shown)


def test_what_prometheus_reads_is_what_it_reads():
    """Its configuration names the file of rules and where the service listens; a rule has what Prometheus knows of one.
    Whether the metrics of rules are there is tested below.
    """
    of = {code.split("\n")[0]: yaml.safe_load(code) for (code,) in (block.values for block in blocks("yaml"))}
    asked, rules = of.pop("# prometheus.yml"), of.pop("# kernelstream.rules.yml")
    assert not of and asked["rule_files"] == ["kernelstream.rules.yml"]
    (job,) = asked["scrape_configs"]
    defaults = Settings()
    assert job["static_configs"] == [{"targets": [f"{defaults.host}:{defaults.port}"]}]
    assert set(job) == {"job_name", "static_configs", "authorization"}
    assert set(job["authorization"]) == {"credentials_file"}
    (group,) = rules["groups"]
    assert set(group) == {"name", "rules"} and len(group["rules"]) >= 5
    for rule in group["rules"]:
        assert {"alert", "expr"} <= set(rule) <= {"alert", "expr", "for", "annotations"}
        assert re.search(rf'kernelstream_\w+|up{{job="{job["job_name"]}"}}', rule["expr"])
        assert re.fullmatch(r"\d+m", rule.get("for", "1m")) and rule["expr"].count("(") == rule["expr"].count(")")
        assert all(isinstance(text, str) for text in rule.get("annotations", {}).values())


def test_the_unit_of_systemd_is_one_and_starts_the_command():
    ((shown,),) = (block.values for block in blocks("ini"))
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(shown)  # which refuses what is no section or is said twice
    assert unit.sections() == ["Unit", "Service", "Install"]
    check_options(unit["Service"]["ExecStart"])
    variable, _, directory = unit["Service"]["Environment"].partition("=")
    assert variable in (ROOT / "src/kernelstream/numerics/cache.py").read_text()
    assert directory == f"/var/cache/{unit['Service']['CacheDirectory']}"
    # The store lies in the one directory that systemd lets the service write.
    assert f"--store /var/lib/{unit['Service']['StateDirectory']}" in unit["Service"]["ExecStart"]


def test_metrics_of_the_service_are_those_that_prometheus_finds(service):
    """All that are told are there, and all that are there are told."""
    with urllib.request.urlopen(f"{service.url}/metrics") as answer:
        said = answer.read().decode()
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", said, re.M))
    there = {name for name in kinds if not name.endswith("_created")}
    told = set(re.findall(r"\bkernelstream_\w+", SERVING))
    assert told == {name if name.endswith("_total") or kinds[name] != "counter" else f"{name}_total" for name in there}


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
