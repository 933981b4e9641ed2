"""The report in a real browser: it opens, is drawn, can be turned, and nothing in a store can make it misbehave."""

import hashlib
import html.parser as html_parser
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from browser import offline

from coexplore import Boltzmann, Recurrent, Reinforce, Result, Run, grid
from coexplore.cli.report import report_command
from coexplore.network import Params
from coexplore.paper.figures import FIGURES
from coexplore.report import html
from coexplore.report.data import report
from coexplore.report.settings import Settings
from coexplore.results.listing import seed_summary
from coexplore.stats.estimates import difference, summary
from coexplore.stats.seed_summary import ALL_NOTE, FEW_NOTE, FROZEN_NOTE, METHOD
from coexplore.store import pack, read
from coexplore.store.sealed import seal
from coexplore.tasks.multiplexer import Multiplexer

SMALL = Run(rule=Boltzmann(), task=Multiplexer(bits=1), hidden=(5,), episodes=1600)
HOSTILE = (
    "<img src=x onerror='window.hacked=1'></script><script>window.hacked=1</script><!-- {{data}} &lt;b&gt;"
    '"\' onload="window.hacked=1" `${window.hacked=1}` \u202e'
)


def opened(browser, path, view="runs"):
    """A view of it, every chart drawn; of a run with all there can be inside it."""
    offline(browser)
    browser.get("about:blank")  # or a new view alone would not make the page anew
    browser.get(f"{path.as_uri()}#{view}")
    browser.execute_script("""
      const runs = document.querySelector("#inside select");
      if (runs) {
        runs.value = [...runs.options].findIndex((one) => one.text.startsWith("Algorithm 1"));
        runs.dispatchEvent(new Event("change"));
      }
      for (const chart of coexplore.charts) chart.draw();
    """)
    return browser


def of(browser, name, expression):
    """Something of a chart, `it` in the expression."""
    return browser.execute_script(
        f"const it = [...coexplore.charts].find((chart) => chart.name === '{name}'); return {expression}"
    )


def picture(browser, name):
    return of(browser, name, "it.place.querySelector('canvas').toDataURL()")


def colours(browser, name):
    """How many colours the chart's canvas has."""
    script = """(() => {
      const canvas = it.place.querySelector("canvas");
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      return new Set(new Uint32Array(pixels.buffer)).size;
    })()"""
    return of(browser, name, script)


def click(browser, card, text):
    script = """
    const inside = document.getElementById(arguments[0]);
    const all = [...inside.querySelectorAll("label, .legend button")];
    all.find((one) => one.textContent === arguments[1]).click();
    """
    browser.execute_script(script, card, text)


def test_the_page_opens_from_disk_with_the_network_off_and_every_chart_is_drawn(browser, page):
    expected = {"runs": {"compare", "seeds"}, "inside": {"weights", "W_rec", "firing", "critic", "energy"}}
    expected |= {name: {name} for name in ("fig2", "figa2", "compute", "expected", "depth-paper")}
    for view, charts in expected.items():
        opened(browser, page, view)
        names = set(browser.execute_script("return [...coexplore.charts].map((chart) => chart.name)"))
        assert names == charts
        assert all(colours(browser, name) > 3 for name in names)
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
        assert browser.get_log("browser") == []


def test_what_a_reader_turns_changes_the_chart(browser, page):
    opened(browser, page, "fig2")
    lines = "it.drawn.getOption().series.length"
    seen = [picture(browser, "fig2")]
    for text in ("bounded 95 %", "no band", "first quarter", "c = 0.25"):
        click(browser, "fig2", text)
        seen.append(picture(browser, "fig2"))
    assert len(set(seen)) == len(seen)
    assert of(browser, "fig2", lines) == 8
    opened(browser, page, "expected")
    bars = picture(browser, "expected")
    click(browser, "expected", "last quarter")
    assert picture(browser, "expected") != bars
    opened(browser, page, "figa2")
    assert of(browser, "figa2", lines) == 12
    slide = (
        "const s = document.querySelector('#figa2 input[type=range]'); s.value = 4; s.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(slide)
    assert of(browser, "figa2", lines) == 2
    assert browser.execute_script("return document.querySelector('#figa2 output').textContent") == "N = 64"


def test_everything_can_be_done_with_a_keyboard(browser, page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    opened(browser, page, "fig2")
    before = picture(browser, "fig2")
    line = browser.find_element(By.CSS_SELECTOR, "#fig2 .legend button")
    line.send_keys(Keys.SPACE)
    assert line.get_attribute("aria-pressed") == "false"
    assert picture(browser, "fig2") != before
    band = browser.find_element(By.CSS_SELECTOR, "#fig2 .choice input:checked")
    band.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script("return document.activeElement.value") == "interval"
    summary = browser.find_element(By.CSS_SELECTOR, "#fig2 summary")
    summary.send_keys(Keys.ENTER)
    details = browser.find_element(By.CSS_SELECTOR, "#fig2 details")
    assert WebDriverWait(browser, 20).until(lambda _: "first quarter" in details.text)  # filled once it has opened


def test_charts_have_words_and_numbers_to_take_away(browser, page):
    opened(browser, page, "fig2")
    assert "c = 0.25" in of(browser, "fig2", "it.place.getAttribute('aria-label')")
    rows = of(browser, "fig2", "it.csv()").splitlines()
    assert rows[0] == "setting,episodes,reward,sd,low,high"
    assert len(rows) == 1 + 9 * 125
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text())[1])
    line = data["figures"][0]["lines"][0]
    assert rows[1].split(",")[:3] == [line["label"], "32000", str(data["settings"][line["places"][0][1]]["mean"][0])]
    opened(browser, page, "expected")
    assert len(of(browser, "expected", "it.csv()").splitlines()) == 1 + 2 * 6 * 3
    opened(browser, page, "depth-paper")
    assert of(browser, "depth-paper", "it.csv()").startswith("line,L,chosen")
    note = "return document.querySelector('#depth-paper .faint').textContent"
    assert browser.execute_script(note) == "mean over 2 seeds · 1,000,000 episodes"


def test_it_goes_dark(browser, page):
    opened(browser, page, "fig2")
    light = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    chart = picture(browser, "fig2")
    browser.execute_script("document.getElementById('theme').click()")
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") != light
    assert picture(browser, "fig2") != chart


def spoiled(data):
    """The same with something hostile at the end of every string, and of every name."""
    if isinstance(data, str):
        return data + HOSTILE
    if isinstance(data, dict):
        return {name: spoiled(value) for name, value in data.items()}
    return [spoiled(value) for value in data] if isinstance(data, list | tuple) else data


def hostile(made):
    """A report in which all that can come from a store is hostile."""
    mine = {part: spoiled(made[part]) for part in ("about", "settings", "of_figures", "of_rules", "inside")}
    for one in mine["settings"] + mine["of_figures"]:
        one["words"] = {name + HOSTILE: value for name, value in one["words"].items()}
    for one in mine["inside"]:
        one |= {part: {name + HOSTILE: x for name, x in one[part].items()} for part in ("firing", "norms", "W_rec")}
    mine["about"]["engines"] = {name + HOSTILE: count for name, count in mine["about"]["engines"].items()}
    return {**made, **mine}


def test_what_a_store_says_is_text_and_nothing_of_it_runs(browser, store, tmp_path):
    results = read(store)[0]
    for result in results:
        result.provenance.update(dict.fromkeys(("machine", "finished"), HOSTILE))
    made = hostile(report(results, HOSTILE, problems=[HOSTILE]))
    (tmp_path / "page.html").write_text(html.page(made).html)
    for view, chart, least in (("runs", "compare", 20), ("inside", "weights", 5)):
        opened(browser, tmp_path / "page.html", view)
        browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        of(browser, chart, "it.drawn.dispatchAction({ type: 'showTip', x: 300, y: 150 })")
        shown = browser.execute_script("return document.getElementById('main').textContent")
        assert shown.count(HOSTILE.replace("\u202e", r"\u202e")) >= least
        assert not {"\u202e", "\u2066"} & set(shown)
        assert browser.execute_script("return window.hacked") is None
        assert browser.execute_script("return document.querySelectorAll('main img, main b').length") == 0
        assert browser.get_log("browser") == []


def test_no_text_becomes_markup_even_where_a_script_asks_for_it(browser, page):
    opened(browser, page)
    script = "try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); } catch (error) { return error.name; }"
    assert browser.execute_script(script) == "TypeError"
    browser.get_log("browser")  # which tells of it


class Tags(html_parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, attributes))

    handle_comment = handle_decl = lambda self, text: self.found.append(text)


def test_the_page_as_written_has_the_same_tags_whatever_a_store_says(store):
    made = report(read(store)[0], "store")
    written, spoilt = (html.page(one).html for one in (made, hostile(made)))
    assert Tags(spoilt).found == Tags(written).found
    told = json.loads(re.search(r'id="data">(.*?)</script>', spoilt)[1])
    assert told["about"]["store"] == "store" + HOSTILE.replace("\u202e", r"\u202e")


def test_the_pages_statistics_are_pythons(browser, page):
    opened(browser, page)
    rng = np.random.default_rng(0)
    for n, m, shift in ((5, 5, 0.1), (5, 7, 3.0), (10, 6, -0.2)):
        a, b = rng.normal(shift, 1, n).round(4), rng.normal(0, 0.3, m).round(4)
        ours = difference(a, b)
        for name, expected in {"difference": [ours.effect, ours.low, ours.high], "improvement": newcombe(a, b)}.items():
            theirs = browser.execute_script(f"return coexplore.{name}(...arguments)", a.tolist(), b.tolist())
            assert [theirs[key] for key in ("effect", "low", "high")] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def side_by_side(browser):
    """The cells of the table of the reader's runs, by heading."""
    script = """
    const texts = (row) => [...row.children].map((cell) => cell.innerText.replace(/\\s+/g, " ").trim());
    const [head, ...rows] = [...document.querySelectorAll("table.stacks tr")].map(texts);
    return rows.map((row) => Object.fromEntries(row.map((cell, i) => [head[i], cell])));"""
    return browser.execute_script(script)


def test_the_readers_runs_are_told_as_tables_tell_them(browser, tmp_path):
    """Five seeds; twenty of which three froze; three; and five of which all froze."""
    five = [made_up(run, r) for run, r in zip(grid(Run(), seed=range(5)), (0.76, 0.79, 0.80, 0.82, 0.84), strict=True)]
    rewards = [0.78 + 0.002 * i for i in range(17)] + [0.0] * 3
    twenty = grid(Run(rule=Recurrent()), seed=range(20))
    twenty = [made_up(run, r, r == 0.0) for run, r in zip(twenty, rewards, strict=True)]
    three = [made_up(run, 0.5 + run.seed / 10) for run in grid(Run(rule=Reinforce()), seed=range(3))]
    frozen = [made_up(run, 0.0, True) for run in grid(Run(rule=Recurrent(1.0)), seed=range(5))]
    groups = [five, frozen, twenty, three]
    (tmp_path / "page.html").write_text(html.page(report([*five, *frozen, *twenty, *three], "")).html)
    opened(browser, tmp_path / "page.html")
    rows = side_by_side(browser)
    order = sorted(groups, key=lambda same: next(i for i, one in enumerate(rows) if belongs(one, same)))
    found = [seed_summary(same, "reward") for same in order]
    assert [one["seeds"] for one in rows] == [str(one.n) for one in found]
    assert [one["frozen"] for one in rows] == [str(one.frozen) for one in found]
    assert [one["reward [Student's 95 %]"] for one in rows] == [one.text.replace("; all", " all") for one in found]
    assert [one["difference [Welch's 95 %]"] for one in rows] == [apart(order[0], same) for same in order]
    method, notes = browser.execute_script(
        "return ['method', 'notes'].map((id) => document.getElementById(id).textContent)"
    )
    assert method == f"reward: {METHOD}"
    assert all(note in notes for note in (FEW_NOTE, FROZEN_NOTE, ALL_NOTE))
    best = browser.execute_script("return document.getElementById('best').textContent")
    assert best == "best of 2: judge it on other seeds (coexplore tune)"


def belongs(row, same):
    return row["seeds"] == str(len(same)) and row["frozen"].startswith(f"{sum(r.frozen for r in same)} of")


def apart(rival, same):
    """The difference from a rival, of runs that learned, as the page writes it."""
    a, b = ([result.reward for result in one if not result.frozen] for one in (same, rival))
    if same is rival or not a:
        return "" if same is rival else "–"
    found = difference(a, b)
    ends = f" [{found.low:+.3f}, {found.high:+.3f}]" if min(len(a), len(b)) >= 5 else ""
    return f"{found.effect:+.3f}{ends}".replace("-", "−")


def test_curves_are_of_the_runs_that_learned_with_students_interval(browser, tmp_path):
    levels = [0.70, 0.72, 0.75, 0.77, 0.80, 0.0]
    results = [made_up(run, r, r == 0.0) for run, r in zip(grid(Run(), seed=range(6)), levels, strict=True)]
    (tmp_path / "page.html").write_text(html.page(report(results, "")).html)
    opened(browser, tmp_path / "page.html")
    told = of(browser, "compare", "it.csv()").splitlines()[1].split(",")
    found = summary(levels[:5])
    assert [float(x) for x in told[2:]] == pytest.approx(found, abs=2e-4)
    assert of(browser, "seeds", "it.drawn.getOption().series[0].data.map((one) => one.symbol)") == [
        *["circle"] * 5, "emptyCircle"
    ]  # fmt: skip


def test_verdicts_come_with_their_columns_folded_and_only_where_their_runs_are(browser, page, tmp_path):
    made = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text())[1])
    trained = {one["figure"] for one in made["claims"]}
    assert trained >= {"fig2", "figa2", "compute", ""}
    assert not trained & {"fig4", "figa3", "figa4", "tuned"}  # of which there is nothing here
    assert not report([], "")["claims"]  # and what is proved stands beside runs only
    was = {"of": "2026-11-15", "verdict": "fails", "criterion": "Higher.", "why": "Too low."}
    changed = {
        "F2.3": {"verdict": "tie", "without_ties": "holds", "named": 0.2},
        "F2.4": {"signed": "holds"},
        "F2.5": {"verdict": "holds", "without_ties": "holds", "was": was, "seeds": 3, "chose": 2},
    }
    for one in made["claims"]:
        one.update(changed.get(one["id"], {"verdict": "holds", "without_ties": "holds"}))
    (tmp_path / "page.html").write_text(html.page(made).html)
    opened(browser, tmp_path / "page.html", "claims")
    assert browser.execute_script("return document.querySelectorAll('details[open]').length") == 0
    row = "return [...document.querySelectorAll('#claim-{} td')].map((cell) => cell.textContent)"
    words = browser.execute_script(row.format("F2\\\\.3"))
    assert words[1] == "tiewithout ties: holds"
    assert re.search(r"\[[+−].*, [+−].*\]by Welch's (holds|fails|tie|undecided) \[[+−].*, [+−].*\]$", words[2])
    assert words[4] == "0.20"
    assert "signed signals: holds" in browser.execute_script(row.format("F2\\\\.4"))[1]
    says, words, _, seeds, *_ = browser.execute_script(row.format("F2\\\\.5"))
    assert seeds == "3 + 2"
    assert words == "holdsbefore: fails"
    assert all(text in says for text in ("2026-11-15: Higher.", "Too low."))
    assert "1 tie" in browser.execute_script("return document.querySelector('.legend').textContent")
    opened(browser, tmp_path / "page.html", "claim-F2.3")
    assert browser.execute_script("return document.querySelectorAll('details[open]').length") == 1


def newcombe(a, b):
    """Probability θ̂ that a run of `a` beats one of `b`, and all θ with |θ̂ − θ| ≤ 1.96 √Var(θ) (Hanley and McNeil)."""
    found = np.mean((a[:, None] > b) + 0.5 * (a[:, None] == b))
    theta, n = np.linspace(0, 1, 200_001), (len(a) + len(b)) / 2
    spread = 1 + (n - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    inside = theta[(found - theta) ** 2 <= 1.959964**2 * theta * (1 - theta) * spread / (len(a) * len(b)) + 1e-12]
    return [found, inside.min(), inside.max()]


def test_a_curve_that_is_not_the_runs_is_told_of_and_left_out(store, tmp_path):
    shutil.copytree(store, tmp_path / "store")
    whole, _ = read(tmp_path / "store")
    odd = SMALL.with_seed(99)
    about = {"run": odd.to_dict(), "engine": "cpu", "stream": 1}
    seal(tmp_path / "store" / f"{odd.digest}.cpu-1.safetensors", about, {"curve": np.zeros(7, np.float32)}, {})
    results, problems = read(tmp_path / "store")
    made = report(results, "store", problems)
    assert made["about"]["runs"] == len(whole)
    assert "a curve of 7 points for" in made["about"]["problems"][0]


def of_two_kinds(seeds):
    """Results of figure 2's settings with these seeds; a coupling of the reader's own has the first one alone."""
    runs = [*(run for one in FIGURES["fig2"].settings() for run in grid(one, seed=seeds))]
    runs.append(Run(rule=Boltzmann(coupling=0.33), seed=seeds[0]))
    return [made_up(run, 0.4 if run.seed < 1000 else 0.6) for run in runs]


def made_up(run, reward, frozen=False):
    curve, seen = np.full(1000, reward, np.float32), {"firing.0": np.full((1, 1), float(frozen) or 0.5, np.float32)}
    return Result(run, "cpu", curve, Params((), None), {}, seen)


def test_the_readers_runs_are_all_there_and_seeds_are_kept_apart_in_figures_and_claims_alone():
    made = report(of_two_kinds([0, 1, 2, 1000, 1001, 1002, 1003]), "")
    assert made["about"]["runs"] == 9 * 7 + 1
    assert made["about"]["left_out"] == 9 * 3
    assert [len(one["runs"]) for one in made["settings"]] == [7] * 9 + [1]
    assert made["settings"][0]["all"][0] == pytest.approx((3 * 0.4 + 4 * 0.6) / 7, abs=1e-6)
    (figure,) = (one for one in made["figures"] if one["name"] == "fig2")
    assert figure["seeds"] == [4]
    rows = [*made["settings"], *made["of_figures"]]
    drawn = [rows[line["places"][0][1]] for line in figure["lines"]]
    assert [[run[0] for run in one["runs"]] for one in drawn] == [[1000, 1001, 1002, 1003]] * 9
    assert {one["mean"][0] for one in drawn} == {0.6}
    assert {one["seeds"] for one in made["claims"] if one["figure"] == "fig2"} == {4}


def test_the_page_draws_a_figure_from_its_own_runs(browser, tmp_path):
    (tmp_path / "page.html").write_text(html.page(report(of_two_kinds([0, 1000, 1001]), "")).html)
    opened(browser, tmp_path / "page.html", "fig2")
    assert of(browser, "fig2", "it.csv()").splitlines()[1].split(",")[2:4] == ["0.6", "0"]
    assert "9 runs" in browser.execute_script("return document.getElementById('figures-note').textContent")
    opened(browser, tmp_path / "page.html")
    assert browser.execute_script("return document.querySelector('h1').textContent") == "28 runs of 10 settings"


def test_the_command_that_repeats_a_setting_trains_its_seeds_and_no_others():
    first = Run(rule=Boltzmann(coupling=0.33))
    results = [made_up(first.with_seed(k), 0.5) for k in (0, 1, 5, 6, 9)]
    told = Settings(results).rows[0]["command"]
    once = "coexplore train boltzmann --coupling 0.33"
    assert told.split(" && ") == [f"{once} --seeds {seeds}" for seeds in ("2", "5-6", "9-9")]
    assert Settings(results[1:2]).rows[0]["command"] == f"{once} --seeds 1-1"


def test_nothing_in_embedded_data_can_end_the_script_it_is_in():
    data = [HOSTILE, "]]>", {"</script>": "<!--<script>"}]
    text = html.embedded(data)
    assert not set("<>&\u202e") & set(text)
    assert json.loads(text) == [HOSTILE.replace("\u202e", r"\u202e"), *data[1:]]


@pytest.mark.parametrize(
    "letter", ["\u200f", "\u202e", "\u2066", "\u2028", "\x7f", "\x9b", "\ud800", "\ufeff", "\U000e0041"]
)
def test_letters_that_cannot_be_seen_are_spelled_out(letter):
    (told,) = json.loads(html.embedded([f"a{letter}b"]).encode())
    assert told == f"a\\u{ord(letter):04x}b"


def test_no_name_of_the_pages_scripts_stands_twice():
    """They become one script, in which the later of two functions of a name takes the place of the earlier."""
    scripts = (Path(html.__file__).parent / "page").glob("*.js")
    names = [name for one in scripts for name in re.findall(r"^(?:function|const|let) (\w+)", one.read_text(), re.M)]
    assert len(names) > 50
    assert not {name for name in names if names.count(name) > 1}


def test_the_charting_library_is_the_one_that_is_noted():
    vendor = html.files("coexplore.report") / "vendor"
    noted = re.search(r"sha256: ([0-9a-f]{64})", (vendor / "README.md").read_text())[1]
    assert hashlib.sha256((vendor / "echarts.min.js").read_bytes()).hexdigest() == noted
    assert "Apache License" in (vendor / "LICENSE-echarts").read_text()


def test_the_command_writes_one_file_that_needs_no_other(store, tmp_path, capsys):
    out, source = tmp_path / "report.html", tmp_path / "some.safetensors"
    pack(read(store)[0], source)
    assert report_command(["--store", str(source), "--select", "rule=boltzmann", "--out", str(out)]) == 0
    assert f"report: {out}, 2 runs" in capsys.readouterr().out
    text = out.read_text()
    assert "connect-src 'none'" in text
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"']?(http|//)", text)
