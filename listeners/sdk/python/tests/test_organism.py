"""Real organisms as `systole_sdk.testing` runs them: decisions, and the tests of an organism.

`SYSTOLE` names the program; without one on PATH these are skipped.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from systole_sdk import Client, Problem
from systole_sdk.testing import organism, organism_tests
from tests.living import PATH, PROGRAM, SCHEMA
from tests.payloads.conform import Done, Task
from tests.pump import HERE, PATIENCE

LISTENER = """
  worker:
    {how}
    accepts: [task]
    returns: [done, remark]
    in_flight: 16
    turns: 3
    peers: [peer]
    entry: true
    on_unknown: retry
    retry: {{attempts: 3}}
"""
FILE = """organism: {{name: hello, entry: worker}}
schemas: [conform.xsd]
{more}listeners:{worker}
  peer:
    run: [python3, worker.py]
    env: {{PYTHONPATH: '{path}'}}
    accepts: [task]
    returns: [done, remark]
"""

PYTEST = """import pytest
from systole_sdk.testing import organism_tests


@pytest.mark.parametrize("case", organism_tests(), ids=repr)
def test_organism(case):
    case.check()
"""


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class InAnOrganism(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(HERE / "worker.py", self.folder)
        (self.folder / "conform.xsd").write_text(SCHEMA)

    def write(self, how: str = f"run: [python3, worker.py]\n    env: {{PYTHONPATH: '{PATH}'}}", more: str = "") -> str:
        file = self.folder / "organism.yaml"
        file.write_text(FILE.format(more=more, path=PATH, worker=LISTENER.format(how=how)))
        return str(file)

    def wait(self, holds: Any) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def test_only_what_was_read_is_approved(self) -> None:
        (self.folder / "conform.xsd").write_text(SCHEMA.replace('<xs:element name="task">', '<xs:element name="task" systole:dangerous="true" '
                                                                'xmlns:systole="urn:systole:schema:v1">'))
        with organism(self.write(), program=PROGRAM) as client:
            sent = client.send(Task(text="danger"))
            self.wait(lambda: client.approvals()["approvals"])
            [waiting] = client.approvals()["approvals"]
            assert waiting["kind"] == "approval"
            with self.assertRaises(Problem) as caught:
                client.approve({**waiting, "hash": "0" * 64})
            self.assertEqual(caught.exception.code, "approval.mismatch")
            client.approve(waiting, "fine")
            self.assertEqual(client.wait(sent, returns=Done).text, "danger")
            with self.assertRaises(Problem) as caught:
                client.reject(waiting, "too late")
            self.assertEqual(caught.exception.code, "approval.decided")

    def test_a_subject_in_any_script(self) -> None:
        with organism(self.write(), program=PROGRAM) as client:
            for subject in ("Wien", "Grüße", "हिन्दी \U0001f600"):
                sent = client.send(Task(text="x"), subject=subject)
                client.wait(sent, returns=Done)
                shown = {one["thread"]: one.get("subject") for one in client.threads()["threads"]}
                self.assertEqual(shown[sent.thread], subject)

    def test_the_tests_of_an_organism_and_a_broken_one(self) -> None:
        self.write()
        (self.folder / "own.test.yaml").write_text("tests:\n" + "".join(
            f"  - name: {name}\n    steps:\n      - send: {{task: hi}}\n        answer: done\n        xpath: /done = '{text}'\n" for name, text in (("right", "hi"), ("wrong", "ho"))))
        cases = organism_tests([str(self.folder)], program=PROGRAM)
        self.assertEqual([(one.name, one.failure is None) for one in cases], [("right", True), ("wrong", False)])
        with self.assertRaises(AssertionError):
            cases[1].check()
        self.run_with_pytest()
        (self.folder / "organism.yaml").write_text("organism: {name: hello}\nlisteners: {a: {run: [x]}}\n")
        with self.assertRaises(RuntimeError) as caught, organism(str(self.folder / "organism.yaml"), program=PROGRAM):
            pass
        self.assertIn("did not start", str(caught.exception))


    def run_with_pytest(self) -> None:
        tools = os.environ.get("SYSTOLE_TEST_MYPY")
        if not tools:
            return
        (self.folder / "test_own.py").write_text(PYTEST)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tools, PATH]), "SYSTOLE": str(PROGRAM)}
        ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_own.py"], cwd=self.folder, env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("1 failed, 1 passed", ran.stdout)
        self.assertIn("own.test.yaml: wrong: ", ran.stdout)


class Without(unittest.TestCase):
    def test_the_methods_are_those_of_the_door(self) -> None:
        checked = subprocess.run([sys.executable, "make_client.py", "--check"], cwd=HERE.parent, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_a_client_without_an_organism_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(ConnectionError) as caught:
                Client(log=folder + "/no.db", patience=0).status()
            self.assertIn("try: systole run", str(caught.exception))
        with self.assertRaises(ValueError):
            Client("http://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
