"""`coexplore report`: the results as a page, in a file or served while a study runs."""

from pathlib import Path
from typing import Any

from coexplore.cli.modules import import_selected, read_with_modules
from coexplore.cli.parser import Parser, file
from coexplore.cli.results import chosen_results
from coexplore.settings import Count
from coexplore.store import StoreError, write

USUAL, PORT = "8321", Count("where to serve", low=0, high=65535)


def report_command(words: list[str]) -> int:
    options = report_parser().read(words)
    return _serve(options) if options["serve"] else _write(options)


def report_parser() -> Parser:
    parser = Parser("report", "The results as one page that needs nothing else, or served while a study runs.")
    parser.reading()
    parser.add_argument("--episodes", metavar="COUNT", help="judge runs of this length, in episodes [the usual one]")
    parser.add_argument("--out", default="report.html", metavar="FILE", help="the file to write")
    parser.add_argument("--serve", action="store_true", help="serve it on 127.0.0.1 instead, and follow the store")
    parser.add_argument("--port", default=USUAL, metavar="NUMBER", help="where to serve; 0: any that is free")
    return parser


def _write(options: dict[str, Any]) -> int:
    out = file("out", options["out"], (".html",))
    chosen = chosen_results(options)
    from coexplore.report.data import report  # the claims are slow to judge, and not always wanted
    from coexplore.report.html import page

    data = report(chosen, options["store"], episodes=options["episodes"])
    write(out, page(data).html.encode(errors="backslashreplace"))
    print(f"report: {out}, {len(chosen)} runs, {out.stat().st_size / 1e6:.1f} MB")
    return 0


def _serve(options: dict[str, Any]) -> int:
    store, port = Path(options["store"]), PORT.parse("port", options["port"])
    if not store.exists():
        raise StoreError(f"{store}: there is no such file")
    import_selected(options["select"])
    read_with_modules(store)
    from coexplore.report.live import Follower
    from coexplore.report.server import Server

    with Server(Follower(store, options["select"], options["episodes"], options["seeds"]), port) as server:
        print(f"report: {server.address} (Ctrl-C ends it; a study goes on without it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("report: closed")
    return 0
