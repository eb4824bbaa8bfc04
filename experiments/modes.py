"""What do mode tokens switch? Models of UL2's mixture, with them and without, and of S alone.

    python experiments/modes.py

Words and their sounds are one text each: letters, separator, phonemes. Every model is then asked to go on
from letters and separator, and to fill a hole, under each mode token it knows. Results stand in
experiments/results/modes/, one file a run, as those of g2p.py do; what was expected stands in EXPECTED.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import torch
from performing import Experiment, summary

from prefixlm_teach import (
    TinyPrefixLM,
    Vocabulary,
    error_rates,
    g2p_vocabulary,
    generate,
    load_words,
    mix_denoisers,
    train,
    words_of,
)
from prefixlm_teach.data import END, PAD, SEP, SOUNDS, Batch
from prefixlm_teach.denoisers import MODE_TOKENS, UL2_CODE, Denoiser
from prefixlm_teach.examples import pad_right

SENTINELS = 16  # as many spans as the longest text may have
FIRST = "<x0>"
BATCH_SIZE, STEPS, LR = 128, 2400, 2e-3
S_ALONE = (Denoiser("S", None, None),)
KINDS = ("mixture with modes", "mixture without modes", "S alone")


class Run(NamedTuple):
    """One training run: on which mixture, which seed."""

    kind: str
    seed: int

    @property
    def name(self) -> str:
        """The name of the run's files."""
        return f"{self.kind.replace(' ', '_')}-s{self.seed}"


def comparison() -> Iterator[Run]:
    """Three kinds, five seeds."""
    for seed in range(5):
        for kind in KINDS:
            yield Run(kind, seed)


def vocabulary() -> Vocabulary:
    """Return the symbols of the word task, then the mode tokens, then the sentinels, the first one last."""
    sentinels = [f"<x{i}>" for i in reversed(range(SENTINELS))]
    return Vocabulary([*g2p_vocabulary().symbols, *MODE_TOKENS.values(), *sentinels])


def mode_ids(run: Run, symbols: Vocabulary) -> dict[str, int] | None:
    """Return the ids of the mode tokens, for a run that has them."""
    if run.kind != "mixture with modes":
        return None
    return {mode: symbols.ids[token] for mode, token in MODE_TOKENS.items()}


def batches(run: Run) -> Iterator[Batch]:
    """Yield batches of words with their sounds, like lengths together, without end; the seed decides all."""
    symbols = vocabulary()
    texts = [symbols.encode([*word, SEP, *said]) for word in words_of("train") for said in load_words()[word]]
    generator = torch.Generator().manual_seed(run.seed)
    step = count()
    while True:
        window = [texts[i] for i in torch.randint(len(texts), (20 * BATCH_SIZE,), generator=generator)]
        window.sort(key=len)
        for cut in torch.randperm(20, generator=generator).tolist():
            made = mix_denoisers(
                window[cut * BATCH_SIZE : (cut + 1) * BATCH_SIZE],
                S_ALONE if run.kind == "S alone" else UL2_CODE,
                vocab_size=len(symbols),
                end_id=symbols.ids[END],
                seed=run.seed + 1000 * next(step),
                mode_ids=mode_ids(run, symbols),
            )
            assert made.prefix_len is not None  # noqa: S101 - for the type checker
            yield Batch(made.tokens, made.prefix_len, made.valid)


def learn(
    run: Run, *, keep: Path | None = None, watch: Callable[[list[float]], None] | None = None
) -> tuple[TinyPrefixLM, list[float]]:
    """Train the model of a run; return it with the loss of each step."""
    torch.set_num_threads(1)
    torch.manual_seed(run.seed)
    model = TinyPrefixLM(len(vocabulary()), n_layers=3, max_len=96)
    return model, train(model, batches(run), steps=STEPS, lr=LR, keep=keep, watch=watch)


def answers_to(model: TinyPrefixLM, prompts: Sequence[list[int]], symbols: Vocabulary) -> list[list[str]]:
    """Return what the model writes after each prompt, prompts of like length together."""
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    answers: dict[int, list[str]] = {}
    for start in range(0, len(order), 512):
        which = order[start : start + 512]
        tokens, valid = pad_right([prompts[i] for i in which], symbols.ids[PAD])
        written = generate(model, tokens, valid=valid, stop_id=symbols.ids[END], max_new_tokens=30)
        answers |= {i: symbols.decode(answer) for i, answer in zip(which, written, strict=True)}
    return [answers[i] for i in range(len(prompts))]


def go_on(model: TinyPrefixLM, mode: list[int], symbols: Vocabulary) -> dict[str, float]:
    """Ask for the sounds of validation words; also, how often the answer holds a sentinel."""
    words = words_of("validation")[::3]
    prompts = [[*mode, *symbols.encode([*word, SEP, END])] for word in words]
    answers = answers_to(model, prompts, symbols)
    with_sentinel = sum(any(is_sentinel(symbol) for symbol in answer) for answer in answers)
    sounds = [tuple(symbol for symbol in answer if symbol in SOUNDS) for answer in answers]
    rates = error_rates(words, sounds)
    return {**rates._asdict(), "with a sentinel": with_sentinel / len(words)}


def fill_in(model: TinyPrefixLM, mode: list[int], symbols: Vocabulary) -> float:
    """Ask for the last two sounds of validation words that have four or more; return the share right.

    The hole is one sentinel, at the end, where a text of the mixture always has one; the answer begins with
    the sentinel that stands for it, as in training.
    """
    prompts, wanted = [], []
    for word in words_of("validation")[::3]:
        said = load_words()[word][0]
        if len(said) >= 4:
            prompts.append([*mode, *symbols.encode([*word, SEP, *said[:-2], FIRST, END])])
            wanted.append([FIRST, *said[-2:]])
    answers = answers_to(model, prompts, symbols)
    return sum(answer == want for answer, want in zip(answers, wanted, strict=True)) / len(wanted)


def say(model: TinyPrefixLM, mode: list[int], symbols: Vocabulary) -> dict[str, str]:
    """Return what the model writes after some validation words, to be read."""
    words = words_of("validation")[::600]
    prompts = [[*mode, *symbols.encode([*word, SEP, END])] for word in words]
    answers = answers_to(model, prompts, symbols)
    return {word: " ".join(answer) for word, answer in zip(words, answers, strict=True)}


def is_sentinel(symbol: str) -> bool:
    """Tell whether a symbol stands for a span."""
    return symbol.startswith("<x")


def perform(run: Run, kept: Path) -> dict[str, Any]:
    """Train and measure; goes on where a killed run was."""
    began = time.perf_counter()
    model, losses = learn(run, keep=kept)
    seconds = time.perf_counter() - began
    symbols = vocabulary()
    known = mode_ids(run, symbols)
    modes = {"none": []} if known is None else {mode: [id_] for mode, id_ in known.items()}
    return {
        **run._asdict(),
        "lr": LR,
        "steps": STEPS,
        "batch_size": BATCH_SIZE,
        **summary(model, losses, seconds),
        "go on": {name: go_on(model, mode, symbols) for name, mode in modes.items()},
        "fill in": {name: fill_in(model, mode, symbols) for name, mode in modes.items()},
        "said": {name: say(model, mode, symbols) for name, mode in modes.items()},
    }


EXPERIMENT = Experiment("modes", {"main": comparison}, perform)

if __name__ == "__main__":
    EXPERIMENT.main()
