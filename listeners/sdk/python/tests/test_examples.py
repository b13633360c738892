"""The examples of the pages, as an author has them: in a folder of their own, with the SDK that `systole sdk python` writes."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from systole_sdk import Client
from tests.broker import SERVER, find_port
from tests.living import PROGRAM, wait_until
from tests.pump import HERE, PATIENCE

EXAMPLES = HERE.parent / "examples"


@unittest.skipUnless(PROGRAM, "no systole on PATH")
class Examples(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for file in EXAMPLES.iterdir():
            if file.is_file():
                shutil.copy(file, self.folder)
        self.log = str(self.folder / "organism.db")
        self.environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.environment["PYTHONPATH"] = os.pathsep.join(["sdk/python", *filter(None, [os.environ.get("SYSTOLE_TEST_PYTHON")])])
        self.call(PROGRAM or "", "sdk", "python", "--types")
        shutil.copytree(HERE.parent / "systole_sdk", self.folder / "sdk/python/systole_sdk")

    def call(self, *command: str) -> str:
        """Runs a command in the folder; what it prints."""
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *command: str, **more: str) -> subprocess.Popen[str]:
        """Starts a program in the folder, which ends with the test."""
        process = subprocess.Popen(command, cwd=self.folder, env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def run_organism(self, **more: str) -> None:
        """Runs the organism of the folder."""
        self.start(PROGRAM or "", "run", "--set", "console.listen=127.0.0.1:0", **more)
        wait_until(Path(self.log + ".run").exists)

    def test_the_trials_pass_and_types_hold(self) -> None:
        self.assertEqual(self.call(sys.executable, "test_desk.py"), "ok\n")
        mypy = os.environ.get("SYSTOLE_TEST_MYPY")
        if mypy:
            self.environment.update(PYTHONPATH=mypy, MYPYPATH="sdk/python")
            files = sorted(str(file) for file in self.folder.glob("*.py"))
            self.assertIn("Success", self.call(sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", *files))
            self.environment.update(PYTHONPATH=os.pathsep.join(["sdk/python", mypy]))
            self.assertIn("2 passed", self.call(sys.executable, "-m", "pytest", "-q", "test_desk.py"))

    def test_a_client_orders_follows_and_is_told_why_not(self) -> None:
        self.run_organism()
        said = self.call(sys.executable, "ask.py").splitlines()
        self.assertEqual(said[0], "39.80 by ada")
        self.assertIn("shop.sold-out: 1 of chair are left", said[1])
        self.assertEqual(self.call(sys.executable, "ask.py").splitlines()[0], "39.80 by ada")
        lines = [line.split(" ") for line in self.call(sys.executable, "follow.py").splitlines()]
        self.assertEqual([line[0] for line in lines], [str(number + 1) for number in range(len(lines))])
        self.assertEqual(lines[-1][1:], ["message", "final"])

    def test_a_person_decides_what_the_bank_pays(self) -> None:
        file = self.folder / "organism.yaml"
        text = file.read_text()
        file.write_text(text.replace("    on_unknown: retry\n", "    on_unknown: retry\n    approval: {when: always}\n"))
        self.run_organism()
        asks = self.start(sys.executable, "ask.py")
        client = Client(log=self.log)
        wait_until(lambda: client.approvals()["approvals"])
        self.assertRegex(self.call(sys.executable, "decide.py", "yes"), "39.80")
        asks.wait(PATIENCE)
        self.assertEqual(client.approvals()["approvals"], [])

    @unittest.skipUnless(SERVER, "no nats-server on PATH")
    def test_the_store_runs_elsewhere_over_nats(self) -> None:
        port = find_port()
        file = self.folder / "organism.yaml"
        text = re.sub(r"(?<=  store:\n)    run: .*\n    env: .*\n", "    nats: true\n", file.read_text())
        file.write_text(text + f"bus: {{nats: 'nats://127.0.0.1:{port}', key_env: BUS_KEY}}\n")
        (self.folder / "nats.conf").write_text(self.call(PROGRAM or "", "permissions", "--nats-config"))
        self.start(SERVER or "", "-c", "nats.conf")
        self.run_organism(BUS_KEY=(self.folder / "keys/_pump.nk").read_text().strip())
        self.start(sys.executable, "store.py", SYSTOLE_NATS=f"nats://127.0.0.1:{port}", SYSTOLE_ORGANISM="shop",
                   SYSTOLE_LISTENER="store", SYSTOLE_KEY_FILE="keys/store.nk", SYSTOLE_SLOTS="4")
        self.assertEqual(self.call(sys.executable, "ask.py").splitlines()[0], "39.80 by ada")


if __name__ == "__main__":
    unittest.main()
