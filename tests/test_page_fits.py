"""The report at the sizes of a desk and of a phone, dark and light: nothing is cut off, nothing lies over anything."""

import itertools

import pytest
from browser import resize
from test_report import SMALL, opened

from coexplore import grid, train
from coexplore.report import html
from coexplore.report.data import report
from coexplore.store import read

SIZES = {"desk": (1400, 900), "phone": (390, 844)}
# The texts that ECharts has drawn into each canvas, each row of them with its box, and where the plot itself is.
# ECharts takes a text for as tall as its capitals: a little more is needed above and below.
TEXTS = """
const boxed = ({ x, y, width, height }) => [x, y, width, height];
const row = (one) => {
  const box = one.getBoundingRect().clone();
  if (one.transform) box.applyTransform(one.transform);
  return [one.style.text, box.x, box.y - 2, box.width, box.height + 4];
};
return [...coexplore.charts].map(({ name, drawn, place }) => ({
  name, width: place.clientWidth, height: place.clientHeight,
  heat: drawn.getOption().series.some((one) => one.type === "heatmap"),
  plot: boxed(drawn.getModel().getComponent("grid").coordinateSystem.getRect()),
  texts: drawn.getZr().storage.getDisplayList(true)
    .filter((one) => one.type === "tspan" && one.style.text.trim() && !one.invisible).map(row),
}));
"""
# Words of the page itself that stand in a row.
WORDS = """
const shown = `header a, header button, header strong, .controls span, .controls legend, .take button, .take summary,
  .legend button, .select, h1, h2, figcaption`;
return [...document.querySelectorAll(shown)].filter((one) => one.checkVisibility()).map((one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return [one.textContent.slice(0, 40), x, y + scrollY, width, height];
}).filter(([, , , width]) => width);
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The report of a user's own store, of two settings."""
    folder = tmp_path_factory.mktemp("own")
    runs = grid(SMALL, coupling=[0, 0.5], seed=range(3))
    train(runs, engine="cpu", progress=False, store=folder / "store", snapshots=20)
    made = folder / "report.html"
    made.write_text(html.page(report(read(folder / "store")[0], str(folder / "store"))).html)
    return made


@pytest.fixture
def sized(browser):
    yield lambda size: resize(browser, *SIZES[size])
    resize(browser, 1200)


def over_one_another(boxes, slack=1.0):
    """Pairs of texts whose boxes overlap by more than a hair."""
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes, 2)
        if min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]) > slack
        and min(a[2] + a[4], b[2] + b[4]) - max(a[2], b[2]) > slack
    ]


def check(browser, width, height):
    size = "const all = document.documentElement; return [all.scrollWidth, all.scrollHeight]"
    across, down = browser.execute_script(size)
    assert across == width
    assert down <= 4 * height  # with everything folded that can be
    words = browser.execute_script(WORDS)
    assert not over_one_another(words)
    assert not [word for word in words if word[1] < 0 or word[1] + word[3] > width + 1]
    charts = browser.execute_script(TEXTS)
    for chart in charts:
        texts = chart["texts"]
        assert len(texts) > 4, chart["name"]
        assert not over_one_another(texts), chart["name"]
        for text, x, y, w, h in texts:
            inside = x >= -1 and y >= -1 and x + w <= chart["width"] + 1 and y + h <= chart["height"] + 1
            assert inside, (chart["name"], text)
        if chart["heat"]:
            assert not [one for one in texts if over_one_another([one, ("the plot", *chart["plot"])])], chart["name"]
    return charts


OTHERS = [pytest.param(*view, marks=pytest.mark.learning) for view in (("desk", True), ("phone", False))]


@pytest.mark.parametrize(
    ("size", "dark"),
    [("desk", False), ("phone", True), *OTHERS],
    ids=lambda x: x if isinstance(x, str) else "dark" if x else "light",
)
def test_no_label_lies_over_another_and_nothing_is_cut_off(browser, page, own, sized, size, dark):
    sized(size)
    views = [(own, view) for view in ("runs", "inside")]
    views += [(page, view) for view in ("runs", "figures", "claims", "inside", "fig2", "figa2", "compute", "expected")]
    drawn = 0
    for path, view in views:
        opened(browser, path, view)
        if dark:
            browser.execute_script("document.getElementById('theme').click()")
        drawn += len(check(browser, *SIZES[size]))
    assert drawn == 18


@pytest.mark.parametrize("size", SIZES)
def test_the_first_chart_is_on_the_first_screen_of_a_users_own_store(browser, own, sized, size):
    sized(size)
    opened(browser, own)
    chart = "const { top, bottom } = document.querySelector('.plot').getBoundingClientRect(); return [top, bottom]"
    top, bottom = browser.execute_script(chart)
    assert 0 < top < bottom <= SIZES[size][1]
    assert browser.execute_script("return [...coexplore.charts][0].name") == "compare"


def test_labels_say_what_differs_and_numbers_are_a_persons(browser, own):
    opened(browser, own)
    chart = browser.execute_script(TEXTS)[0]
    assert {"coupling=0", "coupling=0.5"} <= {text for text, *_ in chart["texts"]}
    assert "Algorithm 1 · boltzmann" in browser.execute_script("return document.querySelector('.first p').textContent")
    assert "claims" not in browser.execute_script("return document.querySelector('#nav').textContent").lower()
    write = "return [0.0625001, -0.0004, 0.00049999, 123.456, null].map(coexplore.number)"
    assert browser.execute_script(write) == ["0.063", "0.000", "0.000", "123.5", "–"]


def test_no_band_goes_beyond_what_is_possible(browser, page):
    """Rewards of the multiplexer lie between those of a guess and 1, and so does one sd on either side."""
    opened(browser, page, "fig2")
    series = (
        "return [...coexplore.charts][0].drawn.getOption().series.filter((one) => one.stack).map((one) => one.data)"
    )
    parts = browser.execute_script(series)
    highs = [low[1] + rest[1] for below, above in zip(parts[::2], parts[1::2], strict=True)
             for low, rest in zip(below, above, strict=True)]  # fmt: skip
    assert len(highs) == 9 * 125
    assert max(highs) <= 1 + 1e-9
    assert min(y for below in parts[::2] for _, y in below) >= -1e-9
