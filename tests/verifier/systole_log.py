#!/usr/bin/env python3
"""A second verifier of logs, for the tests. Of a log whose programs keep their prompts elsewhere it says that they are
not there. It was written from docs/reference/log.md and docs/reference/proof.md, and
shares no code with the product or with the verify.py of an export.

    systole_log.py LOG          prints what it finds as one line of JSON
    systole_log.py --serve      does so for each path that comes in a line of stdin
"""

import hashlib
import json
import os
import re
import sqlite3
import sys
from datetime import datetime, timedelta
from xml.parsers import expat

CORE = "https://xml-pipeline.org/ns/core/v1"
LISTENER = "urn:systole:listener:v1"
# A larger body without sensitive values is stored as a document.
LARGE_BODY = 64 << 10
# Bodies from which no state is made: only these may be erased whole.
SPOKEN = {
    "message": ["request", "begin", "call", "to-all", "to-first", "note", "final", "ask-person", "steer"],
    "approval": ["amendment"], "steer": ["steered"], "timer": ["set"],
}
ROWS = """
SELECT r.pos, t.text AS thread, r.seq, r.id, k.text AS kind, s.text AS sender, r.addressee AS to_id, a.text AS to_text,
       r.call, r.turn, r.ordinal, r.cause, r.key, r.origin, r.time, c.hash AS config, r.code AS code_id, m.text AS code,
       r.salt, r.head, r.body
FROM record r LEFT JOIN thread t ON t.id = r.thread LEFT JOIN word k ON k.id = r.kind
LEFT JOIN word s ON s.id = r.sender LEFT JOIN word a ON a.id = r.addressee LEFT JOIN config c ON c.id = r.config
LEFT JOIN word m ON m.id = r.code ORDER BY r.pos"""


class Damage(Exception):
    def __init__(self, position, why):
        super().__init__(why)
        self.position = position


def sha(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def uuid(raw):
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def utc(milliseconds):
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (milliseconds % 1000)


def need(condition, position, why):
    if not condition:
        raise Damage(position, why)


class Tree:
    """The Merkle tree of RFC 6962, as the roots of its complete parts."""

    def __init__(self):
        self.size, self.parts = 0, []

    def add(self, leaf):
        self.parts.append((1, leaf))
        self.size += 1
        while len(self.parts) > 1 and self.parts[-1][0] == self.parts[-2][0]:
            (count, right), (_, left) = self.parts.pop(), self.parts.pop()
            self.parts.append((2 * count, sha(b"\x01", left, right)))

    def root(self):
        if not self.parts:
            return sha()
        whole = self.parts[-1][1]
        for _, left in reversed(self.parts[:-1]):
            whole = sha(b"\x01", left, whole)
        return whole


def root_element(body):
    """Name and attributes of the first element; nothing if the body is not XML, or has a document type."""
    found = []

    def opened(name, attributes):
        if not found:
            found.append((name, attributes))

    def refused(*_):
        raise ValueError

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = opened
    parser.StartDoctypeDeclHandler = refused
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError):
        pass
    return found[0] if found else (None, {})


def erasure(body):
    """What an <erased> names: whether it is of a fork and whether it is complete, the parts with their positions, and
    the documents, each with the link of a prompt before it."""
    parts, documents, roots = [], [], []

    def opened(name, attributes):
        roots.append((name, attributes))
        if name == f"{CORE} record":
            parts.extend((int(attributes["position"]), int(part)) for part in attributes["parts"].split())
        if name == f"{CORE} document":
            documents.append([bytes.fromhex(attributes.get(name, "")) for name in ("hash", "before")])

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = opened
    parser.Parse(body, True)
    name, attributes = roots[0]
    flags = [attributes.get(flag) == "true" for flag in ("forked", "complete")]
    return (*flags, parts, documents) if name == f"{CORE} erased" else None


def link_before(text):
    """The hash before a link of a prompt."""
    kind, _, rest = text.partition(b"\n")
    if kind not in (b"systole prompt v1", b"systole prompt segment v1"):
        return None
    size, _, rest = rest.partition(b"\n")
    before, _, rest = rest.partition(b"\n")
    return bytes.fromhex(before.decode()) if len(rest) == int(size.split(b" ")[1]) else None


class Log:
    def __init__(self, path):
        # A log that was closed is one file; nothing is made beside it.
        how = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
        self.db = sqlite3.connect(f"file:{path}?{how}", uri=True)
        self.db.row_factory = sqlite3.Row
        self.db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self.tables = {row[0] for row in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        self.tree, self.ends, self.named = Tree(), {}, {}
        # Erased parts, each with whether its record names all documents that it left without bytes.
        self.holes, self.large, self.erased, self.erased_documents = [], [], {}, {}
        self.spawned, self.confirmed, self.finished, self.items, self.keys = {}, {}, {}, set(), set()

    def body(self, row):
        if row["body"] or "large" not in self.tables:
            return row["body"]
        found = self.db.execute(
            "SELECT d.bytes FROM large l JOIN document d ON d.id = l.document WHERE l.pos = ?", [row["pos"]]).fetchone()
        return found[0] if found else row["body"]

    def values(self, row, body):
        """The sensitive values of a body: where each begins and ends, and its seal."""
        if "part" not in self.tables:
            return []
        found, end = [], 0
        sql = "SELECT number, at, length, seal FROM part WHERE pos = ? ORDER BY number"
        for number, at, length, seal in self.db.execute(sql, [row["pos"]]):
            need(number == len(found) + 1, row["pos"], "the numbers of its parts have a gap")
            need(at >= end and length > 0 and at + length <= len(body), row["pos"], "its parts overlap")
            found.append((at, at + length, seal))
            end = at + length
        return found

    def commitment(self, row, body, values):
        """The hash over the parts: what is between the values, then each value."""
        ends = [0] + [end for _, end, _ in values]
        starts = [at for at, _, _ in values] + [len(body)]
        rest = [body[begin:end] for begin, end in zip(ends, starts)]
        hashes = [self.part(row, row["salt"], rest)]
        hashes += [self.part(row, seal, [body[at:end]]) for at, end, seal in values]
        return sha(b"\x05", *hashes)

    def part(self, row, seal, pieces):
        need(len(seal) in (16, 32), row["pos"], "a seal has another length")
        if len(seal) == 16:
            return sha(b"\x03", seal, *pieces)
        for piece in pieces:
            sign = b"*" * len(piece) if len(piece) < 8 else b"[erased]" + b"*" * (len(piece) - 8)
            need(piece == sign, row["pos"], "it has bytes in the place of an erased part")
        return seal

    def header(self, row, body, values):
        def text(value):
            return b"" if value is None else value.encode("utf-8", "surrogateescape")

        def decimal(value):
            return b"" if value is None else b"%d" % value

        fields = [
            b"systole record v1", text(row["thread"]), decimal(row["seq"]), text(uuid(row["id"])), text(row["kind"]),
            text(row["sender"]), text(row["to_text"]), text(row["call"]), decimal(row["turn"]), decimal(row["ordinal"]),
            text(row["cause"] and uuid(row["cause"])), text(row["key"]), text(row["origin"] and row["origin"].hex()),
            text(utc(row["time"])), text(row["config"].hex()), text(row["code"]), decimal(len(body)),
            ",".join(f"{at}+{end - at}" for at, end, _ in values).encode(),
        ]
        return b"".join(b"%d:%s\n" % (len(field), field) for field in fields)

    def record(self, row):
        pos = row["pos"]
        need(pos == self.tree.size + 1, self.tree.size + 1, "a position is missing")
        for column in ("thread", "kind", "sender", "config"):
            need(row[column] is not None, pos, f"its {column} is not in the log")
        need((row["to_id"] is None) == (row["to_text"] is None), pos, "its addressee is not in the log")
        need((row["code_id"] is None) == (row["code"] is None), pos, "its code is not in the log")
        need(len(row["id"]) == 16 and len(row["head"]) == 32, pos, "a length is wrong")
        body, thread = self.body(row), row["thread"]
        values = self.values(row, body)
        seq, head, _ = self.ends.get(thread, (0, sha(b"\x02", b"systole thread v1", thread.encode()), None))
        leaf = sha(b"\x00", self.header(row, body, values), self.commitment(row, body, values))
        head = sha(b"\x02", head, leaf)
        need(row["seq"] == seq + 1, pos, "a record of the thread is missing")
        need(row["head"] == head, pos, "its head is another one")
        first = self.ends[thread][2] if thread in self.ends else (pos, head, row["origin"])
        self.ends[thread] = (seq + 1, head, first)
        self.tree.add(leaf)
        for known, value in ((self.items, (thread, row["call"], row["turn"], row["ordinal"])),
                             (self.keys, (thread, row["sender"], row["key"]))):
            if value[-1] is not None:
                need(value not in known, pos, "it is recorded twice")
                known.add(value)
        self.named.setdefault(row["config"], (pos, "configuration"))
        self.losses(row, body, values)
        self.relatives(row, body, leaf)

    def losses(self, row, body, values):
        """The parts that the record lacks, and what it says was erased of others."""
        lost = [number for number, seal in enumerate([row["salt"]] + [seal for *_, seal in values]) if len(seal) == 32]
        kind, code, pos = row["kind"], row["code"], row["pos"]
        may_go = kind in ("journal", "refusal", "outcome") or code in SPOKEN.get(kind, [])
        need(0 not in lost or may_go, pos, "a body is gone from which state is made")
        self.holes.extend((pos, number) for number in lost)
        if 0 in lost and not values and len(body) > LARGE_BODY:
            self.large.append(pos)
        if (row["thread"], kind, code, row["sender"]) == ("sys", "message", "told", "core"):
            named = erasure(body)
            if named:
                is_of_fork, is_complete, parts, documents = named
                if is_of_fork:
                    self.erased, self.erased_documents = {}, {}
                self.erased.update((part, is_complete) for part in parts if part[0] < pos)
                for hash, before in documents:
                    if before or not self.erased_documents.get(hash):
                        self.erased_documents[hash] = before

    def relatives(self, row, body, leaf):
        kind, code, pos = row["kind"], row["code"], row["pos"]
        if kind == "refusal":
            name, attributes = root_element(body)
            if name == f"{CORE} system-error" and re.fullmatch("[0-9a-f]{64}", attributes.get("hash", "")):
                self.named.setdefault(bytes.fromhex(attributes["hash"]), (pos, "refused bytes"))
        if kind == "journal":
            name, attributes = root_element(body)
            hashes = [attributes.get("prompt", "")] + attributes.get("blobs", "").split()
            for hash in hashes if name == f"{LISTENER} journal" else []:
                if re.fullmatch("[0-9a-f]{64}", hash):
                    self.named.setdefault(bytes.fromhex(hash), (pos, "of a journal"))
        if kind == "message" and code == "spawn":
            self.spawned[leaf] = (row["thread"], pos)
        if kind == "message" and code in ("answer", "inbox"):
            name, attributes = root_element(body)
            if name == f"{CORE} thread-spawned" and code == "answer":
                self.confirmed[attributes.get("assigned_id")] = (attributes.get("head"), pos)
            if name == f"{CORE} thread-finished" and code == "inbox":
                self.finished[attributes.get("id")] = (attributes.get("head"), pos)

    def families(self):
        for thread, (_, _, (pos, head, origin)) in self.ends.items():
            parent = thread.rpartition(".")[0]
            if not parent:
                continue
            need(self.spawned.pop(origin, (None,))[0] == parent, pos, "its parent did not spawn it")
            need(thread in self.confirmed, pos, "its parent does not confirm it")
            said, at = self.confirmed.pop(thread)
            need(said == head.hex(), at, "it names another first head")
        for said, kind in ((self.spawned, "spawned"), (self.confirmed, "confirmed")):
            for _, pos in said.values():
                raise Damage(pos, f"the child that it {kind} is not there")
        for thread, (said, pos) in self.finished.items():
            need(thread in self.ends and self.ends[thread][1].hex() == said, pos, "it names another last head")

    def explained(self):
        for pos, number in self.holes:
            need((pos, number) in self.erased, pos, f"part {number} is gone, and no <erased> record says so")

    def documents(self):
        there, blank, links = set(), set(), {}
        has_pieces = self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'piece'").fetchone()
        pieces = dict(map(tuple, self.db.execute("SELECT hash, bytes FROM piece"))) if has_pieces else {}
        for hash, data in self.db.execute("SELECT hash, bytes FROM document"):
            if not data and sha(data) != hash:
                blank.add(hash)
                continue
            if data.startswith(b"systole pieces v1\n") and sha(data) != hash:
                names = [data[at:at + 32] for at in range(18, len(data), 32)]
                need(all(name in pieces for name in names), 0, "a piece of a document is not there")
                data = b"".join(pieces[name] for name in names)
            need(sha(data) == hash, 0, "a document does not have its hash")
            there.add(hash)
            links[hash] = link_before(data)
        wanted = {}
        for hash, (pos, what) in self.named.items():
            while hash and hash not in wanted:
                wanted[hash] = (pos, what)
                if what != "of a journal":
                    break
                # The record of an erasure names the link before an erased one.
                hash = links[hash] if hash in there else self.erased_documents.get(hash)
        # Older versions did not name the document of a large body that they erased. Each such body excuses one.
        excuses = sum(self.erased.get((pos, 0)) is False for pos in self.large)
        unnamed = [hash for hash in blank if hash not in self.erased_documents and hash not in wanted]
        need(len(unnamed) <= excuses, 0, "a document has no bytes, and no <erased> record says so")
        excuses -= len(unnamed)
        for hash, (pos, what) in wanted.items():
            if hash in there or hash in self.erased_documents:
                continue
            need(hash in blank and what == "refused bytes" and excuses > 0, pos,
                 f"a document that it names is not there: {what}")
            excuses -= 1

    def verify(self):
        count = self.db.execute("SELECT count(*) FROM record").fetchone()[0]
        for row in self.db.execute(ROWS):
            self.record(row)
        need(self.tree.size == count, self.tree.size + 1, "a record cannot be read")
        self.families()
        self.explained()
        self.documents()
        verdict = self.db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        need(verdict == "ok", 0, verdict)


def verdict(path):
    try:
        log = Log(path)
        log.verify()
        return {"ok": True, "records": log.tree.size, "threads": len(log.ends), "root": log.tree.root().hex()}
    except Damage as damage:
        return {"ok": False, "position": damage.position, "why": str(damage)}
    except (sqlite3.Error, AttributeError, OverflowError, TypeError, UnicodeError, ValueError) as fault:
        return {"ok": False, "position": 0, "why": f"{type(fault).__name__}: {fault}"}


def main():
    paths = [sys.argv[1]] if sys.argv[1] != "--serve" else (line.rstrip("\n") for line in sys.stdin)
    for path in paths:
        print(json.dumps(verdict(path)), flush=True)


if __name__ == "__main__":
    main()
