"""Collects the licences of what is in the binary: licences.py TARGET LIBXML2-COPYRIGHT FOLDER.

Writes LICENSE (ours), libxml2.txt, sqlite.txt and rust-libraries.txt. The last has every crate that the program is
built from for TARGET, with its licence, and each different text of a licence once.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SQLITE = """SQLite is part of this program. Its authors have put its code in the public domain:

    The author disclaims copyright to this source code. In place of a legal notice, here is a blessing:

        May you do good and not evil.
        May you find forgiveness for yourself and forgive others.
        May you share freely, never taking more than you give.
"""


def crates(target):
    """The packages that `systole` is linked from, as cargo knows them."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    said = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    nodes = {node["id"]: node for node in said["resolve"]["nodes"]}
    waiting, found = [said["resolve"]["root"]], set()
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting += [d["pkg"] for d in nodes[here]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
    return sorted((p for p in said["packages"] if p["id"] in found and p["source"]), key=lambda p: (p["name"], p["version"]))


def main(target, libxml2, folder):
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder / "LICENSE")
    shutil.copy(libxml2, folder / "libxml2.txt")
    (folder / "sqlite.txt").write_text(SQLITE)
    lines, texts = [], {}
    for crate in crates(target):
        name = f"{crate['name']} {crate['version']}"
        lines.append(f"{name}: {crate['license'] or 'see its text below'}")
        for path in sorted(Path(crate["manifest_path"]).parent.iterdir()):
            if path.is_file() and path.name.upper().startswith(("LICEN", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")):
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    parts = ["\n".join(lines)] + [f"{', '.join(dict.fromkeys(names))}:\n\n{text}" for text, names in texts.items()]
    (folder / "rust-libraries.txt").write_text(f"\n\n{'-' * 80}\n\n".join(parts) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
