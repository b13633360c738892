"""The Python SDK beside workers without it, in turn and in one run: python3 benches/sdk.py [ROUNDS].

Over stdin the worker of the page on listeners and one on the SDK answer the same requests, with 1 and with 32 in flight.
Over a real nats-server a plain worker on nats-py and one on the SDK answer the same tasks in 16 slots. Last, how long the
import of the SDK takes beside that of asyncio. It prints the median of each, and the ratio. PYTHONPATH has nats-py and
nkeys; nats-server is on PATH.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SDK = ROOT / "listeners/sdk/python"
sys.path[:0] = [str(SDK), str(SDK / "tests")]

from tests.broker import Broker, Pump  # noqa: E402

TALK = "https://xml-pipeline.org/ns/talk/v1"
ON_SDK = """from systole_sdk import listener, run
from systole_sdk.talk import Answer, Ask
@listener
def answer(request: Ask) -> Answer:
    return Answer(text="You asked: " + request.text)
run()
"""
COUNT = 4000


def write_request(number: int) -> bytes:
    stamp = f'<stamp xmlns="urn:systole:stamp:v1" delivery="d{number}" key="k{number}" call="1" turn="1" attempt="1"/>'
    return (f'<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta><from>a</from><thread>t</thread>{stamp}</meta>'
            f'<ask xmlns="{TALK}">number {number}</ask></message>\n').encode()


def time_stdin(program: str, in_flight: int) -> float:
    """Replies a second of a worker over stdin."""
    environment = {**os.environ, "PYTHONPATH": str(SDK), "SYSTOLE_PROTOCOL": "1", "SYSTOLE_MODE": "stay", "SYSTOLE_LISTENER": "answer"}
    with subprocess.Popen([sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0) as worker:
        said = os.fdopen(os.dup(worker.stdout.fileno()), "rb")
        begun = 0.0
        for number in range(in_flight):
            worker.stdin.write(write_request(number))
        for number in range(COUNT):
            if number == COUNT // 4:
                begun = time.perf_counter()
            assert b"You asked" in said.readline()
            if number + in_flight < COUNT:
                worker.stdin.write(write_request(number + in_flight))
        took = time.perf_counter() - begun
        worker.stdin.close()
        said.close()
    return (COUNT - COUNT // 4) / took


async def time_nats(program: str) -> float:
    """Replies a second of a worker over NATS with 16 slots."""
    broker = Broker()
    broker.start()
    try:
        async with Pump(broker) as pump:
            environment = {**os.environ, "SYSTOLE_NATS": broker.url, "SYSTOLE_ORGANISM": "hello", "SYSTOLE_LISTENER": "worker", "SYSTOLE_SLOTS": "16",
                           "PYTHONPATH": os.pathsep.join([str(SDK), str(SDK / "tests"), os.environ.get("PYTHONPATH", "")])}
            pump.worker = subprocess.Popen([sys.executable, program], env=environment, stderr=subprocess.PIPE, start_new_session=True)
            task = '<task xmlns="https://xml-pipeline.org/ns/conform/v1">x</task>'
            begun = 0.0
            for number in range(COUNT):
                await pump.send(f"d{number}", task)
                while number - len(pump.replies) >= 32:
                    await asyncio.sleep(0)
                if number == COUNT // 4:
                    begun = time.perf_counter()
            await pump.wait(lambda: len(pump.replies) >= COUNT)
            return (COUNT - COUNT // 4) / (time.perf_counter() - begun)
    finally:
        broker.remove()


def time_import(module: str) -> float:
    """How often a second a process can be started that imports a module, beside one that imports none."""
    def start(code: str) -> float:
        begun = time.perf_counter()
        for _ in range(10):
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(SDK)})
        return (time.perf_counter() - begun) / 10
    return start(f"import {module}") - start("pass")


def compare(what: str, unit: str, rounds: int, other, sdk) -> None:
    pairs = [(other(), sdk()) for _ in range(rounds)]
    left, right = (statistics.median(values) for values in zip(*pairs))
    ratio = statistics.median(ours / theirs for theirs, ours in pairs)
    print(f"{what:34} {left:10.4g} {right:10.4g} {unit:10} ratio {ratio:.2f}", flush=True)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        on_sdk = Path(folder, "answer.py")
        on_sdk.write_text(ON_SDK)
        page = str(ROOT / "config/first-listeners/answer.py")
        for in_flight in (1, 32):
            compare(f"stdin, {in_flight} in flight", "replies/s", rounds, lambda: time_stdin(page, in_flight), lambda: time_stdin(str(on_sdk), in_flight))
        workers = ROOT / "listeners/conform/tests/workers"
        compare("NATS, 16 slots", "replies/s", rounds, lambda: asyncio.run(time_nats(str(workers / "task_nats.py"))),
                lambda: asyncio.run(time_nats(str(workers / "sdk.py"))))
        compare("import, beside asyncio", "s", rounds, lambda: time_import("asyncio"), lambda: time_import("systole_sdk"))


if __name__ == "__main__":
    main()
