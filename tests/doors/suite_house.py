"""What the runners of foreign suites share: an organism that runs, and what of a suite is expected to fail."""

import contextlib
import os
import pathlib
import re
import subprocess
import threading

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = {"SUITE_TOKEN": "suite-token-0123456789abcdef", "DESK_TOKEN": "desk-token-0123456789abcdef",
          "GUEST_TOKEN": "guest-token-0123456789abcdef"}


@contextlib.contextmanager
def run_organism(systole, folder):
    """Runs the organism of a folder, and gives its address."""
    organism = subprocess.Popen([systole, "run"], cwd=folder, env={**os.environ, **TOKENS},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(found for line in organism.stdout if (found := re.search(r"http://[\d.:]+", line)))
        threading.Thread(target=organism.stdout.read, daemon=True).start()
        yield address.group()
    finally:
        organism.terminate()
        organism.wait()


def judge_report(found, suite, report):
    """Writes what has failed, and says what of it is not expected. Zero is well."""
    pathlib.Path(report).write_text("".join(f"{name}\n" for name in sorted(found["failed"])))
    print({kind: len(names) for kind, names in found.items()})
    lines = (HERE / f"{suite}-expected.txt").read_text().splitlines()
    expected = {line.split("  ")[0] for line in lines if line and not line.startswith("#")}
    new, gone = sorted(found["failed"] - expected), sorted(expected - found["failed"])
    for name in new:
        print(f"fails, and is not expected to: {name}")
    for name in gone:
        print(f"is expected to fail, and does not: {name}")
    return 1 if new or gone or not found["passed"] else 0
