"""The served report: it follows a study, is for this machine only, and survives whatever happens to the store."""

import contextlib
import http.client
import json
import socket
import threading
import time

import jax
import numpy as np
import pytest
from browser import offline

from coexplore import Boltzmann, Reinforce, Run, grid
from coexplore.laws import Synchronous
from coexplore.report import server as server_module
from coexplore.report.energy import energies, energy, path
from coexplore.report.live import Follower
from coexplore.report.remaining import Costs
from coexplore.report.server import Server
from coexplore.settings import FieldError
from coexplore.store import Store, planned
from coexplore.study import group, study, work
from coexplore.tasks.multiplexer import Multiplexer

SMALL = Run(rule=Reinforce(), task=Multiplexer(bits=1), hidden=(5,), episodes=1600)


@pytest.fixture
def served(tmp_path):
    with Server(Follower(tmp_path), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def asked(server, path, method="GET", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.server_port}"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_the_page_follows_a_real_study_and_closing_it_harms_nothing(browser, served, tmp_path, monkeypatch):
    def rest(one):
        time.sleep(0.08)  # so that the page, which asks every other second, sees every run under way
        return train_chunk(one)

    train_chunk = group.Group.train_chunk
    monkeypatch.setattr(group.Group, "train_chunk", rest)
    monkeypatch.setattr(group, "CHUNK_SECONDS", 0.05)
    monkeypatch.setattr(work, "CHECKPOINT_SECONDS", 0.1)
    runs = grid(Run(rule=Boltzmann(), task=Multiplexer(bits=2), hidden=(32,), episodes=400_000), seed=range(2))
    offline(browser, False)
    browser.get(served.address)
    browser.execute_script("""
      window.history_of = [];
      const line = document.getElementById("progress-text");
      const chart = [...coexplore.charts].find((one) => one.name === "live");
      new MutationObserver(() => window.history_of.push([line.textContent, chart.points().rows.length]))
        .observe(line, { childList: true });
    """)
    Store(tmp_path).announce(runs)
    done = study(runs, engine="cpu", progress=False, threads=1, store=tmp_path)
    deadline, shown = time.monotonic() + 120, 0
    while shown < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
        shown = browser.execute_script("return coexplore.data.about.runs")
    said = browser.execute_script("return window.history_of")
    assert shown == 2
    assert "2 of 2 runs finished" in said[-1][0]
    assert any("under way" in text and "% of the episodes" in text for text, _ in said)
    assert max(points for _, points in said) > 1
    assert browser.get_log("browser") == []
    browser.get("about:blank")
    assert not done.failures
    assert len(done.results) == 2


def test_what_cannot_be_read_is_left_out_and_the_server_goes_on(served, tmp_path):
    for place, text in (("checkpoints/x.safetensors", b"\0" * 50), ("y.safetensors", b"no"), ("failed/z.json", b"{")):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(text)
    for name, text in (("a", b"[[1]]"), ("b", b"3"), ("c", b'[["d", "s", "r", -1e999]]')):
        (tmp_path / "plans").mkdir(exist_ok=True)
        (tmp_path / "plans" / f"{name}.json").write_bytes(text)
    (tmp_path / "checkpoints" / "gone.safetensors").symlink_to(tmp_path / "nowhere")
    status, _, body = asked(served, "/live.json")
    assert status == 200
    assert json.loads(body)["running"] == []
    status, _, body = asked(served, "/data.json")
    assert status == 200
    assert "y.safetensors" in json.loads(body)["about"]["problems"][0]
    for path_ in sorted(tmp_path.rglob("*"), reverse=True):
        path_.rmdir() if path_.is_dir() else path_.unlink()
    tmp_path.rmdir()
    assert [asked(served, place)[0] for place in ("/", "/live.json", "/data.json")] == [200, 200, 200]
    tmp_path.mkdir()


def test_it_listens_here_only_and_serves_its_own_paths_to_its_own_names(served, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    assert served.server_address[0] == "127.0.0.1"
    for path_ in ("/secret.txt", "/../secret.txt", "/checkpoints/", "/%2e%2e/etc/passwd", "/data.json/x"):
        assert asked(served, path_)[0] == 404
    for host in ("evil.example", f"evil.example:{served.server_port}", "127.0.0.1", "0.0.0.0"):
        assert asked(served, "/data.json", host=host)[0] == 421
    assert asked(served, "/live.json", host=f"localhost:{served.server_port}")[0] == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "__class__"):
        status, headers, body = asked(served, "/data.json", method)
        assert (status, headers["Allow"], body) == (405, "GET, HEAD", b"ask with GET or HEAD\n")


def said_to(server, text):
    """What it answers to these bytes, until it closes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        answer = b""
        with contextlib.suppress(ConnectionError):  # what it does not read is not taken back
            connection.sendall(text)
            while more := connection.recv(65536):
                answer += more
        return answer


ODD = {
    "two hosts": (b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n", b"421"),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", b"421"),
    "another's address": (b"GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\n\r\n", b"404"),
    "no words": (b"\xff\x00<script>\r\n\r\n", b"400"),
    "a later version": (b"GET / HTTP/9.9\r\nHost: {host}\r\n\r\n", b"505"),
    "too many headers": (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
    "too long": (b"GET /" + b"x" * 16_379, b"431"),
}


@pytest.mark.parametrize(("text", "status"), ODD.values(), ids=ODD)
def test_what_cannot_be_answered_gets_a_line_and_the_headers_of_every_answer(served, text, status, capsys):
    answer = said_to(served, text.replace(b"{host}", f"127.0.0.1:{served.server_port}".encode()))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert b"Content-Security-Policy: default-src 'none'" in head
    assert b"X-Content-Type-Options: nosniff" in head
    assert b"Content-Type: text/plain" in head
    assert body.count(b"\n") == 1
    assert capsys.readouterr().err == ""


def drip(connection):
    """A byte now and then, which should keep nobody."""
    for _ in range(100):
        connection.sendall(b"G")
        time.sleep(0.1)


def test_who_asks_drop_by_drop_is_left_and_so_is_who_comes_when_all_places_are_taken(served, monkeypatch):
    monkeypatch.setattr(server_module, "MOST", 3)
    monkeypatch.setattr(server_module, "PATIENCE", 0.5)
    slow = [socket.create_connection(("127.0.0.1", served.server_port), timeout=60) for _ in range(3)]
    while len(served.open) < 3:
        time.sleep(0.01)
    question = f"GET /nowhere HTTP/1.0\r\nHost: 127.0.0.1:{served.server_port}\r\n\r\n".encode()
    assert said_to(served, question) == b""  # there is no place
    with pytest.raises(ConnectionError):
        drip(slow[0])
    assert slow[1].recv(1) == b""
    while served.open:
        time.sleep(0.01)
    assert asked(served, "/nowhere")[0] == 404
    for connection in slow:
        connection.close()


def test_every_answer_carries_a_policy_and_head_has_no_body(served):
    status, headers, body = asked(served, "/", "HEAD")
    assert (status, body) == (200, b"")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert asked(served, "/nowhere")[1]["Content-Security-Policy"] == "default-src 'none'"


def test_names_that_cannot_be_encoded_are_shown_escaped(tmp_path):
    with Server(Follower(tmp_path / "\udcff\u202e"), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        status, _, body = asked(server, "/")
        assert status == 200
        assert b"\\\\udcff\\\\u202e" in body
        server.shutdown()


def test_a_port_that_is_taken_is_refused_in_one_line(served, tmp_path):
    with pytest.raises(FieldError, match=r"port: .* is not allowed; give one that is free"):
        Server(Follower(tmp_path), served.server_port)


def test_a_plan_is_shared_by_those_who_have_the_same_and_the_last_one_counts(tmp_path):
    store = Store(tmp_path)
    store.announce([SMALL])
    store.announce([SMALL, SMALL])
    assert len(list(tmp_path.glob("plans/*"))) == 1
    assert store.plan() == [planned(SMALL)]


def test_a_plan_holds_a_setting_once(tmp_path):
    store, runs = Store(tmp_path), grid(SMALL, units=[4, 6], seed=range(100))
    store.announce(runs)
    assert store.plan() == [planned(run) for run in runs]
    (path_,) = tmp_path.glob("plans/*")
    assert len(json.loads(path_.read_text())) == 2
    assert path_.stat().st_size < 45 * len(runs)


@pytest.mark.parametrize(
    "line", ['["s", "r", 1, "not letters"]', '["s", "r", 1, "QUJD"]', '["s", "r", 1, ""]', "[]", "{}"]
)
def test_a_plan_that_cannot_be_read_is_none(line, tmp_path):
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "a.json").write_text(f"[{line}]")
    assert Store(tmp_path).plan() == []


def test_time_left_goes_by_the_setting_then_by_the_rule(tmp_path):
    done = study(grid(SMALL, seed=range(2)), engine="cpu", progress=False, store=tmp_path).results
    for result in done:
        result.provenance["seconds"] = 8.0
    costs = Costs(done)
    same, slower = planned(SMALL), planned(grid(SMALL, units=6)[0])
    assert costs.left([same], {}, 1) == pytest.approx(8.0)
    assert costs.left([same, slower], {same.digest: 800}, 2) == pytest.approx(6.0)
    assert costs.left([same], {}, 0) is None
    assert Costs([]).left([same], {}, 1) is None


@pytest.mark.parametrize("signals", ["binary", "signed"])
def test_the_energy_is_that_of_the_chain_the_rule_runs(tmp_path, signals):
    rule = Boltzmann(steps=3, coupling=0.5, chain_signals=signals)
    run = Run(rule=rule, task=Multiplexer(bits=1), hidden=(4,), episodes=1600)
    (result,) = study([run], progress=False, store=tmp_path).results
    params = result.params.layers[0]
    x = run.task.observe(run.task.sample(6, jax.random.key(2)))
    drawn = Synchronous(0.5, 3, signals).explore(jax.tree.map(jax.numpy.asarray, params), x, jax.random.key(3))
    d = np.asarray(x) @ params.W + params.b
    H = list(path(d, 0.5, params.W_rec, np.asarray(drawn.draws), signals))
    np.testing.assert_array_equal(np.stack(H), drawn.H)
    h, (E,) = H[-1][0], energy(H[-1][:1], d[:1], 0.5, params.W_rec, signals)
    s, share = (2 * h - 1, 0.5) if signals == "signed" else (h, 1.0)
    pairs = share * sum(params.W_rec[i, j] * s[i] * s[j] for i in range(4) for j in range(i))
    assert pytest.approx(-(d[0] @ h + 0.5 * pairs), rel=1e-5) == E
    found = energies(result)
    assert len(found["inputs"]) == len(found["before"]) == len(found["after"]) == 4
    assert len(found["after"][0]["mean"]) == 4
    before = run.init().layers[0]
    assert np.all(np.asarray(before.W_rec) == 0)
