#!/usr/bin/env python3
"""Verifies an export of Systole. It needs Python 3.8 or newer, and nothing else.

    python3 verify.py [EXPORT] [--policy FILE] [--key KEY] [--against NOTE]

EXPORT    the zip file or its unpacked folder; without it, the folder of this program
--policy  the keys of logs and witnesses that you trust, in the form of C2SP's tlog-policy
--key     one key of a log that you trust, as systole keygen printed it
--against a checkpoint of the log that you kept elsewhere

Exit: 0 shown, 1 sound but less than the policy asks, 2 usage, 3 the policy is wrong, 7 damaged or
contradicted, as with systole verify.

This program came with the export. If you do not trust its sender, take the program from Systole's own sources.
"""

import argparse
import base64
import hashlib
import io
import json
import os
import re
import stat
import struct
import sys
import time
import zlib
from xml.parsers import expat

# Every name that is read, and the most bytes of it. No other name is opened.
MIB = 1 << 20
SIZES = {
    "README.txt": MIB, "verify.py": MIB, "statement.json": MIB, "records.jsonl": 1 << 32, "documents.jsonl": 1 << 32,
    "checkpoint.txt": 256 << 10, "proof.json": 64 * MIB, "policy.txt": 256 << 10, "thread.xml": 1 << 32,
    "index.html": 1 << 32, "holes.jsonl": 1 << 32, "erased.jsonl": 1 << 32, "starts.jsonl": 64 * MIB,
}
NEEDED = ["statement.json", "records.jsonl", "documents.jsonl"]
LINE = 64 * MIB
CORE = "https://xml-pipeline.org/ns/core/v1"
TALK = "https://xml-pipeline.org/ns/talk/v1"
MCP = "https://xml-pipeline.org/ns/mcp/v1"
FILE = {"sha256", "type", "bytes"}
# What records call a file that must be there, and one of a field, which must be there if its pump knew fields.
FILE_USE, FIELD_USE = "a file", "the file of a field"
# The first version of stored configurations whose pumps knew file fields.
FIELDS_SINCE = 8
FILE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
LISTENER = "urn:systole:listener:v1"
# The records whose whole body may be erased: no state is made from it.
ERASABLE = {
    "message": {"request", "begin", "call", "to-all", "to-first", "note", "final", "ask-person", "steer"},
    "approval": {"amendment"}, "steer": {"steered"}, "timer": {"set"},
}
# A larger body without sensitive values is a document of the log.
LARGE_BODY = 64 << 10
# What only journals name.
OF_JOURNALS = {"the prompt", "the answer of a model"}
RECORD = [
    "position", "thread", "seq", "id", "kind", "from", "to", "call", "turn", "ordinal", "cause", "key", "origin",
    "time", "config", "code", "length", "holes", "parts", "head",
]
NUMBERS = {"position": 64, "seq": 64, "length": 64, "turn": 32, "ordinal": 32}
REASONS = {
    "erased": "erased in the log", "sensitive": "a sensitive value", "selected": "selected by an expression",
    "journal": "a journal entry", "error": "an error, which may quote a value", "repeat": "repeats what was left out",
    "hash": "has the hash of what is not in the export",
}
UNEXPLAINED = "unexplained: it is said to be erased, and no <erased> record says so"
HOLES = 20
OPTIONAL = {"to", "call", "turn", "ordinal", "cause", "key", "origin", "code"}
HEADER = RECORD[1:16]


class Damaged(Exception):
    """The export does not fit together. The position is that of the first record that shows it, or 0."""

    def __init__(self, why, position=0):
        super().__init__(why)
        self.position = position


class Usage(Exception):
    """What was asked cannot be done."""

    exit = 2


class WrongPolicy(Usage):
    """The policy cannot be read."""

    exit = 3


def H(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# The files of an export.

class Entry(io.RawIOBase):
    """The bytes of one entry of a zip file."""

    def __init__(self, file, at, size):
        self.file, self.at, self.left = file, at, size

    def readable(self):
        return True

    def readinto(self, buffer):
        self.file.seek(self.at)
        data = self.file.read(min(len(buffer), self.left))
        if not data and self.left and len(buffer):
            raise Damaged("an entry of the zip file is cut off")
        self.at, self.left = self.at + len(data), self.left - len(data)
        buffer[:len(data)] = data
        return len(data)


class Files:
    """Opens files of the fixed list, in a zip or in a folder."""

    def __init__(self, path):
        self.path, self.zip = path, None
        if os.path.isdir(path):
            self.names = {name for name in SIZES if self.is_file(name)}
        else:
            self.names = self.of_zip()
        for name in NEEDED:
            if name not in self.names:
                raise Damaged(f"{name} is missing")

    def is_file(self, name):
        try:
            return stat.S_ISREG(os.lstat(os.path.join(self.path, name)).st_mode)
        except OSError:
            return False

    def of_zip(self):
        """Reads the directory of a zip file, and accounts for every byte of it. Only stored entries are allowed."""
        self.zip, self.entries = open(self.path, "rb"), {}
        size = self.zip.seek(0, os.SEEK_END)
        tail = self.bytes_at(max(0, size - 4096), 4096)
        if len(tail) < 22:
            raise Damaged("it is no export: it does not end like the zip file of one")
        count, length, offset = struct.unpack("<HII", tail[-12:-2])
        end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, length, offset, 0)
        if tail[-22:] != end or length > len(tail) - 22 or offset + length + 22 != size:
            raise Damaged("it is no export: it does not end like the zip file of one")
        rest, at = tail[len(tail) - 22 - length:-22], 0
        for _ in range(count):
            if len(rest) < 46:
                raise Damaged("the directory of the zip file is cut off")
            crc, _, size, named = struct.unpack("<IIIH", rest[16:30])
            mode, start = struct.unpack("<II", rest[38:46])
            name = rest[46:46 + named].decode("latin-1")
            if name not in SIZES or name in self.entries:
                raise Damaged(f"it has an entry {name[:80]!r}, which is not part of an export, or is there twice")
            mode = 0o100755 << 16 if mode >> 16 == 0o100755 else 0o100644 << 16
            common = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0x21, crc, size, size, named, 0)
            line = b"PK\1\2\x14\3" + common + bytes(6) + struct.pack("<II", mode, start) + name.encode()
            header = b"PK\3\4" + common + name.encode()
            if rest[:len(line)] != line or size > SIZES[name]:
                raise Damaged(f"{name} is compressed, too large, or was not written by systole export")
            if start != at or self.bytes_at(at, len(header)) != header:
                raise Damaged(f"{name} is not where the directory of the zip file says")
            self.entries[name] = (at + len(header), size, crc)
            rest, at = rest[len(line):], at + len(header) + size
        if rest or at != offset:
            raise Damaged("the zip file has bytes that belong to no entry")
        for name, (_, _, crc) in self.entries.items():
            sum = 0
            for chunk in self.chunks(name):
                sum = zlib.crc32(chunk, sum)
            if sum != crc:
                raise Damaged(f"{name}: its checksum differs")
        return set(self.entries)

    def bytes_at(self, at, length):
        self.zip.seek(at)
        return self.zip.read(length)

    def open(self, name):
        if self.zip:
            return io.BufferedReader(Entry(self.zip, *self.entries[name][:2]), MIB)
        file = open(os.path.join(self.path, name), "rb")
        if os.fstat(file.fileno()).st_size > SIZES[name]:
            raise Damaged(f"{name} is too large")
        return file

    def chunks(self, name):
        with self.open(name) as file:
            while True:
                chunk = file.read(MIB)
                if not chunk:
                    return
                yield chunk

    def whole(self, name):
        return b"".join(self.chunks(name))

    def digest(self, name):
        digest = hashlib.sha256()
        for chunk in self.chunks(name):
            digest.update(chunk)
        return digest.hexdigest()

    def lines(self, name):
        with self.open(name) as file:
            while True:
                line = file.readline(LINE + 1)
                if not line:
                    return
                if not line.endswith(b"\n") or len(line) > LINE:
                    raise Damaged(f"a line of {name} is not whole, or too long")
                yield line


def read_json(data, what):
    def fields(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name is there twice")
        return found

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=fields)
    except (ValueError, RecursionError) as fault:
        raise Damaged(f"{what} is not JSON: {fault}")


def hex_bytes(text, length, what):
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]*", text) or (length and len(text) != 2 * length):
        raise Damaged(f"{what} is not hex")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Damaged(f"{what} is not hex")


def base64_bytes(text):
    """The bytes of a base64 text with canonical padding."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("base64 in another form")
    return data


# Records.

def field(value):
    value = b"" if value is None else str(value).encode("utf-8")
    return b"%d:%s\n" % (len(value), value)


def header(record):
    values = ["systole record v1"] + [record[name] for name in HEADER] + [record["length"], record["holes"]]
    return b"".join(field(value) for value in values)


def value_of(part, what):
    """The salt and the bytes of a part, or None if it was dropped."""
    if not isinstance(part, dict) or not set(part) <= {"c", "salt", "text", "hex"} or "c" not in part:
        raise Damaged(f"{what} has another form")
    if "salt" not in part and "text" not in part and "hex" not in part:
        return None
    if "salt" not in part or ("text" in part) == ("hex" in part):
        raise Damaged(f"{what} has another form")
    if "hex" in part:
        return hex_bytes(part["salt"], 16, what), hex_bytes(part["hex"], 0, what)
    if not isinstance(part["text"], str):
        raise Damaged(f"{what} has another form")
    return hex_bytes(part["salt"], 16, what), part["text"].encode("utf-8")


class Record:
    """A line of records.jsonl, with what its hashes say."""

    def __init__(self, line):
        fields = read_json(line, "a line of records.jsonl")
        if not isinstance(fields, dict) or sorted(fields) != sorted(RECORD):
            raise Damaged("a line of records.jsonl does not have the fields of a record")
        at = fields["position"] if type(fields["position"]) is int else 0
        for name, value in fields.items():
            if name == "parts" or (value is None and name in OPTIONAL):
                continue
            if name in NUMBERS:
                is_right = type(value) is int and 0 <= value < 1 << NUMBERS[name]
            else:
                is_right = isinstance(value, str)
            if not is_right:
                raise Damaged(f"{name} is not what a record has there", at)
        self.fields, self.position, self.thread, self.seq = fields, at, fields["thread"], fields["seq"]
        try:
            self.hash()
        except UnicodeEncodeError:
            raise Damaged("a text is not Unicode", at)
        except Damaged as fault:
            raise Damaged(str(fault), at)

    def hash(self):
        parts = self.fields["parts"]
        if not isinstance(parts, list) or not parts:
            raise Damaged("it has no parts")
        values, commitments = [], []
        for number, part in enumerate(parts):
            value = value_of(part, f"part {number}")
            claimed = hex_bytes(part["c"], 32, f"the hash of part {number}")
            if value is not None and H(b"\x03", *value) != claimed:
                raise Damaged(f"part {number} is not the one that was hashed")
            values.append(None if value is None else value[1])
            commitments.append(claimed)
        self.dropped = [number for number, value in enumerate(values) if value is None]
        holes = self.holes(len(parts))
        sizes = [self.fields["length"] - sum(size for _, size in holes)] + [size for _, size in holes]
        for value, size in zip(values, sizes):
            if size < 0 or (value is not None and len(value) != size):
                raise Damaged("its parts do not have the lengths that its header says")
        places = [0] + [offset for offset, _ in holes]
        self.dropped = [
            {"position": self.position, "thread": self.thread, "seq": self.seq, "part": number, "at": places[number],
             "length": sizes[number]} for number in self.dropped
        ]
        # Without a later part, part 0 still has the root element.
        self.body = filled(values, holes) if not self.dropped else values[0]
        self.leaf = H(b"\x00", header(self.fields), H(b"\x05", *commitments))
        self.head = hex_bytes(self.fields["head"], 32, "head")

    def holes(self, parts):
        text, end, found = self.fields["holes"], 0, []
        for hole in text.split(",") if text else []:
            if not re.fullmatch(r"(0|[1-9][0-9]{0,9})\+[1-9][0-9]{0,9}", hole):
                raise Damaged("its holes have another form")
            offset, size = (int(number) for number in hole.split("+"))
            if offset < end or offset + size > self.fields["length"] or max(offset, size) >> 32 or len(found) == 1000:
                raise Damaged("its holes are not in order")
            end = offset + size
            found.append((offset, size))
        if len(found) != parts - 1:
            raise Damaged("it does not have a part for each hole")
        return found

    def documents(self):
        """The documents that it names, each with what it is."""
        found = [(self.fields["config"], "the configuration")]
        refused = self.says("refusal", None, "system-error", "hash")
        found += [(hash, "the refused bytes") for hash in refused or []]
        root = root_of(self.body) if self.fields["kind"] == "journal" and self.body is not None else None
        if root and root[0] == f"{LISTENER} journal" and root[1].get("kind") == "model-started":
            found.append((root[1].get("prompt", ""), "the prompt"))
        if root and root[0] == f"{LISTENER} journal" and root[1].get("kind") == "model-result":
            found += [(hash, "the answer of a model") for hash in root[1].get("blobs", "").split()]
        if self.body is not None and self.fields["kind"] not in ("journal", "refusal"):
            is_request = self.fields["code"] == "request"
            found += [(hash, what) for hash, what in files_of(self.body) if what == FILE_USE or is_request]
        return [(hash, what) for hash, what in found if re.fullmatch("[0-9a-f]{64}", hash)]

    def may_be_erased(self):
        """Whether no state is made from its body."""
        kind = self.fields["kind"]
        if kind == "message" and self.fields["code"] == "told":
            return self.fields["thread"] != "sys"
        return kind in ("journal", "refusal", "outcome") or self.fields["code"] in ERASABLE.get(kind, ())

    def says(self, kind, code, element, *names):
        """Attributes of a payload of the core, if the record has such a kind and code and its body can be read."""
        if self.fields["kind"] != kind or (code and self.fields["code"] != code) or self.body is None:
            return None
        root = root_of(self.body)
        if not root or root[0] != f"{CORE} {element}" or any(name not in root[1] for name in names):
            return None
        return [root[1][name] for name in names]


def filled(values, holes):
    """The whole body: part 0 with each value in its hole."""
    body, at, taken = [], 0, 0
    for (offset, size), value in zip(holes, values[1:]):
        body += [values[0][taken:taken + offset - at], value]
        taken, at = taken + offset - at, offset + size
    return b"".join(body + [values[0][taken:]])


class Root(Exception):
    pass


def root_of(body):
    """The name and the attributes of the root element."""
    def start(name, attributes):
        raise Root(name, attributes)

    def refuse(*_):
        raise ValueError("a document type")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    try:
        parser.Parse(body, True)
    except Root as root:
        return root.args
    except (expat.ExpatError, ValueError):
        pass
    return None


def is_field(attributes):
    """Whether an element refers to a file: it has exactly the attributes that the schema of a file field admits."""
    own = {name: value for name, value in attributes.items() if " " not in name}
    if set(own) not in (FILE, FILE | {"name"}):
        return False
    size = re.fullmatch("[ \t\r\n]*[+]?0*([0-9]{1,20})[ \t\r\n]*", own["bytes"])
    return (
        re.fullmatch("[0-9a-f]{64}", own["sha256"]) is not None and own["type"] in FILE_TYPES
        and size is not None and int(size.group(1)) < 1 << 64
    )


def knows_fields(data):
    """Whether the pump of this stored configuration knew file fields. To older ones they were data without a file."""
    found = re.match(b"[0-9]+:systole configuration v([0-9]{1,4})( with settings)?\n", data)
    return found is not None and int(found.group(1)) >= FIELDS_SINCE


def files_of(body):
    """The hashes of the files of a question to an agent, and of file fields."""
    found, names, open_field = [], [], []

    def start(name, attributes):
        names.append(name)
        open_field.clear()
        if name == f"{TALK} file" and names[0].startswith(f"{TALK} ") and "sha256" in attributes:
            found.append((attributes["sha256"], FILE_USE))
        elif not name.startswith((f"{TALK} ", f"{MCP} ")) and is_field(attributes):
            open_field.append((attributes["sha256"], FIELD_USE))

    def text(data):
        if data.strip(" \t\r\n"):
            open_field.clear()

    def end(_):
        found.extend(open_field)
        open_field.clear()

    def refuse(*_):
        raise ValueError("a document type")

    if b"sha256" not in body:
        return found
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
    parser.EndElementHandler, parser.CharacterDataHandler = end, text
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError):
        return []
    return found


class Erasures:
    """What the <erased> records of the log's own thread name."""

    def __init__(self):
        # Parts, each with whether the record names all documents that it left without bytes. Documents, each with the
        # link of a prompt before it.
        self.parts, self.documents = {}, {}

    def take(self, record):
        fields = record.fields
        if (record.thread, fields["kind"], fields["code"], fields["from"]) != ("sys", "message", "told", "core"):
            return
        found, opened = [], []

        def start(name, attributes):
            if not opened and name != f"{CORE} erased":
                raise ValueError("another element")
            opened.append(name)
            if name in (f"{CORE} erased", f"{CORE} record", f"{CORE} document"):
                found.append((name[len(CORE) + 1:], attributes))

        def refuse(*_):
            raise ValueError("a document type")

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.StartDoctypeDeclHandler = start, refuse
        try:
            parser.Parse(record.body or b"", True)
            parts = {(int(of["position"]), int(part)) for name, of in found if name == "record"
                     for part in of["parts"].split()}
            documents = [(of["hash"], of.get("before")) for name, of in found if name == "document"]
        except (expat.ExpatError, ValueError, KeyError):
            return
        if found[0][1].get("forked") == "true":
            # The ones before it name positions of the log that this one was forked from.
            self.parts, self.documents = {}, {}
        is_complete = found[0][1].get("complete") == "true"
        self.parts.update((named, is_complete) for named in parts if named[0] < record.position)
        for hash, before in documents:
            if before or not self.documents.get(hash):
                self.documents[hash] = before


class Walk:
    """Reads all records, thread after thread, and gathers what has to be compared."""

    def __init__(self):
        self.threads, self.leaves, self.dropped, self.unread = {}, {}, [], 0
        self.spawns, self.begun, self.ended = {}, {}, {}
        self.named, self.times, self.current = {}, [], None
        # The files of fields, each with the position and the configuration of its record.
        self.fields = []
        # Threads that left out what they say of their children.
        self.blind = set()
        # What was erased, the leaves of the records that say so, and records whose state is made from what they lack.
        self.erasures, self.said, self.needed = Erasures(), {}, set()
        # Records that lack a body which was so large that it was a document.
        self.large = set()

    def take(self, record):
        thread, at = record.thread, record.position
        if record.seq == 1:
            if thread in self.threads:
                raise Damaged(f"thread {thread} begins twice", at)
            self.current, last = thread, (0, H(b"\x02", b"systole thread v1", thread.encode()), 0)
        else:
            last = self.threads[thread] if thread == self.current else (0, b"", 0)
        if record.seq != last[0] + 1 or at <= last[2] or at in self.leaves:
            raise Damaged(f"record {record.seq} of thread {thread} does not come after record {last[0]}", at)
        if H(b"\x02", last[1], record.leaf) != record.head:
            raise Damaged(f"record {record.seq} of thread {thread} does not continue its hash chain", at)
        self.threads[thread] = (record.seq, record.head, at)
        self.leaves[at] = record.leaf
        self.dropped += record.dropped
        self.times = [min(self.times[0], record.fields["time"]), max(self.times[1], record.fields["time"])] \
            if self.times else [record.fields["time"]] * 2
        self.kin(record)
        for hash, what in record.documents():
            if what == FIELD_USE:
                self.fields.append((hash, at, record.fields["config"]))
            else:
                self.named.setdefault(hash, (at, what))
        if record.body is None and not record.may_be_erased():
            self.needed.add(at)
        if record.body is None and not record.fields["holes"] and record.fields["length"] > LARGE_BODY:
            self.large.add(at)
        self.erasures.take(record)

    def erasure(self, record):
        """A record of erased.jsonl. Only the proof shows that the log has it."""
        at = record.position
        if record.thread != "sys" or record.dropped or at <= max(self.said, default=-1) or at in self.leaves:
            raise Damaged("erased.jsonl has other records than those of erasures, in their order", at)
        self.said[at] = record.leaf
        self.erasures.take(record)

    def proved(self):
        """The leaves that a proof is about."""
        return sorted([*self.leaves.items(), *self.said.items()])

    def kin(self, record):
        fields, thread, at = record.fields, record.thread, record.position
        parent = thread.rpartition(".")[0]
        if record.seq == 1 and parent in self.threads:
            spawn = self.spawns.pop(fields["cause"], None)
            if spawn is None or spawn[0] != parent:
                raise Damaged(f"no record of {parent} spawned it", at)
            if fields["origin"] != spawn[1].hex():
                raise Damaged("its origin is not the leaf of the record that spawned it", at)
            said = self.begun.pop(thread, None)
            if said is None:
                if parent not in self.blind:
                    raise Damaged("its parent does not confirm that it began", at)
                self.unread += 1
            elif said[0] != record.head.hex():
                raise Damaged(f"it names another first head of {thread}", said[1])
        if fields["kind"] == "message" and fields["code"] == "spawn":
            self.spawns[fields["id"]] = (thread, record.leaf, at)
        for code, element, name, kept in [
            ("answer", "thread-spawned", "assigned_id", self.begun), ("inbox", "thread-finished", "id", self.ended)
        ]:
            if record.body is None and (fields["kind"], fields["code"]) == ("message", code):
                self.blind.add(thread)
            said = record.says("message", code, element, name, "head")
            if said and said[0] in kept:
                raise Damaged(f"it says of {said[0]} what was said before", at)
            if said:
                kept[said[0]] = (said[1], at)

    def finish(self):
        for thread, (head, at) in self.ended.items():
            if thread not in self.threads:
                raise Damaged(f"it reports the end of {thread}, which is not in the export", at)
            if self.threads[thread][1].hex() != head:
                raise Damaged(f"it names another last head of {thread}", at)
        for thread, (_, at) in self.begun.items():
            raise Damaged(f"it confirms {thread}, which is not in the export", at)
        for _, (_, _, at) in self.spawns.items():
            raise Damaged("the child that it spawned is not in the export", at)


# The tree, checkpoints and keys.

def tree_root(leaves, size, hashes):
    """The root of a tree, from some of its leaves and the hashes of the subtrees without any of them."""
    given = iter(hashes)

    def root(low, high, start, end):
        if start == end:
            try:
                return next(given)
            except StopIteration:
                raise Damaged("the proof has too few hashes")
        if high - low == 1:
            return leaves[start][1]
        middle = low + (1 << (high - low - 1).bit_length() - 1)
        split = start
        low_end, high_end = start, end
        while low_end < high_end:
            split = (low_end + high_end) // 2
            if leaves[split][0] < middle:
                low_end = split + 1
            else:
                high_end = split
        return H(b"\x01", root(low, middle, start, low_end), root(middle, high, low_end, end))

    found = root(0, size, 0, len(leaves)) if size else H()
    if next(given, None) is not None:
        raise Damaged("the proof has too many hashes")
    return found


def number(text):
    return int(text) if re.fullmatch("0|[1-9][0-9]{0,18}", text) else None


class Note:
    """A signed checkpoint."""

    def __init__(self, data, what):
        try:
            text, signed, lines = data.decode("utf-8").partition("\n\n")
            self.text = text + "\n"
            lines_of_text = self.text.split("\n")
            self.origin, self.size = lines_of_text[0], number(lines_of_text[1])
            self.root = base64_bytes(lines_of_text[2])
            if not signed or self.size is None or self.size > 1 << 62 or len(self.root) != 32 or len(data) > 256 << 10:
                raise ValueError("it has another form")
            self.signatures = []
            for line in lines.split("\n")[:-1]:
                dash, name, blob = line.split(" ")
                blob = base64_bytes(blob)
                if dash != "\u2014" or len(blob) < 5:
                    raise ValueError("a signature has another form")
                self.signatures.append((name, blob[:4], blob[4:]))
        except (ValueError, IndexError) as fault:
            raise Damaged(f"{what} is no checkpoint: {fault}")

    def times(self, key):
        """For each signature of this key its time, or 0 if it has none. A wrong one is an error."""
        found = []
        for name, identity, blob in self.signatures:
            if (name, identity) != (key.name, key.identity):
                continue
            text, at = self.text.encode(), 0
            if key.kind == 4:
                at, blob = int.from_bytes(blob[:8], "big"), blob[8:]
                text = b"cosignature/v1\ntime %d\n" % at + text
            if not is_signature(key.public, text, blob):
                raise ValueError(f"the signature of {key.name} is wrong")
            found.append(at)
        return found


class Key:
    """A verifier key: NAME+ID+BASE64."""

    def __init__(self, text):
        try:
            self.name, identity, blob = text.split("+", 2)
            blob = base64_bytes(blob)
            self.identity, self.kind, self.public = bytes.fromhex(identity), blob[0], blob[1:]
        except (ValueError, IndexError):
            raise ValueError("a key is NAME+ID+BASE64, as systole keygen prints it")
        if self.kind not in (1, 4) or len(self.public) != 32:
            raise ValueError("this kind of key is not known; it is 0x01 for a log and 0x04 for a witness")
        if H(self.name.encode(), b"\n", blob)[:4] != self.identity:
            raise ValueError(f"the ID of the key of {self.name} is wrong")


class Policy:
    """Which logs and witnesses count."""

    def __init__(self, data):
        self.logs, self.witnesses, self.groups, self.quorum = [], {}, {}, None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise WrongPolicy("the policy is not UTF-8")
        for number_of_line, line in enumerate(text.split("\n"), 1):
            try:
                self.take(line.split())
            except (ValueError, KeyError, IndexError) as fault:
                raise WrongPolicy(f"line {number_of_line} of the policy: {fault}")
        if self.quorum is None:
            raise WrongPolicy("the policy has no line `quorum NAME` or `quorum none`")

    def take(self, words):
        if not words or words[0].startswith("#"):
            return
        if words[0] == "log":
            self.logs.append(Key(words[1]))
        elif words[0] == "witness":
            self.witnesses[words[1]] = Key(words[2])
        elif words[0] == "group":
            members = words[3:]
            enough = {"any": 1, "all": len(members)}.get(words[2]) or int(words[2])
            if not 1 <= enough <= len(members) or any(self.unknown(member) for member in members):
                raise ValueError("a group needs a threshold and known members")
            self.groups[words[1]] = (enough, members)
        elif words[0] == "quorum" and self.quorum is None:
            if words[1] != "none" and self.unknown(words[1]):
                raise ValueError(f"{words[1]} is not known")
            self.quorum = words[1]
        else:
            raise ValueError(f"{words[0]} is no keyword")

    def unknown(self, name):
        return name not in self.witnesses and name not in self.groups

    def judge(self, note):
        """The log that signed, the witnesses that cosigned with their times, and whether they are enough."""
        keys = [key for key in self.logs if key.name == note.origin]
        signed = [key for key in keys if note.times(key)]
        if not signed:
            raise ValueError(f"no log of the policy signed the checkpoint of {note.origin}")
        try:
            times = {name: note.times(key) for name, key in self.witnesses.items()}
        except ValueError:
            # A line that a stranger added takes nothing from the signature of the log.
            return signed[0], {}, False
        times = {name: min(found) for name, found in times.items() if found}

        def holds(name):
            if name in self.witnesses:
                return name in times
            enough, members = self.groups[name]
            return sum(holds(member) for member in members) >= enough

        return signed[0], times, self.quorum == "none" or holds(self.quorum)


# Ed25519, as in RFC 8032.

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, PRIME - 2, PRIME) % PRIME
ROOT = pow(2, (PRIME - 1) // 4, PRIME)
ZERO = (0, 1, 1, 0)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % PRIME, (p[1] + p[0]) * (q[1] + q[0]) % PRIME
    c, d = 2 * p[3] * q[3] * CURVE % PRIME, 2 * p[2] * q[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(scalar, point):
    found = ZERO
    while scalar:
        if scalar & 1:
            found = add(found, point)
        point, scalar = add(point, point), scalar >> 1
    return found


def is_zero(p):
    return p[0] % PRIME == 0 and (p[1] - p[2]) % PRIME == 0


def point_of(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, PRIME - 2, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * ROOT % PRIME
    if (x * x - square) % PRIME or (x == 0 and sign):
        return None
    x = PRIME - x if x & 1 != sign else x
    return x, y, 1, x * y % PRIME


BASE = point_of((4 * pow(5, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little"))


def is_signature(public, message, signature):
    if len(signature) != 64:
        return False
    key, point, scalar = point_of(public), point_of(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or point is None or scalar >= ORDER or is_zero(times(8, key)) or is_zero(times(8, point)):
        return False
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    minus = (PRIME - point[0], point[1], 1, PRIME - point[3])
    sides = add(add(times(scalar, BASE), times(ORDER - hashed, key)), minus)
    return is_zero(sides)


# What is done with all that.

def verify_statement(files, keys, lines, skipped):
    """The digests of all files, and what the export says about itself."""
    envelope = read_json(files.whole("statement.json"), "statement.json")
    try:
        payload = base64_bytes(envelope["payload"])
        statement = read_json(payload, "the payload of statement.json")
        subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
        kind, said, signatures = envelope["payloadType"], statement["predicate"], envelope["signatures"]
        signatures = [(one["keyid"], base64_bytes(one["sig"])) for one in signatures]
        if kind != "application/vnd.in-toto+json" or said["form"] != "systole export v1":
            raise Damaged("statement.json is of a kind that this program does not know")
        without, last = said["without"], said["last"]
        if not all(isinstance(one, str) for one in without + said["threads"]) or type(last) is not int or last < 0:
            raise ValueError("a field of another type")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Damaged("statement.json has another form")
    for name in sorted(files.names - {"statement.json"}):
        if files.digest(name) != subjects.get(name):
            raise Damaged(f"{name} is not the file that statement.json names")
    if set(subjects) - files.names:
        raise Damaged(f"{sorted(set(subjects) - files.names)[0]} is named in statement.json and missing")
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    for identity, blob in signatures:
        known = [key for key in keys if f"{key.name}+{key.identity.hex()}" == identity]
        if known and not is_signature(known[0].public, message, blob):
            raise Damaged(f"statement.json: the signature of {identity} is wrong")
        lines.append(f"statement.json is signed by {identity}" if known else f"statement.json has a signature of {identity}")
        if not known:
            skipped.append(f"the signature of statement.json: {identity} is not among the keys that you named")
    if not signatures:
        skipped.append("who made the export: statement.json is not signed")
    return without


def verify_holes(files, walk, lines):
    """The parts that were left out are those that the export lists."""
    listed = 0
    for line in files.lines("holes.jsonl") if "holes.jsonl" in files.names else []:
        one = read_json(line, "a line of holes.jsonl")
        if not isinstance(one, dict) or not isinstance(one.get("why"), str) or one["why"] not in REASONS:
            raise Damaged("a line of holes.jsonl has another form")
        same = listed < len(walk.dropped) and json.dumps({**walk.dropped[listed], "why": one["why"]}, sort_keys=True)
        if same != json.dumps(one, sort_keys=True):
            raise Damaged("holes.jsonl does not list the parts that the records lack")
        walk.dropped[listed]["why"] = one["why"]
        listed += 1
    if listed < len(walk.dropped):
        raise Damaged("holes.jsonl does not list a part that it lacks", walk.dropped[listed]["position"])
    def is_unexplained(hole):
        at, part = hole["position"], hole["part"]
        is_named = (at, part) in walk.erasures.parts and (part or at not in walk.needed)
        return hole["why"] == "erased" and not is_named

    if listed:
        lines.append(f"{listed} parts of bodies were left out; their hashes fit")
    unexplained = [hole for hole in walk.dropped if is_unexplained(hole)]
    for hole in (unexplained + [hole for hole in walk.dropped if not is_unexplained(hole)])[:HOLES]:
        place = f" from byte {hole['at']}" if hole["part"] else ""
        why = UNEXPLAINED if is_unexplained(hole) else REASONS[hole["why"]]
        lines.append(f"  record {hole['seq']} of {hole['thread']} at #{hole['position']}, part {hole['part']}, "
                     f"{hole['length']} bytes{place}: {why}")
    if listed > HOLES:
        lines.append(f"  and {listed - HOLES} more, in holes.jsonl")
    return len(unexplained)


def link_before(data):
    """The hash of the link before a link of a prompt."""
    lines = data.split(b"\n", 3)
    parts = {b"systole prompt segment v1": b"messages [0-9]+", b"systole prompt v1": b"header [0-9]+( mark [0-9a-f]{8})?"}
    if len(lines) < 4 or lines[0] not in parts or not re.fullmatch(parts[lines[0]], lines[1]):
        return None
    is_whole = len(lines[3]) == int(lines[1].split(b" ")[1]) and re.fullmatch(b"[0-9a-f]{64}", lines[2])
    return lines[2].decode() if is_whole else None


def verify_documents(files, walk, without):
    found, links, with_fields = set(), {}, set()
    for line in files.lines("documents.jsonl"):
        one = read_json(line, "a line of documents.jsonl")
        if not isinstance(one, dict) or set(one) not in ({"sha256", "what", "text"}, {"sha256", "what", "hex"}):
            raise Damaged("a line of documents.jsonl has another form")
        if not all(isinstance(value, str) for value in one.values()):
            raise Damaged("a line of documents.jsonl has another form")
        try:
            data = one["text"].encode("utf-8") if "text" in one else hex_bytes(one["hex"], 0, "a document")
        except (AttributeError, UnicodeEncodeError):
            raise Damaged("a line of documents.jsonl has another form")
        if hashlib.sha256(data).hexdigest() != one["sha256"] or one["sha256"] in found:
            raise Damaged(f"the document {str(one['sha256'])[:64]} does not fit its hash, or is there twice")
        found.add(one["sha256"])
        links[one["sha256"]] = link_before(data)
        if knows_fields(data):
            with_fields.add(one["sha256"])
    for hash, at, config in walk.fields:
        if config in with_fields:
            walk.named.setdefault(hash, (at, FILE_USE))
    # The record of an erasure names the link before an erased one.
    links = {**{hash: before for hash, before in walk.erasures.documents.items() if hash not in found}, **links}
    for prompt, (at, what) in list(walk.named.items()):
        before = links.get(prompt) if what == "the prompt" else None
        while before and before not in walk.named:
            walk.named[before] = (at, what)
            before = links.get(before)
    missing = [(at, hash, what) for hash, (at, what) in walk.named.items() if hash not in found]
    erased = [one for one in missing if one[1] in walk.erasures.documents]
    lost = sorted(one for one in missing if one[1] not in walk.erasures.documents)
    # Older versions did not name the document of a large body that they erased. Each such body excuses one.
    excuses = sum(walk.erasures.parts.get((at, 0)) is False for at in walk.large)
    excused = [one for one in lost if one[2] == "the refused bytes"][:excuses]
    erased, lost = erased + excused, [one for one in lost if one not in excused]
    for at, hash, what in lost:
        if "documents" not in without and not (what in OF_JOURNALS and "prompts" in without):
            raise Damaged(f"it names {what} {hash}, which is not in the export", at)
    return len(found), len(lost), len(erased)


def verify_proof(files, walk):
    """The checkpoint of the export, if the records are those of its log."""
    if ("checkpoint.txt" in files.names) != ("proof.json" in files.names):
        raise Damaged("one of checkpoint.txt and proof.json is missing")
    if "checkpoint.txt" not in files.names:
        return None
    note = Note(files.whole("checkpoint.txt"), "checkpoint.txt")
    proof = read_json(files.whole("proof.json"), "proof.json")
    if not isinstance(proof, dict) or set(proof) != {"size", "hashes"} or proof["size"] != note.size \
            or not isinstance(proof["hashes"], list):
        raise Damaged("proof.json has another form")
    hashes = [hex_bytes(hash, 32, "a hash of proof.json") for hash in proof["hashes"]]
    leaves = [(at - 1, leaf) for at, leaf in walk.proved() if at <= note.size]
    if leaves and leaves[0][0] < 0:
        raise Damaged("it has a record at position 0")
    if tree_root(leaves, note.size, hashes) != note.root:
        raise Damaged("its records are not those of the log that its checkpoint is about")
    return note


def verdict(note, policy, against, lines, skipped):
    """The words of the verdict, and the exit."""
    if note is None:
        skipped.append("whether the records were changed since: the export has no checkpoint of its log")
        return ("sound", 1 if policy or against else 0)
    lines.append(f"checkpoint.txt: the checkpoint of {note.origin} at #{note.size} fits")
    same, is_less = [], False
    for path, kept in against:
        try:
            if (kept.origin, kept.size) != (note.origin, note.size):
                raise ValueError(f"it is of {kept.origin} at #{kept.size}, and the export has no proof for that one")
            if policy:
                policy.judge(kept)
            if kept.root != note.root:
                return (f"contradicted between #1 and #{note.size} by {path}", 7)
            same.append(path)
        except ValueError as fault:
            skipped.append(f"{path}: {fault}")
            is_less = True
    if policy is None:
        if same:
            lines.append(f"{same[0]}: it is the checkpoint that you kept; whose key signed it was not checked")
            return (f"anchored up to #{note.size}", int(is_less))
        skipped.append("who signed the checkpoint: name a key with --key or --policy")
        return ("sound", int(is_less))
    try:
        log, cosigned, is_quorum = policy.judge(note)
    except ValueError as fault:
        skipped.append(f"the checkpoint does not count: {fault}")
        return ("sound", 1)
    is_less = is_less or not is_quorum
    lines.append(f"signed by {log.name}+{log.identity.hex()}, cosigned by {len(cosigned)} of {len(policy.witnesses)} witnesses")
    for name, at in sorted(cosigned.items()):
        lines.append(f"{name} saw it at {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(min(at, 1 << 40)))}")
    if cosigned and is_quorum:
        return (f"witnessed by {len(cosigned)} of {len(policy.witnesses)} up to #{note.size}", int(is_less))
    return (f"anchored up to #{note.size}", int(is_less))


def verify(path, policy, against):
    lines, skipped = [], []
    files, walk = Files(path), Walk()
    keys = policy.logs if policy else []
    without = verify_statement(files, keys, lines, skipped)
    for line in files.lines("records.jsonl"):
        walk.take(Record(line))
    walk.finish()
    for line in files.lines("erased.jsonl") if "erased.jsonl" in files.names else []:
        walk.erasure(Record(line))
    documents, missing, erased = verify_documents(files, walk, without)
    note = verify_proof(files, walk)
    lines.insert(0, "every hash fits, and each thread is one chain without gaps, from its first record")
    unexplained = verify_holes(files, walk, lines)
    if walk.times:
        lines.append(f"the records say: from {walk.times[0]} to {walk.times[1]}")
    words, code = verdict(note, policy, against, lines, skipped)
    if unexplained:
        lines.append(f"parts of bodies that are missing without a reason: {unexplained}")
        code = code or 1
    after = sum(at > note.size for at, _ in walk.proved()) if note else 0
    if after:
        skipped.append(f"{after} records after the checkpoint: anyone who can write the log may have made them")
    if missing:
        skipped.append(f"{missing} documents that records name: the export was made without them")
    if erased:
        skipped.append(f"{erased} documents that records name: they are erased in the log")
    if walk.unread:
        skipped.append(f"the beginning of {walk.unread} children: what their parents say of it was left out")
    without_parent = [one for one in walk.threads if "." in one and one.rpartition(".")[0] not in walk.threads]
    if without_parent:
        skipped.append(f"who spawned {without_parent[0]}: its parent is not in the export")
    skipped.append("whether a thread goes on after its last record here, unless its parent records its end")
    skipped.append("other threads of the log, what listeners did outside of it, and the clock of its machine")
    skipped.append("index.html and thread.xml: views for people, made from records.jsonl")
    skipped.append("starts.jsonl: when the organism was started and paused, as the sender says")
    print(f"{printable(path)}: {len(walk.leaves)} records in {len(walk.threads)} threads, {documents} documents")
    for line in lines:
        print(f"  {printable(line)}")
    print(f"verdict: {printable(words)}")
    for line in skipped:
        print(f"not checked: {printable(line)}")
    return code


def printable(text):
    return "".join(c if c.isprintable() else "\\u{%x}" % ord(c) for c in str(text))


def of_file(path, read):
    try:
        with open(path, "rb") as file:
            return read(file.read(256 << 10))
    except (OSError, UnicodeDecodeError, Damaged) as fault:
        raise Usage(f"{path}: {fault}")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("export", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    words.add_argument("--policy")
    words.add_argument("--key")
    words.add_argument("--against", action="append", default=[])
    asked = words.parse_args()
    try:
        policy = of_file(asked.policy, Policy) if asked.policy else None
        if asked.key:
            policy = policy or Policy(b"quorum none")
            try:
                policy.logs.append(Key(asked.key))
            except ValueError as fault:
                raise Usage(fault)
        against = [(path, of_file(path, lambda data: Note(data, "it"))) for path in asked.against]
        if not os.path.exists(asked.export):
            raise Usage(f"{asked.export}: there is no such file")
        return verify(asked.export, policy, against)
    except Usage as fault:
        print(f"error: {printable(fault)}", file=sys.stderr)
        return fault.exit
    except OSError as fault:
        print(f"error: {printable(fault)}", file=sys.stderr)
        return 2
    except (Damaged, struct.error, ArithmeticError, AttributeError, EOFError, LookupError,
            RuntimeError, TypeError, ValueError) as fault:
        at = getattr(fault, "position", 0)
        print(f"{printable(asked.export)}: {printable(fault)}")
        print(f"verdict: damaged at #{at}" if at else "verdict: damaged")
        return 7


if __name__ == "__main__":
    sys.exit(main())
