"""The page of a service, in a real browser: what it shows of real models, and what it does not let through."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from kernelstream.report.plots import DARK, LIGHT

pytest.importorskip("fastapi", reason="pip install kernelstream[serve]")
pytest.importorskip("selenium", reason="pip install selenium")
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="no chromium or no chromedriver: apt-get install chromium chromium-driver"
)

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)
DESK, PHONE = (1280, 900), (390, 844)
IMAGE = "<img src=x onerror=\"document.title='broken'\">"
SCRIPT = '"><script>document.title="broken"</script>'
COMMAND = [sys.executable, "-m", "kernelstream"]


class Service:
    """A process that serves a directory."""

    def __init__(self, store, port=0):
        command = [*COMMAND, "serve", "--store", str(store), "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().rpartition(" ")[2].strip()
        assert self.url.startswith("http://")
        self.port = urlsplit(self.url).port
        self.client = httpx.Client(base_url=self.url, timeout=120)

    def make(self, name, task, **spec):
        made = self.client.put(f"/v2/models/{name}", json={"task": task, "algorithm": "fogd", **spec})
        assert made.status_code == 201, made.text

    def learn(self, name, rows, labels):
        learned = self.client.post(f"/v2/models/{name}/learn", json={"rows": rows, "labels": labels})
        assert learned.status_code == 200, learned.text

    def stop(self):
        self.client.close()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def serving(store, port=0):
    service = Service(store, port)
    try:
        yield service
    finally:
        service.stop()


def payments(n, *, turned, seed=0):
    """Rows with names, a word and a rule that is turned round at a drift."""
    rng = np.random.default_rng(seed)
    amounts, hours, countries = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n)
    rows = [
        {"amount": float(amount), "hour": float(hour), "country": ("PT", "SE", "JP")[country]}
        for amount, hour, country in zip(amounts, hours, countries, strict=True)
    ]
    positive = (amounts + np.where(countries == 1, 0.7, -0.3) > 0) != turned
    return rows, ["fraud" if label else "fine" for label in positive]


def waves(n, seed=0):
    """Rows without names, and a curve to learn."""
    X = np.random.default_rng(seed).uniform(-2, 2, size=(n, 2))
    return X.tolist(), (np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]).tolist()


def fill(service):
    """Two models, one of which saw a drift."""
    service.make("payments", "binary", classes=["fine", "fraud"])
    service.make("waves", "regression")
    for start, turned in ((0, False), (1, False), (2, True), (3, True)):
        service.learn("payments", *payments(1000, turned=turned, seed=start))
    service.learn("waves", *waves(3000))
    kept = service.client.post("/v2/models/waves/snapshots", json={"name": "before-friday"})
    assert kept.status_code == 201
    rows, _ = payments(3, turned=True, seed=9)
    shown = service.client.post("/v2/models/payments/predict", json={"rows": rows, "ids": ["a", "b", "c"]})
    assert shown.status_code == 200


class Page:
    """A browser, and what the tests ask of it."""

    def __init__(self, profile):
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER, log_output=subprocess.DEVNULL))

    def open(self, url, size=DESK, scheme="light"):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size is PHONE},
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get(url)

    def run(self, script, *given):
        return self.driver.execute_script(script, *given)

    def until(self, found, seconds=30):
        return WebDriverWait(self.driver, seconds, 0.1).until(lambda _: found())

    def text(self, selector):
        """What can be read there."""
        script = "const e = document.querySelector(arguments[0]); return e?.checkVisibility() ? e.innerText : ''"
        return self.run(script, selector)

    def shows(self, selector, words, seconds=30):
        self.until(lambda: words in self.text(selector), seconds)

    def attribute(self, selector, name):
        """Found and read by one script, between two drawings of a chart: an element that is kept may be replaced."""
        return self.run("return document.querySelector(arguments[0]).getAttribute(arguments[1])", selector, name)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def act(self, selector, action):
        """What a person does to what stands there, which may be drawn anew between being found and that."""

        def done():
            try:
                action(self.find(selector))
            except StaleElementReferenceException:
                return False
            return True

        self.until(done)

    def press(self, selector, *keys):
        self.act(selector, lambda element: element.send_keys(*keys))

    def click(self, selector):
        self.act(selector, lambda element: element.click())

    def fact(self, model, name):
        """What stands beside a name in a model's section."""
        script = """
            const list = [...document.querySelectorAll(`[aria-labelledby="model-${arguments[0]}"] .facts div`)];
            return list.find((fact) => fact.querySelector("dt").textContent.startsWith(arguments[1]))
                ?.querySelector("dd").innerText ?? "";"""
        return self.run(script, model, name)

    def errors(self):
        """What the console holds since it was asked before, but for what a script logs on purpose."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def focused(self):
        return self.run("return document.activeElement.tagName + '#' + document.activeElement.id")

    def asked(self):
        """The addresses that were asked for since they were asked before."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                found.append(message["params"].get("request", message["params"])["url"])
        return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Page(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()


@pytest.fixture
def page(browser):
    browser.open("about:blank")  # no page of a service that a test before has stopped
    browser.errors(), browser.asked()
    return browser


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("store") / "two") as service:
        fill(service)
        yield service


@pytest.fixture
def bare(tmp_path):
    with serving(tmp_path / "store") as service:
        yield service


def described(service, name):
    return service.client.get(f"/v2/models/{name}").json()


def watch(page, service, *, size=DESK, scheme="light"):
    page.open(service.url, size, scheme)
    page.shows("#status", "Live")


def type_row(page, model, *values):
    """Type a row into a model's form, with the keyboard alone from the first field on."""
    fields = page.driver.find_elements(By.CSS_SELECTOR, f"[aria-label='Try {model}'] :is(input, textarea)")
    assert len(fields) == len(values)
    for field, value in zip(fields, values, strict=True):
        field.clear()
        field.send_keys(value)
    fields[-1].send_keys(Keys.TAB, Keys.SPACE)  # the button comes next


def answer(page, model):
    return page.text(f"[aria-label='Try {model}'] .answer")


def test_the_page_shows_what_the_service_tells_of_each_model(page, service):
    watch(page, service)
    page.until(lambda: page.fact("waves", "Snapshots"))
    for name, metric in (("payments", "Mistake rate"), ("waves", "RMSE")):
        told = described(service, name)
        share = name == "payments"
        for which, label in (("all", "all rows"), ("newest", "newest 500")):
            value = told["error"][which]
            shown = page.fact(name, f"{metric}, {label}")
            assert shown == (f"{100 * value:.2f} %" if share else f"{value:.5g}")
        assert page.fact(name, "Rows learned") == f"{told['rows_learned']:,}"
        assert page.fact(name, "Size").startswith(f"{told['size']:,} features")
        assert page.fact(name, "Log").startswith(f"{told['log']['records']:,} record")
        assert f"{told['task']} by fogd" in page.text(f"[aria-labelledby='model-{name}']")
    assert page.fact("payments", "Wait for labels") == "3 rows"
    assert page.fact("payments", "Given up") == "0 rows"
    assert "before-friday" in page.fact("waves", "Snapshots")
    times = page.text("#times")
    assert re.search(r"predict\s+[\d.]+ m?s\s+[\d.]+ m?s", times)
    assert re.search(r"learn\s+[\d.]+ m?s\s+[\d.]+ m?s", times)


def test_the_drift_is_marked_where_the_rule_was_turned_round(page, service):
    drifts = described(service, "payments")["error"]["drifts"]
    assert 2000 < drifts[0] < 2200
    assert described(service, "waves")["error"]["drifts"] == []  # errors that fall are no drift
    watch(page, service)
    chart = "[aria-labelledby='model-payments'] .chart svg"
    page.until(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, f"{chart} line.drift")) == len(drifts))
    assert f"drift at {drifts[-1]:,}" in page.run("return document.querySelector(arguments[0]).textContent", chart)
    # The mark stands where the axis has its row.
    script = """
        const texts = [...document.querySelectorAll(`${arguments[0]} text`)];
        return texts.map((text) => [text.textContent, +text.getAttribute("x")]);"""
    places = dict(page.run(script, chart))
    mark = float(page.attribute(f"{chart} line.drift", "x1"))
    expected = places["0"] + (places["4,000"] - places["0"]) * drifts[-1] / 4000
    assert mark == pytest.approx(expected, abs=0.5)


def test_the_lines_move_while_rows_are_learned(page, bare):
    bare.make("growing", "regression")
    bare.learn("growing", *waves(200))
    watch(page, bare)
    line = "[aria-labelledby='model-growing'] .chart path.newest"
    page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, line))
    before = page.attribute(line, "d")
    for seed in range(1, 4):
        bare.learn("growing", *waves(300, seed))
    page.until(lambda: page.fact("growing", "Rows learned") == "1,100")
    page.until(lambda: page.attribute(line, "d") != before)
    page.until(lambda: page.fact("growing", "Rows per second") not in ("0", "-", ""))
    assert "newest 500" in page.text("[aria-labelledby='model-growing'] .chart")
    bare.client.delete("/v2/models/growing")
    page.shows("#empty", "There is no model yet")
    assert page.text("#sections") == ""
    assert page.errors() == []


@pytest.mark.parametrize("model, values", [("payments", ("0.9", "-0.25", "SE")), ("waves", ("0.5, -1.5",))])
def test_the_form_says_what_the_service_predicts(page, service, model, values):
    watch(page, service)
    page.until(lambda: page.text(f"[aria-label='Try {model}']"))
    row = {"amount": 0.9, "hour": -0.25, "country": "SE"} if model == "payments" else [0.5, -1.5]
    told = service.client.post(f"/v2/models/{model}/predict", json={"rows": [row]}).json()
    type_row(page, model, *values)
    page.until(lambda: "Prediction" in answer(page, model))
    shown = answer(page, model)
    if model == "waves":
        assert shown == f"Prediction {told['predictions'][0]:.5g}"
        type_row(page, model, "0.5")
        page.until(lambda: "There are 1 numbers; this model takes 2." in answer(page, model))
        return
    assert f"Prediction {told['predictions'][0]}" in shown
    for name, chance in zip(told["classes"], told["probabilities"][0], strict=True):
        assert re.search(rf"{name}\s+{100 * chance:.1f} %", shown)
    widths = page.run("return [...document.querySelectorAll('.bars .track span')].map((s) => s.offsetWidth)")
    assert widths[0] > widths[1]


def test_a_name_decides_whether_a_row_is_a_list(page, bare):
    """One feature that is called x, and one that has no name, look the same to the inference protocol."""
    bare.make("named", "regression")
    bare.learn("named", [{"x": 1.0}, {"x": 2.0}], [1.0, 2.0])
    bare.make("plain", "regression")
    bare.learn("plain", [[1.0], [2.0]], [1.0, 2.0])
    assert described(bare, "named")["inputs"] == described(bare, "plain")["inputs"]
    watch(page, bare)
    for name in ("named", "plain"):
        page.until(lambda name=name: page.text(f"[aria-label='Try {name}']"))
        type_row(page, name, "1.5")
        page.until(lambda name=name: "Prediction" in answer(page, name))


def test_names_that_are_markup_stay_text(page, bare):
    bare.make("hostile", "multiclass", classes=[IMAGE, SCRIPT, "__proto__"])
    rows = [{SCRIPT: 0.1 * t, IMAGE: IMAGE, "__proto__": -0.1 * t} for t in range(30)]
    bare.learn("hostile", rows, [(IMAGE, SCRIPT, "__proto__")[t % 3] for t in range(30)])
    watch(page, bare, size=PHONE)
    page.until(lambda: page.text("[aria-label='Try hostile']"))
    assert SCRIPT in page.text("[aria-label='Try hostile']")
    names = [entry["name"] for entry in described(bare, "hostile")["inputs"]]
    assert set(names) == {SCRIPT, IMAGE, "__proto__"}
    type_row(page, "hostile", *(IMAGE if name == IMAGE else "0.5" for name in names))
    page.until(lambda: "Prediction" in answer(page, "hostile"))
    row = {name: IMAGE if name == IMAGE else 0.5 for name in names}
    told = bare.client.post("/v2/models/hostile/predict", json={"rows": [row]}).json()
    for name, chance in zip(told["classes"], told["probabilities"][0], strict=True):
        assert re.search(rf"{re.escape(name)}\s+{100 * chance:.1f} %", answer(page, "hostile"))
    assert page.run("return document.querySelectorAll('main img, main script').length") == 0
    assert page.driver.title == "kernelstream"
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert page.errors() == []


def test_nothing_is_wider_than_a_phone(page, bare):
    name = "a" * 64
    bare.make(name, "binary", classes=["no" * 100, "yes"])
    bare.learn(name, [{"f" * 150: 1.0, "g": "w" * 150}] * 2, ["no" * 100, "yes"])
    bare.make("empty", "regression")
    watch(page, bare, size=PHONE)
    page.until(lambda: page.text(f"[aria-label='Try {name}']"))
    type_row(page, name, "1", "w")
    page.until(lambda: "Prediction" in answer(page, name))
    assert page.run("return innerWidth") == PHONE[0]
    assert page.run("return document.documentElement.scrollWidth") <= PHONE[0]
    hanging = """
        const inside = (e) => e.closest(".scroll, pre");
        return [...document.querySelectorAll("body *")].filter((e) => !inside(e) &&
            e.getBoundingClientRect().right > innerWidth + 0.5).map((e) => e.outerHTML.slice(0, 80));"""
    assert page.run(hanging) == []


CONTRASTS = """
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const luminance = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const colour = parse(getComputedStyle(e).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()); ) {
        const e = node.parentElement;
        if (!node.textContent.trim() || !e.checkVisibility() || e.closest("title")) continue;
        const style = getComputedStyle(e);
        const colour = parse(e.closest("svg") ? style.fill : style.color);
        const [a, b] = [luminance(colour), luminance(behind(e))].sort((x, y) => y - x);
        found.push([node.textContent, (a + 0.05) / (b + 0.05)]);
    }
    return found;"""


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme, ink", [("light", LIGHT), ("dark", DARK)], ids=["light", "dark"])
def test_letters_stand_out_in_the_reports_colours(page, service, scheme, ink, size):
    watch(page, service, size=size, scheme=scheme)
    page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, "text.drift"))
    type_row(page, "payments", "0.9", "-0.25", "SE")
    page.until(lambda: "Prediction" in answer(page, "payments"))
    found = page.run(CONTRASTS)
    assert {"kernelstream", "all rows", "newest 500", "Predict", "Live"} <= {text for text, _ in found}
    assert [pair for pair in found if pair[1] < 4.5] == []
    names = ("paper", "text", "line", "c0", "c1", "c2", "c3")
    colours = [page.run(f"return getComputedStyle(document.body).getPropertyValue('--{name}')") for name in names]
    assert colours == [ink.paper, ink.text, ink.faint, *ink.curves[:4]]
    body = page.run("return getComputedStyle(document.body).backgroundColor")
    assert [int(part) for part in re.findall(r"\d+", body)] == [int(ink.paper[i : i + 2], 16) for i in (1, 3, 5)]


def test_points_are_read_out_by_the_keyboard(page, service):
    watch(page, service)
    chart = "[aria-labelledby='model-payments'] .chart svg"
    page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, f"{chart} path.all"))
    assert "after 4,000 rows" in page.attribute(chart, "aria-label")
    page.run("document.querySelector(arguments[0]).focus()", chart)
    page.press(chart, Keys.ARROW_LEFT)
    error = described(service, "payments")["error"]
    readout = "[aria-labelledby='model-payments'] .readout"
    page.shows(
        readout, f"At row 4,000: {100 * error['all']:.2f} % of all, {100 * error['newest']:.2f} % of the newest."
    )
    page.press(chart, Keys.ARROW_LEFT)
    points = service.client.get("/v2/models/payments/history").json()["points"]
    rows, total, newest = next(point for point in reversed(points) if point[0] < 4000)
    page.shows(readout, f"At row {rows:,.0f}: {100 * total:.2f} % of all, {100 * newest:.2f} % of the newest.")


def test_every_control_has_a_name(page, service):
    watch(page, service)
    page.until(lambda: page.text("[aria-label='Try waves']"))
    script = """
        return [...document.querySelectorAll("input, textarea, button, a")].filter((e) => e.checkVisibility() &&
            !(e.labels?.length ? e.labels[0].innerText : e.innerText).trim()).map((e) => e.outerHTML);"""
    assert page.run(script) == []
    assert page.run("return [...document.querySelectorAll('h1, h2, h3')].map((e) => e.tagName).join(' ')").startswith(
        "H1"
    )
    assert page.attribute("#status", "aria-live") == "polite"


def test_an_empty_service_says_how_the_first_model_is_made(page, bare):
    """What the page says is done, by a shell; only the learner is one that compiles fast."""
    if shutil.which("curl") is None:
        pytest.skip("no curl: apt-get install curl")
    watch(page, bare)
    page.shows("#empty", "curl -X PUT")
    lines = page.text("#first").replace('"task":', '"algorithm":"fogd","task":')
    subprocess.run(["sh", "-ec", lines.replace("curl ", "curl -sSf ")], check=True, capture_output=True, timeout=120)
    page.until(lambda: page.fact("payments", "Rows learned") == "2")
    assert page.text("#empty") == ""


def test_a_service_with_tokens_is_watched_with_one(page, tmp_path):
    made = [*COMMAND, "token", "make", "page", "--scope", "predict", "--store", str(tmp_path / "store")]
    token = re.search(r"ks_\S+", subprocess.run(made, check=True, capture_output=True, text=True).stdout).group()
    admin = [*made[:-4], "--scope", "admin", *made[-2:]]
    admin[admin.index("page")] = "maker"
    key = re.search(r"ks_\S+", subprocess.run(admin, check=True, capture_output=True, text=True).stdout).group()
    with serving(tmp_path / "store") as service:
        service.client.headers["Authorization"] = f"Bearer {key}"
        service.make("guarded", "regression")
        service.learn("guarded", *waves(50))
        page.open(service.url)
        page.shows("#ask", "A token is needed")
        assert "guarded" not in page.text("body")
        assert page.focused() == "INPUT#token"
        page.press("#token", "ks_wrong", Keys.ENTER)
        page.shows("#asked", "This token is not known here.")
        page.press("#token", token, Keys.ENTER)
        page.shows("#status", "Live")
        page.until(lambda: page.fact("guarded", "Rows learned") == "50")
        page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, ".chart path.all"))
        type_row(page, "guarded", "0.5 1")
        page.until(lambda: "Prediction" in answer(page, "guarded"))
        assert not page.find("#ask").is_displayed()
        page.driver.refresh()  # kept while the tab is
        page.shows("#status", "Live")
        assert page.run("return [localStorage.length, document.cookie]") == [0, ""]
        page.click("#forget")
        page.shows("#ask", "A token is needed")
        # All that the console holds is the browser's own word for the answers that asked for a token.
        assert [error for error in page.errors() if "401 (Unauthorized)" not in error] == []


def test_a_page_whose_service_is_gone_says_so_and_comes_back(page, tmp_path):
    with serving(tmp_path / "store") as service:
        service.make("lasting", "regression")
        service.learn("lasting", *waves(100))
        watch(page, service)
        page.until(lambda: page.fact("lasting", "Rows learned") == "100")
    page.shows("#status", "Not connected")
    assert "lasting" in page.text("#sections")  # what was known is still shown
    with serving(tmp_path / "store", service.port) as service:
        page.shows("#status", "Live")
        service.learn("lasting", *waves(20, 1))
        page.until(lambda: page.fact("lasting", "Rows learned") == "120")


def test_the_description_of_the_interface_is_shown(page, service):
    page.open(f"{service.url}/docs")
    page.shows("#swagger-ui", "/v2/models/{name}/learn")
    page.click(".opblock-summary-control, .opblock-summary")
    page.shows(".opblock.is-open", "Predict, then learn, one row after the other.")
    assert "amount" in page.text(".opblock.is-open .body-param__example, .opblock.is-open .example")
    assert page.errors() == []
    assert elsewhere(page, service) == set()


def elsewhere(page, service):
    """Hosts that were asked, but for the service's."""
    asked = [urlsplit(url) for url in page.asked()]
    assert any(url.netloc == urlsplit(service.url).netloc for url in asked)
    return {url.netloc for url in asked if url.scheme not in ("data", "chrome")} - {urlsplit(service.url).netloc}


def test_nothing_is_asked_of_others_and_the_console_stays_empty(page, service):
    watch(page, service)
    page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, "text.drift"))
    type_row(page, "payments", "1", "", "PT")
    page.until(lambda: "Prediction" in answer(page, "payments"))
    assert page.errors() == []
    assert elsewhere(page, service) == set()


def test_the_policy_stops_a_script_that_was_smuggled_in(page, service):
    watch(page, service)
    page.run("""
        const image = `<img src=x onerror="document.title='smuggled'">`;
        document.querySelector("main").insertAdjacentHTML("beforeend", image);
        const script = document.createElement("script");
        script.textContent = "document.title = 'smuggled'";
        document.body.append(script);""")
    page.until(lambda: sum("Content Security Policy" in error for error in page.errors()) > 0)
    assert page.driver.title == "kernelstream"
