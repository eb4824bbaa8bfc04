"""Run the checks kind by kind, stop at the first kind that fails, and say how long each took.

`make test` runs every kind but `long`, `make test-all` (`--all`) that one too. Name kinds to run only
those (`python tools/run_tests.py units nbval`).
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time

import toc

PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]
IN_TWO = ["-n", "2", "--dist", "loadfile"]

# These folders of tests are kinds of their own.
APART = ("book", "browser", "long", "make")

# Each kind is a list of commands, given as what follows `python -m` or as a script of tools/.
KINDS = {
    "lint": [["ruff", "check", "."], ["ruff", "format", "--check", "."]],
    "types": [["mypy"]],
    "units": [[*PYTEST, *IN_TWO, "tests", *(f"--ignore=tests/{kind}" for kind in APART)]],
    "nbval": [[*PYTEST, *IN_TWO, "--nbval", "--nbval-sanitize-with=tools/nbval_sanitize.cfg", "chapters"]],
    "pairs": [["tools/check_pairs.py"]],
    "make": [[*PYTEST, "tests/make"]],
    "browser": [["tools/browser.py"], [*PYTEST, "tests/browser", "--ignore-glob=*/test_book*"]],
}
LONG_KINDS = {
    "book": [
        ["tools/browser.py"],
        [
            *PYTEST,
            "tests/book",
            *(
                f"tests/browser/test_book{part}.py"
                for part in ("", "_explorer", "_lives", "_numbers", "_tools")
            ),
        ],
    ],
    "long": [[*PYTEST, "tests/long"]],
}


def run_kind(commands: list[list[str]]) -> bool:
    """Run the commands of a kind until one fails; return whether all went well."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PREFIXLM_HOME": os.devnull}
    for command in commands:
        how = command if command[0].endswith(".py") else ["-m", *command]
        finished = subprocess.run([sys.executable, *how], cwd=toc.PROJECT, env=environment, check=False)
        if finished.returncode:
            return False
    return True


def main() -> int:
    """Run the kinds the command line asks for; return the exit status."""
    every = KINDS | LONG_KINDS
    parser = argparse.ArgumentParser(description="Run the handbook's checks.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"run only these: {', '.join(every)}")
    parser.add_argument("--all", action="store_true", help="run the long kinds too")
    asked = parser.parse_args()
    if unknown := set(asked.kinds) - every.keys():
        parser.error(
            f"no kind of check is called {', '.join(sorted(unknown))}; there are {', '.join(every)}."
        )
    if missing := [
        name for name in ("ruff", "mypy", "pytest", "nbval") if not importlib.util.find_spec(name)
    ]:
        print(
            f"{', '.join(missing)} cannot be found by {sys.executable}. The checks need more than "
            'reading does: run `make test` once, or pip install -c requirements.lock -e ".[test]"',
            file=sys.stderr,
        )
        return 1
    took = {}
    for kind in asked.kinds or (every if asked.all else KINDS):
        print(f"== {kind}", flush=True)
        started = time.monotonic()
        passed = run_kind(every[kind])
        took[kind] = time.monotonic() - started
        if not passed:
            break
    print("\n".join(f"{kind:8} {seconds:5.0f} s" for kind, seconds in took.items()))
    print("All passed." if passed else f"Failed: {kind}. The kinds after it did not run.")
    return not passed


if __name__ == "__main__":
    sys.exit(main())
