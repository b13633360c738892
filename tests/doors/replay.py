"""Sends again what a suite has sent, and compares the answers: replay.py KEPT ADDRESS TOKEN.

KEPT is what steering_proxy.py has kept: requests in the order in which they began, each with its answer. A request goes out
when those are answered that were answered before it. What is drawn anew in each run, such as ids and times, is another one
here: an answer shows which stands for which. All else is as it was."""

import http.client
import json
import re
import sys
import threading

DRAWN = re.compile(r"sess-[0-9a-f]{12}(?:\.\d+\.[0-9a-f-]{36})?|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?:[0-9a-f]{16}|[0-9a-f]{64})\b")
TIME = re.compile(r"(?:\d{4}-\d\d-\d\dT)?\d\d:\d\d:\d\d(?:\.\d+Z)?")
PATIENCE = 60
AT_WORK = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")


class Replay:
    def __init__(self, address, token):
        self.address, self.token = address, token
        self.learned, self.changed = {}, threading.Condition()
        self.wrong = []

    def learn(self, kept, came):
        """Which drawn words of an answer stand for which."""
        with self.changed:
            for one, other in zip(DRAWN.findall(kept), DRAWN.findall(came)):
                self.learned.setdefault(one, other)
            self.changed.notify_all()

    def translate(self, text, answered):
        """What was sent, with the drawn words of this run. Those that an earlier answer has are waited for."""
        def is_known():
            return all(word in self.learned for word in DRAWN.findall(text) if word in answered)
        with self.changed:
            if not self.changed.wait_for(is_known, PATIENCE):
                raise RuntimeError(f"no answer has what stands in {text}")
            return DRAWN.sub(lambda found: self.learned.get(found.group(), found.group()), text)

    def send(self, kept, answered):
        try:
            self.compare(kept, *self.ask(kept, answered))
        except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
            self.wrong.append(f"{kept['method']} {kept['path']} {kept['body']}: {error!r}")

    def ask(self, kept, answered):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        headers = {**kept["headers"], "authorization": f"Bearer {self.token}"}
        path, body = self.translate(kept["path"], answered), self.translate(kept["body"], answered)
        connection.request(kept["method"], path, body=body.encode() or None, headers=headers)
        answer = connection.getresponse()
        lines = []
        if (answer.getheader("Content-Type") or "").endswith("event-stream"):
            is_left = "ended" not in kept or kept.get("left")
            while line := answer.readline():
                if not line.startswith(b"data:"):
                    continue
                lines.append(line.decode().strip())
                if len(lines) <= len(kept["lines"]):
                    self.learn(kept["lines"][len(lines) - 1], lines[-1])
                if is_left and len(lines) >= len(kept["lines"]):
                    break
        else:
            lines.append(answer.read().decode())
            self.learn(kept["lines"][0] if kept["lines"] else "", lines[0])
        connection.close()
        return answer.status, lines

    def compare(self, kept, status, lines):
        before, now = shape_lines(kept["lines"], self.learned), shape_lines(lines, {})
        if kept["status"] != status or not is_same(before, now):
            sent = f"{kept['method']} {kept['path']} {kept['body']}"
            self.wrong.append(f"{sent}\n  was {kept['status']} {before}\n  is  {status} {now}")


def is_same(before, now):
    """Whether an answer says the same. A task at work may be done by now, or not yet, as fast as the machine is."""
    if isinstance(before, dict) and isinstance(now, dict):
        if any(read_state(one) in AT_WORK for one in (before, now)):
            return all(before.get(key) == now.get(key) for key in ("id", "contextId"))
        return before.keys() == now.keys() and all(is_same(value, now[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(is_same, before, now))
    return before == now


def read_state(value):
    status = value.get("status")
    return status.get("state") if isinstance(status, dict) else None


def shape_lines(lines, learned):
    """What is compared of an answer. A stream is compared by its first and its last event: what comes between them comes in
    more or fewer pieces, and of a task that is done there is one alone."""
    if not any(line.startswith("data:") for line in lines):
        return [shape(line, learned) for line in lines]
    events = [shape(line.removeprefix("data:"), learned) for line in lines]
    return [{"first": list_kinds(events[0]), "status": {"state": read_end(events[-1])}}]


def list_kinds(event):
    return sorted((event.get("result") or event).keys())


def read_end(event):
    inside = event.get("result") or event
    told = inside.get("statusUpdate") or inside.get("task") or {}
    return read_state(told)


def shape(text, learned):
    text = DRAWN.sub(lambda found: learned.get(found.group(), found.group()), text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ORGANISM", TIME.sub("TIME", text))
    try:
        return json.loads(text)
    except ValueError:
        return text


def main(path, address, token):
    with open(path, encoding="utf-8") as file:
        all_kept = [json.loads(line) for line in file]
    answered = {word for kept in all_kept for line in kept["lines"] for word in DRAWN.findall(line)}
    replay, running = Replay(address, token), []
    for kept in all_kept:
        for ended, thread in running:
            if ended < kept["began"]:
                thread.join(PATIENCE)
        thread = threading.Thread(target=replay.send, args=(kept, answered), daemon=True)
        thread.start()
        running.append((kept.get("ended", float("inf")), thread))
    for (_, thread), kept in zip(running, all_kept):
        thread.join(PATIENCE)
        if thread.is_alive():
            replay.wrong.append(f"{kept['method']} {kept['path']} {kept['body']}: its answer has no end")
    for wrong in replay.wrong:
        print(wrong)
    print(f"{len(all_kept)} sent, {len(replay.wrong)} with another answer")
    return 1 if replay.wrong or not all_kept else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
