"""Pictures of the report: those of the README into docs/report/, or, into a folder that is named, every part of it at
both widths in both themes, to be looked at. `make screenshots STORE=runs`, or `docs/screenshots.py STORE FOLDER`.
"""

import base64
import itertools
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser import chromium, missing, offline, resize

from coexplore.report.data import report
from coexplore.report.html import page
from coexplore.store import read

WIDTHS = {"desktop": (1400, 900), "phone": (390, 844)}
PARTS = {"overview": "runs", "figures": "fig2", "inside": "inside", "claims": "claims"}  # which view each shows
README = {"overview-desktop-light", "figures-desktop-dark", "inside-desktop-light", "figures-phone-light"}


def main(store, folder=None):
    if why := missing():
        sys.exit(why)
    results, _ = read(store)
    out = Path(folder or HERE / "report")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        path = Path(made) / "report.html"
        path.write_text(page(report(results, Path(store).name)).html)
        offline(browser)
        for size, (width, height) in WIDTHS.items():
            resize(browser, width, height)
            for theme, (part, view) in itertools.product(("light", "dark"), PARTS.items()):
                name = f"{part}-{size}-{theme}"
                if folder or name in README:
                    shoot(browser, f"{path.as_uri()}#{view}", theme == "dark", out / f"{name}.png")


def shoot(browser, address, dark, path):
    """Its first screen."""
    browser.get("about:blank")
    browser.get(address)
    if dark:
        browser.execute_script("document.getElementById('theme').click()")
    browser.execute_script("for (const chart of coexplore.charts) chart.draw(); window.scrollTo(0, 0)")
    time.sleep(0.5)  # heat maps are drawn in several goes
    made = browser.execute_cdp_cmd("Page.captureScreenshot", {})
    path.write_bytes(base64.b64decode(made["data"]))
    print(path)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: docs/screenshots.py STORE [FOLDER]")
    main(*sys.argv[1:])
