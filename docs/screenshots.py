"""Pictures of the report: those of the README into docs/report/, or, into a folder that is named, every part of it at
both widths in both themes, to be looked at. `make screenshots STORE=runs`, or `docs/screenshots.py STORE FOLDER`.
"""

import base64
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

WIDTHS = {"desktop": (1200, 800), "phone": (390, 800)}
# What to show: an element to begin at, and how far down to go from there.
PARTS = {"overview": "header", "figures": "#figures .card", "inside": "#inside", "compare": "#compare .card:last-child"}
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
            for theme in ("light", "dark"):
                browser.get(path.as_uri())
                if theme == "dark":
                    browser.execute_script("document.getElementById('theme').click()")
                browser.execute_script("for (const chart of coexplore.charts) chart.draw()")
                time.sleep(0.5)  # heat maps are drawn in several goes
                for part, selector in PARTS.items():
                    if folder or f"{part}-{size}-{theme}" in README:
                        shoot(browser, selector, width, height, out / f"{part}-{size}-{theme}.png")


def shoot(browser, selector, width, height, path):
    script = "return document.querySelector(arguments[0]).getBoundingClientRect().top + window.scrollY"
    top = max(0, browser.execute_script(script, selector) - 12)
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    made = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(made["data"]))
    print(path)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: docs/screenshots.py STORE [FOLDER]")
    main(*sys.argv[1:])
