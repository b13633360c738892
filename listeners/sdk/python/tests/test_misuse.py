"""Programs that cannot work as they were started: each says what is wrong and how it is fixed, and exits with 2."""
from __future__ import annotations

import os
import subprocess
import sys
import unittest

from tests.pump import HERE, PATIENCE, Pump, environment, message, task


class Misuse(unittest.TestCase):
    def run_program(self, source: str, **more: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-c", source], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment(**more), timeout=PATIENCE, check=False)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def test_another_protocol_is_not_spoken(self) -> None:
        with Pump(SYSTOLE_PROTOCOL="2") as pump:
            pump.send(message("d1", task()))
            self.assertEqual((pump.process.wait(PATIENCE), pump.rest()), (2, []))
            self.assertEqual(pump.words(), "systole_sdk: this organism speaks protocol 2, systole-sdk 0.1 speaks 1; try: systole sdk python\n")

    def test_mode_once_and_a_terminal_are_refused_with_the_fix(self) -> None:
        with Pump(SYSTOLE_MODE="once") as pump:
            self.assertEqual(pump.process.wait(PATIENCE), 2)
            self.assertIn("take `mode: once` out of organism.yaml", pump.words())
        leader, terminal = os.openpty()
        done = subprocess.run([sys.executable, str(HERE / "worker.py")], stdin=terminal, capture_output=True, text=True,
                              env=environment(), timeout=PATIENCE, check=False)
        os.close(leader)
        os.close(terminal)
        self.assertEqual(done.returncode, 2)
        self.assertIn("try: systole listener try", done.stderr)

    def test_functions_that_are_no_listeners(self) -> None:
        start = "from systole_sdk import *\nfrom tests.payloads.conform import *\n"
        for source, words in (
            ("run()", "no function is a listener"),
            ("@listener\ndef one(a: Task): pass\n@listener\ndef two(a: Task): pass\n", "two takes <task>, which one at <string>:3 takes"),
            ("@listener\ndef one(a: Task) -> str: pass\n", "one returns str, which is no payload"),
            ("@listener\ndef one(a: Task) -> dict[str, Task]: pass\n", "one returns dict, which is no payload"),
            ("@listener\ndef one(a): pass\n", "a of one has no payload as its type"),
            ("@listener\ndef one(): pass\n", "one takes 0 arguments"),
            ("@listener\ndef one(a: 'Tusk'): pass\n", "the type Tusk of a cannot be found"),
        ):
            code, said = self.run_program(start + source)
            self.assertEqual(code, 2, said)
            self.assertIn(words, said)
            self.assertNotIn("Traceback", said)

    def test_a_light_import(self) -> None:
        code, said = self.run_program("import sys, systole_sdk, systole_sdk.running, systole_sdk.stdio\n"
                                      "sys.exit(sum(name in sys.modules for name in ('asyncio', 'logging', 'typing_extensions', 'inspect')))")
        self.assertEqual((code, said), (0, ""))

    def test_what_is_not_set(self) -> None:
        for more, words in (
            ({"SYSTOLE_LISTENER": ""}, "SYSTOLE_LISTENER not"),
            ({"SYSTOLE_KEY_FILE": "/no/such.nk"}, "cannot be read"),
            ({"SYSTOLE_KEY_FILE": str(HERE / "worker.py")}, "does not hold the seed of an nkey"),
            ({"SYSTOLE_SLOTS": "many"}, "SYSTOLE_SLOTS: 'many' is no number"),
            ({"SYSTOLE_SLOTS": "0"}, "from 1 to 256"),
        ):
            done = subprocess.run([sys.executable, str(HERE / "worker.py")], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  env=environment(SYSTOLE_NATS="nats://127.0.0.1:1", **more), timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
