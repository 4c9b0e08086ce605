"""The page of a service, in a real browser: what it shows of real models, and what it does not let through."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

from kernelstream.report.plots import DARK, LIGHT

pytest.importorskip("fastapi", reason="pip install kernelstream[serve]")
pytest.importorskip("selenium", reason="pip install selenium")
from selenium import webdriver
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
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def shows(self, selector, words, seconds=30):
        self.until(lambda: words in self.text(selector), seconds)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

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

    def asked(self):
        """The addresses that were asked for since they were asked before."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                found.append(message["params"].get("request", message["params"])["url"])
        return found
