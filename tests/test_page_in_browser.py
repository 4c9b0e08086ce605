"""The page as a browser draws it: in light and dark, on a desk and on a phone, with nothing run and nothing cut off."""

import contextlib
import dataclasses
import html
import json
import re
import shutil
import subprocess
import zlib

import numpy as np
import pytest
from matplotlib.image import imread

from kernelstream import Binary, Learner
from kernelstream.evaluate.run import prequential
from kernelstream.report.page import write_page
from kernelstream.report.plots import DARK, LIGHT
from kernelstream.sources import ArraySource

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome is installed")

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=2000"),
)
# Blink's own numbers.
SCHEMES = {DARK: 0, LIGHT: 1}
DESK, PHONE = (1200, 2400), (390, 4400)


@pytest.fixture(scope="module")
def traces():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    source = ArraySource(X, np.sign(X[:, 0] * X[:, 1]), name="saddle")
    return [prequential(Learner(algorithm, Binary([-1.0, 1.0])), source) for algorithm in ("fogd", "ogd")]


@pytest.fixture(scope="module")
def page(traces, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(path, traces, title="Two learners", lead="One data set.", facts={"command": "kernelstream compare"})
    return path


def browse(page, *options):
    command = [BROWSER, *OPTIONS, f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)


def picture(page, ink, size):
    """The pixels of a screenshot, (height, width, 3) from 0 to 255."""
    file = page.parent / "screen.png"
    scheme = f"--blink-settings=preferredColorScheme={SCHEMES[ink]}"
    browse(page, scheme, f"--window-size={size[0]},{size[1]}", f"--screenshot={file}")
    return np.rint(255 * imread(file)[:, :, :3]).astype(int)


def count(pixels, colour):
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(pixels - wanted).max(axis=2) <= 3).sum())


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
def test_a_browser_draws_the_page_in_the_colours_that_are_preferred(page, ink, size):
    pixels = picture(page, ink, size)
    assert pixels.shape[:2] == size[::-1]
    other = DARK if ink is LIGHT else LIGHT
    assert count(pixels, ink.paper) > 0.7 * pixels.shape[0] * pixels.shape[1]
    assert count(pixels, other.paper) < 0.02 * pixels.shape[0] * pixels.shape[1]
    # Letters, and curves of both learners in the half of the page that holds pictures alone.
    assert count(pixels, ink.text) > 1000
    content = np.flatnonzero((np.abs(pixels - pixels[0, 0]).max(axis=2) > 30).any(axis=1))
    half = pixels[(content[0] + content[-1]) // 2 : content[-1]]
    assert min(count(half, colour) for colour in ink.curves[:2]) > 300
    for edge in (pixels[:, :8], pixels[:, -8:]):
        assert (edge == edge[0, 0]).all()  # nothing hangs over


def test_paper_is_white_whatever_the_screen_prefers(page):
    file = page.parent / "report.pdf"
    browse(page, f"--blink-settings=preferredColorScheme={SCHEMES[DARK]}", f"--print-to-pdf={file}")
    colours = set()
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", file.read_bytes(), re.DOTALL):
        with contextlib.suppress(zlib.error):  # fonts and images, which are not drawing commands
            for three in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\b", zlib.decompress(stream)):
                colours.add("#" + "".join(f"{round(255 * float(part)):02x}" for part in three))
    assert {LIGHT.text, *LIGHT.curves[:2]} <= colours
    assert colours.isdisjoint({DARK.paper, DARK.text, *DARK.curves})


def test_a_browser_sees_the_table_and_pictures_that_have_a_size(page, traces):
    dom = browse(page, "--dump-dom").stdout
    table = re.search(r"<table.*?</table>", dom, re.DOTALL).group()
    for trace in traces:
        assert f">{trace.algorithm}</th>" in table
        assert f"{100 * trace.last.metrics['mistake_rate']:.2f} %" in table
    assert dom.count("<figure") == 5


def test_the_policy_stops_a_script_that_was_smuggled_in(page):
    """The same browser runs the script when the policy is taken out, so the test would notice one that is void."""
    script = "<script>document.title = 'smuggled'</script></body>"
    text = page.read_text().replace("</body>", script)
    guarded, open_to_all = page.parent / "guarded.html", page.parent / "open.html"
    guarded.write_text(text)
    open_to_all.write_text(re.sub(r"<meta http-equiv[^>]*>", "", text))
    assert "<title>Two learners</title>" in browse(guarded, "--dump-dom").stdout
    assert "<title>smuggled</title>" in browse(open_to_all, "--dump-dom").stdout


LOOK = """<script>addEventListener('load', () => {
  const cut = [...document.querySelectorAll('td, th, dd, p, h1, h2, img')].filter(e => e.offsetWidth > 0 &&
    (e.getBoundingClientRect().right > innerWidth + 0.5 || e.scrollWidth > e.clientWidth + 1));
  const cells = [...document.querySelectorAll('td')].map(e => getComputedStyle(e, '::before').content);
  parent.document.title = JSON.stringify({width: innerWidth, page: document.documentElement.scrollWidth,
    cut: cut.map(e => e.outerHTML.slice(0, 80)), named: cells.filter(c => c !== 'none').length, cells: cells.length});
})</script></body>"""


@pytest.mark.parametrize("size", [DESK, PHONE, (320, 4400)], ids=["desk", "phone", "small phone"])
def test_no_number_is_cut_off_and_on_a_phone_each_says_what_it_is(page, size):
    """Measured by a script in the page, without the policy that would stop it, in a frame: no window is that narrow."""
    seen = page.parent / "seen.html"
    within = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text()).replace("</body>", LOOK)
    frame = f'<iframe width="{size[0]}" height="{size[1]}" style="border: 0" srcdoc="{html.escape(within)}"></iframe>'
    seen.write_text(f"<!DOCTYPE html><title>nothing</title>{frame}")
    dom = browse(seen, f"--window-size={DESK[0] + 100},{DESK[1]}", "--dump-dom").stdout
    found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom).group(1)))
    assert (found["width"], found["page"], found["cut"]) == (size[0], size[0], [])
    assert found["cells"] > 10 and found["named"] == (found["cells"] if size is not DESK else 0)


HIGH = """<script>addEventListener('load', () => {
  const cells = [...document.querySelectorAll('tbody tr td:nth-child(2)')];
  const seen = [...document.querySelectorAll('td')].filter(e => e.offsetHeight > 0);
  parent.document.title = JSON.stringify({heights: cells.map(e => e.getBoundingClientRect().height),
    shown: seen.length, empty: seen.filter(e => e.textContent === '-').length});
})</script></body>"""


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_on_a_phone_what_looks_at_no_row_has_its_number_beside_its_name_and_nothing_empty(traces, tmp_path, size):
    naive = [dataclasses.replace(traces[0], algorithm=name) for name in ("majority so far", "no change")]
    for one in naive:
        one.last = one.last._replace(metrics={"mistake_rate": 0.9076})
    write_page(tmp_path / "p.html", traces, title="", lead="", facts={}, naive=naive)
    within = re.sub(r"<meta http-equiv[^>]*>", "", (tmp_path / "p.html").read_text()).replace("</body>", HIGH)
    frame = f'<iframe width="{size[0]}" height="4000" style="border: 0" srcdoc="{html.escape(within)}"></iframe>'
    (tmp_path / "seen.html").write_text(f"<!DOCTYPE html><title>nothing</title>{frame}")
    dom = browse(tmp_path / "seen.html", f"--window-size={DESK[0] + 100},{DESK[1]}", "--dump-dom").stdout
    found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom).group(1)))
    assert len(found["heights"]) == 4 and max(found["heights"]) - min(found["heights"]) < 1.0
    assert (found["shown"] > 2 * len(traces)) and (found["empty"] > 0) == (size is DESK)
