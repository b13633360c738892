"""Runs the suite of Open Responses against an agent that sees pictures: run_open_responses.py CHECKOUT SYSTOLE REPORT.

CHECKOUT is the folder with the suite and the packages that it needs, and tsx to run it; node is on the PATH. The report
has a line for each test that failed. It is compared with open-responses-expected.txt beside this file: a failure that is
not there is an error, and so is one that is there and has not happened."""

import json
import pathlib
import subprocess
import sys
import tempfile

from suite_house import TOKENS, judge_report, run_organism

ORGANISM = """organism: {name: seen, entry: seer}
models: {main: {provider: script, model: main, file: replies.yaml, files: [image]}}
agents: {seer: {model: main, dialect: plain, entry: true, prompt: {identity: You see.}}}
console: {listen: "127.0.0.1:0"}
doors: {openai: true}
clients: {suite: {token_env: SUITE_TOKEN}}
"""
REPLIES = """seer: [{times: always, say: "I see it. One, two, three.", chunk: 5, usage: {in: 10, out: 5}}]
"""


def run_suite(checkout, url):
    command = ["node_modules/.bin/tsx", "bin/compliance-test.ts", "--json", "--base-url", f"{url}/openai/v1",
               "--api-key", TOKENS["SUITE_TOKEN"], "--model", "seer"]
    ran = subprocess.run(command, cwd=checkout, check=False, stdout=subprocess.PIPE, text=True)
    found = {"passed": set(), "failed": set(), "skipped": set()}
    for test in json.loads(ran.stdout)["results"]:
        found[test["status"]].add(test["id"])
    return found


def main(checkout, systole, report):
    with tempfile.TemporaryDirectory() as folder:
        house = pathlib.Path(folder)
        (house / "organism.yaml").write_text(ORGANISM)
        (house / "replies.yaml").write_text(REPLIES)
        with run_organism(systole, house) as url:
            found = run_suite(checkout, url)
    return judge_report(found, "open-responses", report)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
