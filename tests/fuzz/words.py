"""Command lines that are right, and what becomes of them: words lost, doubled, swapped, changed, replaced."""

SMALL = ("--units", "5", "--bits", "1", "--episodes", "160", "--seeds", "1")
LINES = [
    (),
    ("--help",),
    ("--version",),
    ("train", "boltzmann", *SMALL),
    ("train", "boltzmann", *SMALL, "--coupling", "0", "0.4..0.1", "--steps", "3", "--out", "out"),
    ("train", "reinforce", "recurrent", *SMALL, "--json", "--threads", "1", "--snapshots", "2", "--store", "runs"),
    ("train", "backprop", *SMALL, "--learning-rate", ".01/.001/.001", "--critic", "tanh", "--batch", "16"),
    ("train", "reinforce", *SMALL, "--critic", "linear", "mean", "--learning-rate", "0/.001/.001"),
    ("train", "weight-max", *SMALL, "--engine", "cpu", "--signals", "signed", "--initial-weights", "uniform"),
    ("train", "--layers", "boltzmann,reinforce", "--units", "5-4", "--bits", "1", "--episodes", "160", "--seed", "3"),
    ("train", "reinforce", "--task", "parity", "--bits", "3", "--episodes", "160", "--units", "5"),
    ("train", "reinforce", "--task", "CartPole-v1", "--episodes", "2", "--units", "5", "--env-arg", "sutton=true"),
    ("train", "weight-max", "--task", "CartPole-v1", "--env-steps", "32", "--max-steps", "5", "--tensorboard", "tb"),
    ("train", "map-prop", "--preset", "paper", "--help"),
    ("train", "reinforce", *SMALL, "--cluster", "nowhere"),
    ("tune", "boltzmann", *SMALL[:6], "--grid", "coupling=0,0.5", "--choose", "1", "--judge", "2-3", "--out", "out"),
    ("tune", "reinforce", *SMALL[:6], "--grid", "learning-rate=.01,.1", "--choose", "1", "--judge", "2", "--more", "1"),
    ("tune", "reinforce", *SMALL[:6], "--grid", "learning-rate=.01,.1", "--finalists", "1", "--by", "last", "--json"),
    ("demo", "--out", "out"),
    ("reproduce", "fig2", "--scale", "quick", "--seeds", "1", "--store", "paper", "--out", "out"),
    ("reproduce", "fig2", "--seeds", "100000", "--store", "paper", "--out", "out"),
    ("reproduce", "figa1", "headline", "--seeds", "5-6", "--engine", "cpu", "--threads", "2", "--snapshots", "0"),
    ("reproduce", "tuned", "--scale", "quick"),
    ("beyond", "parity", "--seeds", "1", "--scale", "quick", "--store", "paper", "--out", "out"),
    ("beyond", "coordination", "--scale", "quick", "--env", "CartPole-v1"),
    ("claims", "--store", "runs", "--select", "rule=boltzmann", "--seeds", "0-1", "--episodes", "160"),
    ("claims", "--json"),
    ("runs",),
    ("runs", "list", "--store", "runs", "--select", "units=5,rule=reinforce", "--sort", "last"),
    ("runs", "--export", "table.csv", "--curves"),
    ("runs", "pack", "pack.safetensors", "--select", "rule=boltzmann", "--seeds", "1"),
    ("runs", "pack", "pack.safetensors", "--figure", "tuned"),
    ("runs", "prune", "--store", "runs", "--select", "seed=1"),
    ("evaluate", "runs", "--episodes", "10", "--seed", "1", "--deterministic"),
    ("evaluate", "runs", "--task", "parity", "--json"),
    ("plot", "picture.png", "--store", "runs", "--select", "units=5"),
    ("report", "--store", "runs", "--out", "report.html", "--seeds", "2", "--episodes", "160"),
    ("report", "--serve", "--port", "0"),
    ("list",),
    ("completion", "bash"),
]


def _several(text):
    return text.split()


NUMBERS = _several("""
0 -0 -1 1 2 3 7 64 100000 4294967295 4294967296 2147483647 1e6 1e18 9223372036854775808 99999999999999999999 1e400
-1e400 nan inf -inf 1e-400 0x10 1_000 ٣ ² 1.5 0.4..0.1 1..2..3 .. 1/2/3 64-32 5-1 1- -5 +1 0-4294967295 0-99999
99999999999-99999999999 3000000 20000-20000 1000000000 1e308
""")
TEXTS = _several("""
- -- = , : a=b=c =5 units= units=5 rule= seed=0-9 task=x:y %s {} näme 🦄 </script> . file file/x file.png
nowhere/x.png folder.png folder.html folder.csv x.parquet folder.safetensors runs x.csv x.html x.safetensors
/dev/null /dev/full /proc/self/x /dev/null/x /proc/self/x.png yes no none all auto os:path os: :x no.such:Thing
CartPole-v1 NoSuch-v0 Blackjack-v1 FrozenLake-v1 parity digits joint-bits multiplexer boltzmann boltzmann,
boltzmann,reinforce boltzmannn ste map-prop cuda cpu xla control localhost ray// host:port [::1 https://example.org
last first both signed relu reward advantage centred-advantage predicted probability half depression layer-reward
linear mean
""")
FLAGS = _several("""
units bits episodes batch seeds seed coupling steps learning-rate threads task snapshots store out json engine
cluster preset layers critic critic-width grid critic-rule critic-variance signals centring rate-scaling
learning-signal learning-signal-rate baseline baseline-strength baseline-pairs baseline-rate baseline-chains variant
initial-weights select sort export curves figure port serve choose judge more finalists by scale env deterministic
tensorboard help env-arg env-steps max-steps chains rewards encoding trace-decay variance relax-steps discount
anneal version nonsense expected
""")
NUMBERS += ["9" * 400, "9" * 5000, "1-1" * 40]
TEXTS += [
    "[/red]",
    "[bold]:x:",
    "",
    " ",
    "a\nb",
    "a\tb",
    "\x1b[31mred",
    "\u202eevil",
    "\u2028",
    "\udcff\udcfe",
    "a\udc80.png",
    "a" * 300,
]
TEXTS += ["a" * 5000, "a/" * 3000 + "b", *("b" * 300 + ending for ending in (".png", ".html", ".safetensors"))]
ABSOLUTE = ("/dev/null", "/dev/full", "/proc/self/x", "/dev/null/x", "/proc/self/x.png")


def mutated(rng, words):
    for _ in range(rng.choice((1, 1, 2, 2, 3, 3, 4, 6)) if rng.random() < 0.97 else 0):
        words = rng.choice(CHANGES)(rng, list(words))
    return [word for word in map(_harmless, words) if word is not None]


def junk(rng):
    return rng.choice(rng.choice((NUMBERS, TEXTS)))


def _place(rng, words):
    return rng.randrange(len(words)) if words else 0


def _lost(rng, words):
    del words[_place(rng, words) : _place(rng, words) + 1]
    return words


def _doubled(rng, words):
    at = _place(rng, words)
    return words[: at + 1] + words[at:]


def _swapped(rng, words):
    if words:
        i, j = _place(rng, words), _place(rng, words)
        words[i], words[j] = words[j], words[i]
    return words


def _replaced(rng, words):
    """Mostly a value of a flag: it is there that much can be wrong."""
    if len(words) > 1:
        values = [i for i, word in enumerate(words) if i and not word.startswith("--")]
        at = rng.choice(values) if values and rng.random() < 0.9 else _place(rng, words)
        words[at] = junk(rng)
    return words


def _flagged(rng, words):
    at, flag = rng.randint(min(1, len(words)), len(words)), f"--{rng.choice(FLAGS)}"
    values = [junk(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    more = [f"{flag}={values[0]}"] if values and rng.random() < 0.2 else [flag, *values]
    return words[:at] + more + words[at:]


def _altered(rng, words):
    """A character of a word lost, doubled or changed."""
    if words and words[at := _place(rng, words)]:
        word = words[at]
        i = rng.randrange(len(word))
        words[at] = word[:i] + rng.choice(("", word[i] * 2, rng.choice("-=.,:9eéx \udcff"))) + word[i + 1 :]
    return words


def _many(rng, words):
    """More words than anybody would type."""
    return words + [junk(rng)] * rng.choice((10, 300))


CHANGES = (_lost, _doubled, _swapped, _replaced, _replaced, _replaced, _flagged, _flagged, _altered, _many)


def _harmless(word):
    """Nothing outside the folder is written, and nobody is called by a network."""
    if word in ABSOLUTE:
        return word
    if "/.." in word or "../" in word or word == ".." or "=/" in word or word.startswith("/"):
        return None
    return None if word == "ray" or "ray://" in word else word.replace("\0", "")
