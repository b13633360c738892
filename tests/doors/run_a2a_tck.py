"""Runs the suite of A2A against the organism of config/doors: run_a2a_tck.py CHECKOUT SYSTOLE REPORT [KEPT].

CHECKOUT is the folder with the suite, on its line for 1.0, with what it needs installed for this Python. The report is one
line for each test that is neither passed nor skipped. It is compared with a2a-tck-expected.txt beside this file: a failure
that is not there is an error, and so is one that is there and has not happened. In KEPT stands what was sent and answered."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET

import steering_proxy
from suite_house import HERE, TOKENS, judge_report, run_organism


def run_suite(checkout, url, report):
    command = [sys.executable, "-m", "pytest", "tests/compatibility/", f"--sut-host={url}", "--tb=short", "-q", "-rxs",
               "--transport=jsonrpc,http_json", f"--junitxml={report}", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=checkout, check=False, stdout=sys.stderr).returncode


def read_report(path):
    """The names of the tests, by what became of them."""
    found = {"passed": set(), "failed": set(), "skipped": set()}
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname').removeprefix('tests.compatibility.')}::{case.get('name')}"
        kind = {child.tag for child in case}
        # What should be and is not is reported as a skipped test.
        skipped = case.find("skipped")
        is_expected = skipped is not None and skipped.get("type") == "pytest.xfail"
        failed = kind & {"failure", "error"} or is_expected
        found["failed" if failed else "skipped" if skipped is not None else "passed"].add(name)
    return found


def main(checkout, systole, report, kept=None):
    with tempfile.TemporaryDirectory() as folder:
        house = pathlib.Path(folder) / "doors"
        shutil.copytree(HERE.parent.parent / "config/doors", house)
        with run_organism(systole, house) as url:
            proxy = steering_proxy.start(url, TOKENS["SUITE_TOKEN"])
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            junit = pathlib.Path(folder) / "junit.xml"
            run_suite(checkout, f"http://127.0.0.1:{proxy.server_address[1]}", junit)
            found = read_report(junit)
        if kept:
            pathlib.Path(kept).write_text("".join(f"{json.dumps(one)}\n" for one in proxy.kept))
    return judge_report(found, "a2a-tck", report)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
