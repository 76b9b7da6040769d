"""A real browser without a screen, for tests of pages."""

import contextlib
import json
import shutil

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
PROGRAMS = shutil.which("chromium"), shutil.which("chromedriver")

needs_browser = pytest.mark.skipif(
    None in PROGRAMS, reason="chromium and chromedriver are not installed; on Debian: apt-get install chromium-driver"
)


class Page:
    """A page that is open."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address, width):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(address)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def errors(self):
        """What the console complains of."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """All that was asked for, but for what a page holds itself."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith("data:")]


@contextlib.contextmanager
def opened():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.binary_location = PROGRAMS[0]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(PROGRAMS[1]))
    driver.set_script_timeout(120)
    try:
        yield Page(driver)
    finally:
        driver.quit()
