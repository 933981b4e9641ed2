"""Arguments of the C++ engine, as any Python could hand them over: right ones, of which some are then made wrong.

A call that is right does its work; one that is not is refused in one line, and has changed nothing.
"""

import numpy as np

WORDS = ["", "boltzmann", "relu", "half", "x" * 5000, "\ud800", "a\nb", "\0"]
NUMBERS = [-1, 0, 1, 13, 1024, 4096, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**400, -(2**63), True, 1.0, 1e300]
ODD = [None, (), [], {}, b"x", object(), float("nan"), 1j, np.float32(2), np.int64(3), np.zeros(3), *WORDS, *NUMBERS]
EXTREMES = [0.0, 1e6, -1e6, 1e300, float("inf"), float("nan"), 1e-300, 0.5]
BOUNDS = {"units": 256, "steps": 200, "batch": 64, "critic's units": 256, "bits": 6}


def attempt(rng, folder):
    from coexplore.engines import cpu

    return called(rng, cpu.kernel())


def called(rng, kernel):
    """One call; None if it was answered as it should be."""
    name, right = rng.choice([shape, seed, words, advance, record])(rng, kernel)
    arguments = list(right)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.randrange(len(arguments))
        arguments[at] = spoiled(rng, arguments[at])
    if name == "advance" and arguments[-1] is not right[-1]:
        arguments[2] = 3  # or it might rightly go on for hours
    if rng.random() < 0.05:
        arguments = arguments[: rng.randrange(len(arguments))] if rng.random() < 0.5 else [*arguments, None]
    before = [x.tobytes() if isinstance(x, np.ndarray) else None for x in arguments]
    refused = None
    try:
        getattr(kernel, name)(*arguments)
    except (ValueError, MemoryError) as error:
        refused = str(error)
    wrong = len(arguments) != len(right) or any(x is not y for x, y in zip(arguments, right, strict=False))
    if refused is None:
        return None
    if not wrong:
        return f"{name} refuses what is right: {refused!r}"
    if "\n" in refused or len(refused) > 300 or not refused:
        return f"{name} says no in more than a line: {refused[:500]!r}"
    after = [x.tobytes() if isinstance(x, np.ndarray) else None for x in arguments]
    return None if before == after else f"{name} refuses, and has changed what it was given: {refused!r}"


def shape(rng, kernel):
    rules = [*kernel.RULES, "expected"]
    sizes = [rng.choice([1, 2, 3, 7, 8, 13, most - 1, most]) for most in BOUNDS.values()]
    sizes = [min(x, most) for x, most in zip(sizes, BOUNDS.values(), strict=True)]
    switches = [rng.random() < 0.5 for _ in range(7)]
    centre = rng.choice(kernel.CENTRES)
    return "Shape", (
        rng.choice(rules),
        rng.choice(["none", "relu", "tanh", "linear", "mean"]),
        *sizes,
        *switches[:6],
        centre,
        switches[6],
    )


def seed(rng, kernel):
    return "seed", (rng.choice([0, 1, 2**32, 2**64 - 1]), np.zeros(32, np.uint32))


def words(rng, kernel):
    return "random_words", (bits(rng), np.zeros(8 * rng.randrange(20), np.uint32))


def bits(rng):
    return np.array([rng.getrandbits(32) for _ in range(32)], np.uint32)


def advance(rng, kernel):
    return "advance", (*run(rng, kernel)[0], rng.randrange(3))


def record(rng, kernel):
    arguments, (rule, _, N, T, B, _, k, *_) = run(rng, kernel)
    H = (T + 1 if rule in ("boltzmann", "recurrent") else 1) * B * N
    return "record", (*arguments, *(np.zeros(n, np.float32) for n in (B * (k + 2**k), H, H, B, B)))


def run(rng, kernel):
    """All that describes a run, up to t; and what its shape is made of."""
    made = shape(rng, kernel)[1]
    whole = kernel.Shape(*made)
    numbers = tuple(rng.choice(EXTREMES) for _ in range(15))
    scale = rng.choice([0.0, 0.5, 1e6, 1e38, np.nan])
    arrays = [np.full(whole.offsets[-1], x, np.float32) for x in (scale, 0, 0)]
    updates = rng.choice([3, 1000, 2**31 - 1])
    return (
        whole,
        numbers,
        updates,
        *arrays,
        bits(rng),
        np.zeros(rng.randrange(1, 9)),
        rng.choice([0, updates - 2]),
    ), made


def spoiled(rng, x):
    """Another thing in place of it; an array may become one that is nearly right."""
    if not isinstance(x, np.ndarray) or x.dtype == object or rng.random() < 0.2:
        return rng.choice(ODD)
    twice = np.zeros(2 * len(x) + 2, x.dtype)
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype)
    fixed = x.copy()
    fixed.flags.writeable = False
    return rng.choice(
        [
            *(twice[: len(x) + d] for d in (-1, 1, 2) if len(x) + d >= 0),
            *(twice[: 2 * len(x) : 2], x[::-1], x[None], x[:0], shifted, fixed, x.tolist(), memoryview(x)),
            *(np.zeros(len(x), other) for other in ("f8", "f2", "i4", "u8", "c8", ">f4", "O", "?")),
        ]
    )
