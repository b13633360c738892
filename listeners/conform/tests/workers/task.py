"""A worker for the tasks of schemas/conform.xsd, in plain Python: stdin and stdout, no library.

Each delivery has a thread of its own. Both framings are understood, by the first byte that comes."""
import binascii
import hashlib
import os
import re
import signal
import sys
import threading
import time
import xml.parsers.expat
from xml.sax.saxutils import escape

LISTENER = "urn:systole:listener:v1"
STAMP = "urn:systole:stamp:v1"
ENVELOPE = "https://xml-pipeline.org/ns/envelope/v1"
CORE = "https://xml-pipeline.org/ns/core/v1"
TASK = "https://xml-pipeline.org/ns/conform/v1"
MOST = 8 << 20      # The most bytes of a document.


class Node:
    """An element: its namespace and name, its attributes, its children and its own text."""

    def __init__(self, name, attributes):
        self.ns, _, self.name = name.rpartition(" ")
        self.attributes, self.children, self.text = attributes, [], ""

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    def find(self, ns, name):
        return next((child for child in self.children if (child.ns, child.name) == (ns, name)), None)


def parse(document):
    """The root element of a document. A DOCTYPE is refused."""
    parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
    root, open_ = [], []

    def start(name, attributes):
        node = Node(name, attributes)
        (open_[-1].children if open_ else root).append(node)
        open_.append(node)

    def text(words):
        open_[-1].text += words

    def doctype(*_):
        raise ValueError("a DOCTYPE is refused")

    parser.StartElementHandler, parser.EndElementHandler = start, lambda _: open_.pop()
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, doctype
    parser.buffer_text = True
    parser.Parse(document, True)
    return root[0]


def content(text):
    """A text as the content of an element, with line breaks that stay what they are."""
    if re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text):
        raise ValueError("the text has a character that XML does not allow")
    return escape(text, {"\r": "&#13;", "\n": "&#10;"})


def value(text):
    return content(text).replace('"', "&quot;").replace("\t", "&#9;")


class Fail(Exception):
    """A failure of the worker's own."""

    def __init__(self, code, words, retry=False):
        super().__init__(words)
        self.code, self.words, self.retry = code, words, retry


class Cancelled(Exception):
    """The delivery was called back."""


class Turn:
    """One delivery, and what can be said and asked about it."""

    def __init__(self, link, message):
        self.link, meta = link, message.find(ENVELOPE, "meta")
        self.stamp = meta.find(STAMP, "stamp")
        self.delivery = self.stamp.get("delivery")
        sender = meta.find(ENVELOPE, "from")
        self.sender = sender.text if sender is not None else ""
        self.payload = next(child for child in message.children if child.ns != ENVELOPE)
        self.cancelled = threading.Event()
        self.numbers, self.answers = 0, {}
        self.changed = threading.Condition()

    def said(self, name, inside, **attributes):
        more = "".join(f' {name}="{value(str(it))}"' for name, it in attributes.items())
        return f'<{name} xmlns="{LISTENER}" delivery="{value(self.delivery)}"{more}>{inside}</{name}>'

    def ask(self, name, inside, **attributes):
        """Sends a question or an entry, and waits for its answer."""
        with self.changed:
            self.numbers += 1
            number = self.numbers
        more = "".join(f' {key.replace("_", "-")}="{value(str(it))}"' for key, it in attributes.items())
        self.link.send(f'<{name} xmlns="{LISTENER}" delivery="{value(self.delivery)}" id="{number}"{more}>{inside}</{name}>')
        answer = self.link.wait_for(self, number)
        refusal = answer.find(CORE, "system-error")
        if refusal is not None:
            raise Fail(refusal.get("code"), refusal.get("message", ""))
        return answer

    def view(self):
        """All messages of the view."""
        messages, start = [], 0
        while start is not None:
            view = self.ask("ask", f'<view from-seq="{start}"/>').find(LISTENER, "view")
            messages += [message.children[0] for message in view.children if message.name == "message"]
            start = view.get("next")
        return messages

    def done(self, text, n=None):
        number = "" if n is None else f' n="{n}"'
        stamp = " ".join(f'{name}="{value(self.stamp.get(name))}"' for name in ("key", "attempt", "turn"))
        return f'<done xmlns="{TASK}" {stamp}{number} sender="{value(self.sender)}">{content(text)}</done>'


def once(turn, text):
    """Journals the start and the result, or returns what an earlier attempt journalled."""
    prompt = hashlib.sha256(text.encode()).hexdigest()
    if turn.stamp.get("journal"):
        entries = turn.ask("ask", "<journal/>").find(LISTENER, "entries")
        starts = {entry.get("id") for entry in entries.children if entry.get("prompt") == prompt}
        for entry in entries.children:
            if entry.get("of") in starts:
                return entry.text
    start = turn.ask("journal", "", kind="model-started", model="work", prompt=prompt).get("id")
    result = text
    turn.ask("journal", content(result), kind="model-result", of=start, stop="end")
    return result


def blob(turn, text, is_hex):
    data = binascii.unhexlify(text) if is_hex else text.encode()
    inside = f'<put-blob encoding="hex">{data.hex()}</put-blob>' if is_hex else f"<put-blob>{content(text)}</put-blob>"
    name = turn.ask("ask", inside).find(LISTENER, "blob").get("hash")
    read, start = b"", 0
    while start is not None:
        page = turn.ask("ask", f'<blob hash="{name}" from="{start}"/>').find(LISTENER, "blob")
        read += binascii.unhexlify(page.text) if page.get("encoding") == "hex" else page.text.encode()
        start = page.get("next")
    return turn.done(f"{name} {read.hex() if is_hex else read.decode()}", len(read))


def answers(turn):
    """A later turn: the request is read again, since another process may have begun the call."""
    texts = [turn.view()[0].text]
    for item in turn.payload.children:
        done = item.find(TASK, "done") if item.name == "item" else None
        if done is not None:
            texts.append(done.text)
    return turn.done(" ".join(texts))


def work(turn):
    """The content of the reply."""
    task = turn.payload
    if (task.ns, task.name) == (CORE, "answers") and turn.stamp.get("turn") != "1":
        return answers(turn)
    if (task.ns, task.name) != (TASK, "task"):
        raise Fail("worker.unknown", f"it takes <task> alone, not <{task.name}>")
    do, text, code = task.get("do", "echo"), task.text, task.get("code", "")
    n = int(task.get("n", -1))
    if do == "echo":
        return turn.done(code + text)
    if do == "sleep":
        if turn.cancelled.wait(n / 1000):
            raise Cancelled()
    elif do == "hang":
        time.sleep(n / 1000 if n >= 0 else 1_000_000)
    elif do == "fail":
        raise Fail(code, text, n == 1)
    elif do == "again":
        return f'<again code="{value(code)}">{content(text)}</again>'
    elif do == "throw":
        raise RuntimeError(text)
    elif do == "exit":
        os._exit(n)
    elif do == "print":
        print(text, end="", flush=True)
    elif do == "stderr":
        sys.stderr.write("x" * n)
        sys.stderr.flush()
    elif do == "progress":
        turn.link.tell(turn.said("progress", content(text)))
    elif do == "notice":
        turn.link.note(turn, turn.said("notice", content(text), code=code))
    elif do == "view":
        texts = [message.text for message in turn.view()]
        return turn.done(hashlib.sha256("\n".join(texts).encode()).hexdigest(), len(texts))
    elif do == "blob":
        return blob(turn, text, code == "hex")
    elif do == "once":
        return turn.done(once(turn, text))
    elif do == "call":
        call = f'<message xmlns="{ENVELOPE}"><meta><to>peer</to></meta><task xmlns="{TASK}" do="echo">%s</task></message>'
        return "".join(call % content(f"{text}-{i}") for i in range(n))
    elif do == "many":
        notes = (f'<remark xmlns="{TASK}" n="{i}">{content(text)}</remark>' for i in range(n))
        return "".join(notes) + turn.done(text)
    elif do == "large":
        return turn.done("x" * n)
    elif do == "bad":
        return turn.done("\x01")
    elif do == "silent":
        return ""
    return turn.done(text)


def failure(code, words, retry=False):
    words = re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd]", "?", words)
    again = ' retry="true"' if retry else ""
    return f'<failure code="{value(code)}"{again}>{content(words)}</failure>'


def reply_to(turn, most=MOST):
    """The whole reply to a delivery."""
    try:
        inside = work(turn)
    except Fail as error:
        inside = failure(error.code, error.words, error.retry)
    except Cancelled:
        inside = failure("listener.cancelled", "it was called back")
    except Exception as error:
        inside = failure("listener.error", f"{type(error).__name__}: {error}")
    document = turn.said("reply", inside)
    if len(document.encode()) > most:
        document = turn.said("reply", failure("reply.too-large", f"{len(document)} bytes; put_blob stores them"))
    return document


class Pipe:
    """Stdin and stdout."""

    def __init__(self):
        self.input = sys.stdin.buffer
        self.output = os.fdopen(os.dup(1), "wb")      # Whatever else writes to stdout goes to stderr.
        os.dup2(2, 1)
        self.by_length, self.lock, self.turns = None, threading.Lock(), {}
        self.open, self.free = set(), threading.Condition()

    def documents(self):
        while line := self.input.readline():
            if self.by_length is None and line.strip():
                self.by_length = line[:1].isdigit()
            if self.by_length and line.strip():
                line = self.input.read(int(line))
            if line.strip():
                yield line

    def send(self, document):
        data = document.encode()
        with self.lock:
            self.output.write(b"%d\n%s\n" % (len(data), data) if self.by_length else data + b"\n")
            self.output.flush()

    tell = send

    def note(self, turn, document):
        self.send(document)

    def wait_for(self, turn, number):
        with turn.changed:
            while number not in turn.answers:
                if turn.cancelled.is_set():
                    raise Cancelled()
                turn.changed.wait(0.5)
            return turn.answers.pop(number)

    def answer(self, turn):
        self.send(reply_to(turn))
        with self.free:
            self.open.discard(turn)
            self.turns.pop(turn.delivery, None)
            self.free.notify_all()

    def begin(self, message):
        turn = Turn(self, message)
        with self.free:
            if turn.delivery in self.turns:      # It is at work already, and is answered once.
                return
            self.turns[turn.delivery] = turn
            self.open.add(turn)
        threading.Thread(target=self.answer, args=(turn,), daemon=True).start()

    def hear(self, document):
        root = parse(document)
        if (root.ns, root.name) == (ENVELOPE, "message"):
            return self.begin(root)
        if root.ns != LISTENER:
            print(f"it does not know <{root.name}> of {root.ns}", file=sys.stderr, flush=True)
            return None
        turn = self.turns.get(root.get("delivery"))
        if turn is None:
            return None
        if root.name == "cancel":
            turn.cancelled.set()
        elif root.name == "answer":
            with turn.changed:
                turn.answers[int(root.get("id"))] = root
                turn.changed.notify_all()

    def finish(self, seconds):
        """Waits for what is at work, at most that long."""
        end = time.monotonic() + seconds
        with self.free:
            while self.open and time.monotonic() < end:
                self.free.wait(0.1)
        return not self.open


def main():
    pipe, stopping = Pipe(), []

    def stop(*_):
        if stopping:
            os._exit(1)
        stopping.append(1)
        threading.Thread(target=lambda: os._exit(0 if pipe.finish(30) else 1), daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    for document in pipe.documents():
        if not stopping:
            pipe.hear(document)
        elif parse(document).ns == LISTENER:
            pipe.hear(document)
    os._exit(0 if pipe.finish(9) else 1)


if __name__ == "__main__":
    main()
