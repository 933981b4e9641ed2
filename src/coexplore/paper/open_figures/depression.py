"""Q3: reward over the strength of depression, in each of its forms."""

from coexplore.paper.defaults import ALG_1, ALG_2
from coexplore.paper.figure import Figure, Lines
from coexplore.paper.spaces import Rate, at_rate
from coexplore.run import Run, change, grid

# Depression: what both algorithms have, what each has for W_rec, and how strong. What is best at N = 64 over all
# episodes is from the search `tuned`.
FORMS, ETAS = ("pre-without-post", "post-without-pre"), (0.1, 0.25, 0.5, 1.0)
OF_W_REC = {ALG_1: "one-without-other", ALG_2: "post-before-pre"}
(TUNED_1,) = grid(at_rate(ALG_1, Rate(0.01, True, 0.002)), steps=10, signals="signed")
(TUNED_2,) = grid(at_rate(ALG_2, Rate(0.01)), trace_decay=0.5, signals="signed")
BITS_1, BITS_2 = (change(run, "encoding", "binary") for run in (ALG_1, ALG_2))
DEPRESSION = "η, strength of the depression"
ONE_SIDED = change(ALG_2, "baseline", "none")


def depressed(run: Run, form: str, eta: float) -> Run:
    return change(change(change(run, "variant", "depression"), "variant_form", form), "variant_strength", eta)


def _depression(run: Run, tuned: Run, bits: Run, *others: tuple[str, Run, str]) -> Lines:
    """Reward over η, which is the run as it is at 0."""
    forms = (*FORMS, OF_W_REC[run])
    words = {form: form.replace("-", " ") for form in forms}
    lines = [(words[form], run, form) for form in forms]
    lines += [(f"{words['post-without-pre']}, inputs 0/1", bits, "post-without-pre"), *others]
    lines += [(f"{words[form]}, tuned", tuned, form) for form in forms]
    return {label: {0: [it], **{eta: [depressed(it, form, eta)] for eta in ETAS}} for label, it, form in lines}


FIGURES = (
    Figure(
        "depression",
        "Algorithm 1 with the depressing half of R-STDP",
        "sweep",
        _depression(ALG_1, TUNED_1, BITS_1),
        ("first", "last"),
        ours=True,
        axis=DEPRESSION,
        part=4,
        question=True,
    ),
    Figure(
        "depression-in-time",
        "Algorithm 2 with the depressing half of R-STDP",
        "sweep",
        _depression(ALG_2, TUNED_2, BITS_2, ("pre without post, reward centred only", ONE_SIDED, FORMS[0])),
        ("first", "last"),
        ours=True,
        axis=DEPRESSION,
        part=4,
        question=True,
    ),
)
