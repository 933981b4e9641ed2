"""A headless Chromium, as Debian packages it: nothing is downloaded."""

import contextlib
import shutil

PACKAGES = "Debian's chromium and chromium-driver"


def missing():
    """None, or why there is no browser."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {' and no '.join(absent)} here: install {PACKAGES}" if absent else None


@contextlib.contextmanager
def chromium(width=1200, height=900):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        resize(driver, width, height)
        yield driver
    finally:
        driver.quit()


def resize(driver, width, height=900, scale=1):
    """The page's own size, however small: a window has a least width."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def offline(driver, off=True):
    driver.execute_cdp_cmd("Network.enable", {})
    limits = {"offline": off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", limits)
