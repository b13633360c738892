"""The worker of task.py with one fault: --fault ID plants the one that the check of that name finds, and no other."""
import os
import re
import select
import sys
import threading
import unicodedata

import task

FAULT = sys.argv[sys.argv.index("--fault") + 1]
Pipe, Turn = task.Pipe, task.Turn


def plant(place, name):
    """Replaces a function; the new one gets the old one first."""
    def put(new):
        old = getattr(place, name)
        replaced = lambda *given, **named: new(old, *given, **named)
        setattr(place, name, replaced)
    return put


def frame_split():
    """Each portion is decoded by itself, so a character between two portions is lost."""
    @plant(Pipe, "documents")
    def documents(_, pipe):
        held = b""
        while portion := os.read(0, 1 << 16):
            held += portion.decode("utf-8", "replace").encode()
            while b"\n" in held:
                line, _, rest = held.partition(b"\n")
                if pipe.by_length is None and line:
                    pipe.by_length = line[:1].isdigit()
                if not pipe.by_length:
                    held = rest
                elif not line:
                    held = rest
                    continue
                elif len(rest) < int(line):
                    break
                else:
                    line, held = rest[:int(line)], rest[int(line):]
                if line.strip():
                    yield line


def frame_length():
    """The length counts the line break behind the document."""
    @plant(Pipe, "send")
    def send(old, pipe, document):
        if not pipe.by_length:
            return old(pipe, document)
        data = document.encode() + b"\n"
        with pipe.lock:
            pipe.output.write(b"%d\n%s" % (len(data), data))
            pipe.output.flush()


def frame_newline():
    """A carriage return is written as it is, and read as a line feed."""
    @plant(task, "content")
    def content(old, text):
        return old(text).replace("&#13;", "\r")


def frame_flush():
    """The first reply stays in the buffer until there is another one."""
    first = []

    @plant(Pipe, "send")
    def send(old, pipe, document):
        with pipe.lock:
            if not first:
                first.append(1)
                return pipe.output.write(document.encode() + b"\n" if not pipe.by_length else b"%d\n%s\n" % (len(document.encode()), document.encode()))
        old(pipe, document)


def frame_tail():
    """The end of stdin ends it, whatever it has just read."""
    @plant(Pipe, "documents")
    def documents(old, pipe):
        for document in old(pipe):
            if select.select([0], [], [], 0.05)[0] and pipe.input.peek() == b"":
                os._exit(0)
            yield document


def text_escape():
    """The end of a CDATA section is escaped twice."""
    @plant(task, "content")
    def content(old, text):
        return old(text).replace("]]&gt;", "]]&amp;gt;")


def text_unicode():
    """Texts are put into another normal form."""
    @plant(Turn, "done")
    def done(old, turn, text, n=None):
        return old(turn, unicodedata.normalize("NFC", text), n)


def text_prefix():
    """The message is found by the letters of its tag."""
    @plant(Pipe, "hear")
    def hear(old, pipe, document):
        if b"<message" in document or task.parse(document).name != "message":
            old(pipe, document)


def text_cdata():
    """CDATA sections are skipped."""
    @plant(task, "parse")
    def parse(old, document):
        return old(re.sub(rb"<!\[CDATA\[.*?\]\]>", b"", document, flags=re.S))


def reply_delivery():
    """The answer to a request that came before, as other work, is given with the name of the earlier delivery."""
    known = {}

    @plant(task, "reply_to")
    def reply_to(old, turn, *most):
        key, request = turn.stamp.get("key"), turn.payload.text
        if turn.payload.get("do") != "echo" or not request:
            return old(turn, *most)
        earlier = known.setdefault(request, (key, turn.delivery))
        return old(turn, *most).replace(turn.delivery, turn.delivery if earlier[0] == key else earlier[1])


def reply_one():
    """Each reply is sent again a second later."""
    @plant(Pipe, "send")
    def send(old, pipe, document):
        old(pipe, document)
        if document.startswith("<reply"):
            threading.Timer(1, old, [pipe, document]).start()


def reply_throw():
    """An exception ends the program."""
    @plant(task, "work")
    def work(old, turn):
        try:
            return old(turn)
        except RuntimeError:
            os._exit(1)


def turn_restart():
    """The request is kept in memory alone."""
    kept = {}

    @plant(task, "work")
    def work(old, turn):
        if turn.stamp.get("turn") == "1":
            kept[turn.stamp.get("call")] = turn.payload.text
        return old(turn)

    @plant(task, "answers")
    def answers(_, turn):
        done = (item.find(task.TASK, "done") for item in turn.payload.children if item.name == "item")
        return turn.done(" ".join([kept.get(turn.stamp.get("call"), "")] + [it.text for it in done if it is not None]))


def while_interleaved():
    """An answer goes to whoever asked first."""
    waiting, lock = [], threading.Lock()

    @plant(Pipe, "send")
    def send(old, pipe, document):
        if document.startswith(("<ask", "<journal")):
            root = task.parse(document)
            with lock:
                waiting.append((pipe.turns[root.get("delivery")], int(root.get("id"))))
        old(pipe, document)

    @plant(Pipe, "hear")
    def hear(old, pipe, document):
        root = task.parse(document)
        if root.name != "answer":
            return old(pipe, document)
        with lock:
            turn, number = waiting.pop(0)
        with turn.changed:
            turn.answers[number] = root
            turn.changed.notify_all()


def future_document():
    """A document that it does not know ends it."""
    @plant(Pipe, "hear")
    def hear(old, pipe, document):
        root = task.parse(document)
        if root.ns == task.LISTENER and root.name not in ("cancel", "answer"):
            os._exit(2)
        old(pipe, document)


def key_twice():
    """A delivery that comes again is a failure."""
    seen = set()

    @plant(Pipe, "begin")
    def begin(old, pipe, message):
        turn = Turn(pipe, message)
        if turn.delivery in seen:
            return pipe.send(turn.said("reply", task.failure("worker.again", "it has had this delivery")))
        seen.add(turn.delivery)
        old(pipe, message)


def nats_pull():
    """A pull asks for two deliveries."""
    over_nats().PULL = b'{"batch":2,"expires":5000000000}'


def nats_again():
    """A pull that ends soon is followed by the next one only after four seconds."""
    from asyncio import sleep

    over_nats().PULL = b'{"batch":1,"expires":300000000}'

    @plant(over_nats().Worker, "pull")
    async def pull(old, worker, inbox, came):
        message = await old(worker, inbox, came)
        if message is None:
            await sleep(4)
        return message


def nats_renew():
    """Work that waits is not renewed."""
    @plant(over_nats().Worker, "renew")
    async def renew(old, worker, message):
        if b'do="sleep"' not in message.data:
            await old(worker, message)


def nats_until_receipt():
    """Renewal ends with the work, before the receipt."""
    @plant(over_nats().Worker, "send_reply")
    async def send_reply(old, worker, message, turn, reply, renewal):
        renewal.cancel()
        await old(worker, message, turn, reply, renewal)


def nats_resend():
    """A reply that gets no receipt twice is written anew."""
    import nats.errors
    from asyncio import sleep

    @plant(over_nats().Worker, "request")
    async def request(_, worker, place, document, cancelled=None):
        for count in range(1000):
            try:
                more = b"<!-- again -->" if count > 1 else b""
                return (await worker.client.request(place, document + more, timeout=5)).data
            except (nats.errors.Error, OSError) as error:
                while not isinstance(error, (nats.errors.TimeoutError, TimeoutError)):
                    try:
                        await sleep(0.2)
                        return (await worker.client.request(place, document, timeout=5)).data
                    except (nats.errors.Error, OSError) as another:
                        error = another
                await sleep(0.2)


def nats_ack():
    """The delivery is acknowledged before its receipt."""
    @plant(over_nats().Worker, "send_reply")
    async def send_reply(old, worker, message, turn, reply, renewal):
        await worker.client.publish(message.reply, b"+ACK")
        await old(worker, message, turn, reply, renewal)


def nats_large():
    """A reply is sent whatever its size."""
    over_nats()

    @plant(task, "reply_to")
    def reply_to(old, turn, *_):
        return old(turn)


def nats_term():
    """TERM ends it without a look at the pulls that are on their way."""
    @plant(over_nats().Worker, "gives_up")
    def gives_up(_, worker):
        return worker.stopping.is_set()


def nats_lookup():
    """It looks its stream up before it begins."""
    @plant(over_nats().Worker, "serve_service")
    async def serve_service(old, worker):
        await worker.client.publish("$JS.API.STREAM.INFO.SYSTOLE_x_BUS", b"", reply=worker.client.new_inbox())
        await old(worker)


def over_nats():
    import task_nats
    return task_nats


globals()[FAULT.replace(".", "_").replace("-", "_")]()
if "task_nats" in sys.modules:
    import asyncio
    asyncio.run(over_nats().Worker().main())
else:
    task.main()
