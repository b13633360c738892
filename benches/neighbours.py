"""How long a client waits for its answers beside another that floods the same listener: neighbours.py PROGRAM

Runs an organism of PROGRAM in a folder of its own, with a listener in Python. One client sends messages one after another
with Systole-Wait: alone, behind 5,000 messages of another client, and while that one sends with 64 connections. Prints the
median and the 99th percentile of each, and the ratios to alone in the same round. Give it a release build.
"""
import http.client
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

FILE = """organism: {name: neighbours, entry: echo}
listeners:
  echo: {run: [python3, echo.py], accepts: [ask], returns: [answer], entry: true}
clients: {ann: {token_env: ANN}, ben: {token_env: BEN}}
log: {path: ./log.db}
console: {listen: "127.0.0.1:0"}
"""
ECHO = """import re, sys
for line in sys.stdin:
    delivery = re.search(' delivery="([^"]*)"', line)
    if delivery:
        answer = '<answer xmlns="https://xml-pipeline.org/ns/talk/v1">heard</answer>'
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery[1]}">{answer}</reply>', flush=True)
"""
ASK = '<ask xmlns="https://xml-pipeline.org/ns/talk/v1">Who is there?</ask>'
TOKENS = {"ann": "ann-0123456789abcdef", "ben": "ben-0123456789abcdef"}
MESSAGES, ROUNDS = 300, 5


def send(door, client, key, waits):
    headers = {"Authorization": "Bearer " + TOKENS[client], "Idempotency-Key": key}
    door.request("POST", "/v1/messages", ASK, headers | ({"Systole-Wait": "60"} if waits else {}))
    answer = door.getresponse()
    answer.read()
    return answer.status


def measure(address, name):
    """The median and the 99th percentile, in milliseconds."""
    door, took = http.client.HTTPConnection(address), []
    for number in range(MESSAGES):
        began = time.perf_counter()
        assert send(door, "ann", f"{name}-{number}", True) == 200
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return took[len(took) // 2], took[len(took) * 99 // 100]


def flood(address, name, count, connections):
    """Sends messages that are not waited for. A full queue refuses some."""
    def work(one):
        door = http.client.HTTPConnection(address)
        for number in range(count // connections):
            assert send(door, "ben", f"{name}-{one}-{number}", False) in (202, 429)
    workers = [threading.Thread(target=work, args=(one,)) for one in range(connections)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def show(what, alone, beside):
    words = f"p50 {beside[0]:7.2f} ms, alone {alone[0]:5.2f}; p99 {beside[1]:7.2f} ms, alone {alone[1]:5.2f}"
    print(f"{what:<16} {words}; ratio {beside[1] / alone[1]:.2f}", flush=True)


def main():
    if len(sys.argv) > 2:      # The other client: a process of its own.
        return flood(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "organism.yaml").write_text(FILE)
        Path(folder, "echo.py").write_text(ECHO)
        tokens = {name.upper(): token for name, token in TOKENS.items()}
        program = Path(sys.argv[1]).resolve()
        run = subprocess.Popen([program, "run"], cwd=folder, env={"PATH": "/usr/bin:/bin", **tokens},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        address = next(line for line in run.stderr if "listens on" in line).split("http://")[1].split(";")[0]
        threading.Thread(target=run.stderr.read, daemon=True).start()
        other = lambda *words: subprocess.Popen([sys.executable, __file__, "", address, *words])
        measure(address, "warm")
        for turn in range(ROUNDS):
            door = http.client.HTTPConnection(address)
            alone = measure(address, f"alone-{turn}")
            other(f"stack-{turn}", "5000", "16").wait()
            show("behind 5,000", alone, measure(address, f"behind-{turn}"))
            send(door, "ben", f"stack-end-{turn}", True)
            alone = measure(address, f"again-{turn}")
            floods = other(f"flood-{turn}", "64000", "64")
            time.sleep(1)
            show("64 connections", alone, measure(address, f"beside-{turn}"))
            floods.kill()
            floods.wait()
            send(door, "ben", f"flood-end-{turn}", True)
        run.terminate()
        run.wait()


main()
