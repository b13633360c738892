import hashlib, sqlite3, sys
from datetime import datetime, timedelta

def H(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def field(value):
    value = value if isinstance(value, bytes) else b"" if value is None else str(value).encode()
    return b"%d:%s\n" % (len(value), value)

def uuid(id):
    digits = id.hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])

def moment(ms):
    return (datetime(1970, 1, 1) + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") + "Z"

def header(row, body):
    values = [
        "systole record v1", row["thread"], row["seq"], uuid(row["id"]), row["kind"], row["from"], row["to"],
        row["call"], row["turn"], row["ordinal"], row["cause"] and uuid(row["cause"]), row["key"],
        row["origin"] and row["origin"].hex(), moment(row["time"]), row["config"].hex(), row["code"],
        len(body), ",".join(f"{at}+{length}" for at, length, _ in row["parts"]),
    ]
    return b"".join(field(value) for value in values)

def part(seal, bytes):
    if len(seal) == 16:
        return H(b"\x03", seal, bytes)
    if len(seal) != 32 or bytes != b"[erased]"[:len(bytes) // 8 * 8].ljust(len(bytes), b"*"):
        raise ValueError("an erased part has bytes")
    return seal

def leaf(header, salt, body, parts=()):
    rest, values, end = [], [], 0
    for at, length, seal in parts:
        if at < end or length < 1 or at + length > len(body):
            raise ValueError("parts overlap")
        rest.append(body[end:at])
        values.append(part(seal, body[at:at + length]))
        end = at + length
    rest.append(body[end:])
    if len(salt) == 32:
        for piece in rest:
            part(salt, piece)
    commitment = H(b"\x05", part(salt, b"".join(rest)) if len(salt) == 16 else salt, *values)
    return H(b"\x00", header, commitment)

def first_head(thread):
    return H(b"\x02", b"systole thread v1", thread.encode())

def next_head(head, leaf):
    return H(b"\x02", head, leaf)

ROWS = """
SELECT r.pos, t.text AS thread, r.seq, r.id, k.text AS kind, s.text AS "from", a.text AS "to", r.call, r.turn,
       r.ordinal, r.cause, r.key, r.origin, r.time, c.hash AS config, m.text AS code, r.salt, r.head, r.body
FROM record r JOIN thread t ON t.id = r.thread JOIN word k ON k.id = r.kind JOIN word s ON s.id = r.sender
LEFT JOIN word a ON a.id = r.addressee JOIN config c ON c.id = r.config LEFT JOIN word m ON m.id = r.code
ORDER BY r.pos"""
PARTS = "SELECT at, length, seal FROM part WHERE pos = ? ORDER BY number"
LARGE = "SELECT d.bytes FROM large l JOIN document d ON d.id = l.document WHERE l.pos = ?"
LIST = b"systole pieces v1\n"

def verify(path):
    log = sqlite3.connect(path)
    log.row_factory = sqlite3.Row
    has_large, has_parts, has_pieces = [
        log.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [table]).fetchone()
        for table in ("large", "part", "piece")
    ]
    pieces = dict(map(tuple, log.execute("SELECT hash, bytes FROM piece"))) if has_pieces else {}
    ends, count = {}, 0
    for row in map(dict, log.execute(ROWS)):
        row["parts"] = list(map(tuple, log.execute(PARTS, [row["pos"]]))) if has_parts else []
        large = has_large and not row["body"] and log.execute(LARGE, [row["pos"]]).fetchone()
        body, thread = large[0] if large else row["body"], row["thread"]
        seq, head = ends.get(thread, (0, first_head(thread)))
        try:
            head = next_head(head, leaf(header(row, body), row["salt"], body, row["parts"]))
        except ValueError as why:
            raise SystemExit(f"position {count + 1} does not verify")
        if (row["pos"], row["seq"], row["head"]) != (count + 1, seq + 1, head):
            raise SystemExit(f"position {count + 1} does not verify")
        ends[thread], count = (row["seq"], head), count + 1
    if count != log.execute("SELECT count(*) FROM record").fetchone()[0]:
        raise SystemExit(f"position {count + 1} does not verify")
    for hash, bytes in log.execute("SELECT hash, bytes FROM document"):
        if bytes.startswith(LIST) and H(bytes) != hash:
            names, whole = [bytes[at : at + 32] for at in range(len(LIST), len(bytes), 32)], b""
            while names and len(whole) <= 16 << 20:
                whole += pieces.get(names.pop(0), b"?")
            bytes = whole or LIST
        if bytes and H(bytes) != hash:
            raise SystemExit(f"document {hash.hex()} does not verify")
    print(f"{count} records in {len(ends)} threads verify")

if __name__ == "__main__":
    verify(sys.argv[1])
