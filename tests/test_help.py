"""The command says what it will do: defaults in every help, the next steps, completion, a quick version, a pager."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coexplore import Boltzmann, Recurrent, Run
from coexplore.cli import COMMANDS, NEXT
from coexplore.rules import BUILT_IN
from coexplore.run import PRESETS, dashed, flat
from coexplore.settings import flat_specs, specs

PACK = Path(__file__).parent / "data" / "pack-1.safetensors"


def usual(text):
    """Flag → what stands in brackets at the end of its help. Settings of a part stand below the flag of the part."""
    flags = re.split(r"\n(?:  | {30})(?=-)", text.partition("options:")[2])
    found = (re.match(r"--([\w-]+):?( (?!\s)\S+)?.*?(?:\[([^\[]*)\])?\s*$", flag, re.S) for flag in flags)
    return {match[1]: " ".join((match[3] or "").split()) for match in found if match}


@pytest.fixture
def help_of(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: usual(here(*words, "--help").stdout)


@pytest.mark.parametrize("rule", BUILT_IN)
def test_help_on_a_rule_has_the_value_of_every_flag_as_a_run_has_it(rule, help_of):
    told, run = help_of("train", rule), flat(Run(rule=BUILT_IN[rule]()))
    for name, value in run.items():
        assert name == "rule" or told[dashed(name)] == value, name


def test_settings_of_a_part_stand_below_its_flag_and_algorithm_1_has_few_entries_of_its_own(here):
    text = here("train", "boltzmann", "--help").stdout.partition("options:")[2]
    entries = re.findall(r"^  --([\w-]+)", text, re.M)
    own = [name for name in entries if name.replace("-", "_") in flat_specs(Boltzmann)]
    assert own == [dashed(name) for name in specs(Boltzmann)]
    assert len(own) <= 12
    below = {
        flag: re.findall(r"^ {30}--([\w-]+):", lines, re.M)
        for flag, lines in re.findall(r"^  --(baseline|critic) (.*?)(?=^  --)", text, re.M | re.S)
    }
    assert below == {
        "baseline": ["baseline-strength", "baseline-chains", "baseline-pairs", "baseline-rate"],
        "critic": ["critic-width", "critic-rule", "critic-variance"],
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_with_a_value_says_what_happens_without_it(command, help_of):
    """And every command has a parser from which shells learn its words."""
    told = help_of(command)
    assert {name for name, value in told.items() if not value} <= {"json", "serve", "curves", "deterministic"}
    parser = getattr(importlib.import_module(f"coexplore.cli.{COMMANDS[command]}"), f"{command}_parser")()
    known = {flag.lstrip("-") for action, _ in parser.offers for flag in action.option_strings}
    assert set(told) <= known
    assert command in ("train", "tune") or set(told) == known - {"h", "help"}


def test_rules_tasks_and_presets_have_values_of_their_own(help_of, here):
    told = help_of("train", "recurrent", "boltzmann")
    assert (told["steps"], told["batch"]) == ("boltzmann 25, recurrent 2", "16")
    assert help_of("train", "ste", "--task", "multiplexer", "CartPole-v1")["batch"] == "multiplexer 16, CartPole-v1 1"
    told = help_of("train", "map-prop", "--preset", "cartpole")
    assert (told["task"], told["variance"], told["units"]) == ("CartPole-v1", "0.03/0.1", "64-32")
    assert help_of("tune", "recurrent")["trace-decay"] == str(Recurrent().trace_decay)
    text = " ".join(here("train", "--help").stdout.split())
    for rule, presets in PRESETS.items():
        assert f"of {rule}: {', '.join(presets)};" in text


def test_the_bare_command_names_three_commands_that_work(here, tmp_path, monkeypatch):
    done = here()
    assert (done.returncode, done.stderr.strip()) == (2, NEXT)
    train, demo, report = re.findall(r"^  coexplore (.*?)(?:  .*)?$", NEXT, re.M)
    monkeypatch.chdir(tmp_path)
    for words, count in ((train, 6), (demo, 25)):
        asked = []
        home = f"coexplore.cli.{COMMANDS[words.split()[0]]}.train_all"
        monkeypatch.setattr(home, lambda runs, options, store, asked=asked: asked.append((len(runs), store.name)))
        assert here(*words.split()).returncode == 130
        assert asked == [(count, "runs")]
    (tmp_path / "runs").rmdir()
    assert here(*report.split()).stderr == "coexplore: runs: there is no such file\n"  # where the others put them


def test_the_version_needs_neither_jax_nor_numpy():
    heavy = ("jax", "equinox", "numpy", "matplotlib", "gymnasium", "rich", "shtab")
    code = f"""
import sys
sys.argv = ["coexplore", "--version"]
from coexplore.cli import main
try:
    main()
except SystemExit as left:
    print(left.code, [name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"coexplore [\d.]+\n0 \[\]\n", done.stdout)


def test_gymnasium_knows_our_environment_whichever_is_imported_first():
    name = "coexplore/Multiplexer-v0"
    for modules in ("coexplore, gymnasium", "gymnasium, coexplore"):
        code = f"import {modules}; print(gymnasium.spec('{name}').id)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == f"{name}\n"


COMPLETE = """
source {script}
words() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  $(complete -p coexplore | sed 's/.*-F \\([^ ]*\\).*/\\1/') coexplore "${{@: -1}}"
  echo "${{COMPREPLY[*]}}"
}}
words coexplore tr
words coexplore train bo
words coexplore train boltzmann re
words coexplore train boltzmann --trace
words coexplore train boltzmann --learning-signal a
words coexplore train --task d
words coexplore runs --store {folder}/onl
"""


def test_bash_completes_commands_rules_flags_values_and_folders(here, tmp_path):
    (tmp_path / "only").mkdir()
    (tmp_path / "script").write_text(here("completion", "bash").stdout)
    subprocess.run(["bash", "-n", tmp_path / "script"], check=True)
    lines = COMPLETE.format(script=tmp_path / "script", folder=tmp_path)
    done = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True)
    wanted = ["train", "boltzmann", "reinforce recurrent", "--trace-decay", "advantage", "digits", f"{tmp_path}/only"]
    assert done.stdout.splitlines() == wanted
    assert not done.stderr


@pytest.mark.parametrize(("shell", "first"), [("zsh", "#compdef coexplore"), ("fish", "")])
def test_other_shells_get_scripts_with_the_same_words(shell, first, here):
    script = here("completion", shell).stdout
    assert script.startswith(first)
    for word in ("boltzmann", "trace-decay", "synchronous", "figa6", "digits"):
        assert word in script


def test_a_long_list_goes_through_the_pager_on_a_terminal_only(here, tmp_path, monkeypatch):
    words, seen = ("runs", "--store", PACK), tmp_path / "seen"
    (line,) = (line for line in here(*words).stdout.splitlines() if "of them frozen" in line)
    monkeypatch.setenv("PAGER", f"tee {seen}")
    assert line in here(*words).stdout
    assert not seen.exists()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert line not in here(*words).stdout  # it is the pager's to show
    assert line in seen.read_text()
    for pager in ("", "no-such-pager"):
        monkeypatch.setenv("PAGER", pager)
        assert line in here(*words).stdout
