"""Finds the files that a request for a review is about, and signs the report. The argument is the folder to review.

One line of stdin is a message with <pick> or <sign>, one line of stdout its answer. It reads, and never writes a file.
"""
import fnmatch
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

ENVELOPE, TALK = "{https://xml-pipeline.org/ns/envelope/v1}", "{https://xml-pipeline.org/ns/talk/v1}"
LISTENER, STAMP = "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}"
ROOT = os.path.realpath(sys.argv[1])
OWN = os.path.relpath(os.getcwd(), ROOT)
MOST_FILES, MOST_DIFF = 20, 12_000
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")    # XML has no such characters
# Never given to a model, changed or not.
KEYS = [".env*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_*", ".ssh", ".aws",
        ".netrc", ".npmrc", ".pypirc", ".pgpass", "*.nk", ".git", ".systole"]


def git(*arguments):
    """What git says about the folder. Nothing where there is no git or no repository."""
    command = ["git", "-C", ROOT, "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def is_source(path):
    """Whether a file is text, and neither ours nor a key."""
    parts = path.lower().split("/")
    if f"{path}/".startswith(f"{OWN}/") or any(fnmatch.fnmatch(part, key) for part in parts for key in KEYS):
        return False
    try:
        with open(os.path.join(ROOT, path), "rb") as file:
            return path.isprintable() and b"\0" not in file.read(8192)
    except OSError:
        return False


def all_files():
    """Every file, as git lists them, or in the order of their last change."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    if any(listed):
        return sorted({path for path in listed if path})
    found = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if not name.startswith(".") and name not in ("node_modules", "target")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if not name.startswith(".")]
        if len(found) > 20_000:
            break
    return sorted(found, key=lambda path: -os.stat(os.path.join(ROOT, path), follow_symlinks=False).st_mtime)


def named(words, files):
    """The files that the words name, by themselves or by a folder, and the paths that are not there."""
    there, missing, endings = [], [], {os.path.splitext(file)[1] for file in files}
    for word in words.split():
        word = re.sub(r"(:\d+(-\d+)?|#.*)$", "", word.strip("\"'`*_,;:!?()[]<>").rstrip("."))
        path = os.path.normpath(word) if word else ""
        fits = [file for file in files if path and (file == path or file.startswith(path + "/"))]
        there += [file for file in fits if file not in there]
        looks_so = "/" in word or os.path.splitext(word)[1] in endings
        if looks_so and re.fullmatch(r"[\w.-]+(/[\w.-]+)*\.\w{1,8}", word) and not fits and word not in missing:
            missing.append(word)
    return there, missing


def last_change():
    """The files of the last change, words for it, and git's arguments for its text."""
    changed = git("diff", "--name-only", "-z", "--relative", "HEAD") + "\0"
    changed += git("ls-files", "-z", "--others", "--exclude-standard")
    files = [path for path in changed.split("\0") if path and is_source(path)]
    if files:
        return files, "what is not committed yet", ("diff", "--relative", "HEAD")
    last = ("log", "-1", "-m", "--first-parent", "--relative")
    changed = git(*last, "--name-only", "-z", "--format=").lstrip("\n").split("\0")
    files = [path for path in changed if path and is_source(path)]
    return files, "the commit " + git("log", "-1", "--format=%h %s").strip(), (*last, "--patch", "--format=")


def pick(words):
    """What is reviewed, in words, and each file with its change."""
    there, missing = named(words, all_files())
    files, what, change = list(filter(is_source, there)), "what was asked for", ("diff", "--relative", "HEAD")
    if not files:
        files, what, change = last_change()
    if not files:
        files, what, change = list(filter(is_source, all_files())), "the files that changed last", None
    first = files[:MOST_FILES]
    of = f"{len(first)} of {len(files)} files" if len(files) > len(first) else f"{len(files)} files"
    of = "1 file" if len(files) == 1 else of
    what = f"{of} ({what}): {', '.join(first)}" if first else "there is no text in this folder yet"
    what = "".join(f"there is no {word}; " for word in missing) + what
    diff = lambda path: git(*change, "--no-ext-diff", "--no-textconv", "--", path)[:MOST_DIFF] if change else ""
    return what, [(path, diff(path)) for path in first] or [(".", "")]


def sign(report, what):
    """The report, the files that were read, and every path in the report that is not there."""
    _, missing = named(report, all_files())
    wrong = f"\nThe report names files that are not there, {', '.join(missing)}" if missing else ""
    return f"{report}\n\nReviewed: {what}{wrong}"


for line in sys.stdin:
    message = ET.fromstring(line)
    if message.tag != ENVELOPE + "message":      # a <cancel>
        continue
    meta, payload = message
    ours = payload.tag[:payload.tag.index("}") + 1]
    reply = ET.Element(LISTENER + "reply", delivery=meta.find(STAMP + "stamp").get("delivery"))
    if payload.tag == ours + "pick":
        what, files = pick(payload.text or "")
        change = ET.SubElement(reply, ours + "change")
        ET.SubElement(change, ours + "what").text = UNWRITABLE.sub("?", what)
        listed = ET.SubElement(change, ours + "files")
        for path, diff in files:
            item = ET.SubElement(listed, ours + "item")
            ET.SubElement(item, ours + "path").text = path
            ET.SubElement(item, ours + "diff").text = UNWRITABLE.sub("?", diff)
    else:
        ET.SubElement(reply, TALK + "answer").text = sign(*(payload.findtext(ours + name) for name in ("report", "what")))
    # One line is one answer.
    print(ET.tostring(reply, encoding="unicode").replace("\n", "&#10;"), flush=True)
