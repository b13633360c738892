"""The wheel: the same bytes twice, installed without an index outside of the checkout, and a worker that runs on it."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from systole_sdk.documents import LISTENER
from systole_sdk.markup import read
from tests.pump import HERE, PATIENCE, message, task

ROOT = HERE.parents[3]
SYSTEM = "/usr/bin/python3"


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, *command: str | Path, said: str = "", **more: str) -> str:
        """Runs a command outside of the checkout; what it prints."""
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTOLE_TEST_FLIT", "CARGO_TARGET_DIR") if name in os.environ}
        done = subprocess.run(command, cwd=self.folder, env={**environment, **more}, input=said, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def build(self, name: str) -> Path:
        """Builds the wheel into a folder."""
        more = {"PYTHONPATH": os.environ["SYSTOLE_TEST_FLIT"]} if "SYSTOLE_TEST_FLIT" in os.environ else {}
        self.call(sys.executable, "-B", ROOT / "tools/dist/sdk_python.py", self.folder / name, SOURCE_DATE_EPOCH="1700000000", **more)
        [wheel] = (self.folder / name).glob("systole_sdk-*.whl")
        return wheel

    def test_two_builds_have_the_same_bytes_and_a_worker_runs_on_them(self) -> None:
        wheel = self.build("one")
        self.assertEqual(wheel.read_bytes(), self.build("two").read_bytes())
        self.call(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", "site", wheel)
        place = self.call(sys.executable, "-c", "import systole_sdk; print(systole_sdk.__file__)", PYTHONPATH="site").strip()
        self.assertTrue(place.startswith((str(self.folder / "site"), "site")), place)
        self.work(sys.executable, PYTHONPATH="site")

    @unittest.skipUnless(Path(SYSTEM).exists(), "the system has no python3")
    def test_it_runs_on_the_python_of_the_system(self) -> None:
        wheel = self.build("one")
        self.call(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", "site", wheel)
        self.work(SYSTEM, PYTHONPATH="site")

    def work(self, python: str | Path, **more: str) -> None:
        """Runs the worker of the tests on a package that is installed."""
        (self.folder / "tests/payloads").mkdir(parents=True)
        for name in ("worker.py", "payloads/conform.py"):
            shutil.copy(HERE / name, self.folder / "tests" / name)
        start = "import runpy, sys; sys.path.insert(0, '.'); runpy.run_path('tests/worker.py', run_name='__main__')"
        said = "".join(message(f"d{number}", task(text=f"text {number}")) + "\n" for number in range(3))
        replies = [read(line) for line in self.call(python, "-c", start, said=said, **more).splitlines()]
        self.assertEqual(sorted((one.ns, one.get("delivery"), next(iter(one)).text) for one in replies),
                         [(LISTENER, f"d{number}", f"text {number}") for number in range(3)])


if __name__ == "__main__":
    unittest.main()
