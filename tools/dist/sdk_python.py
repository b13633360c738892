"""Writes the wheel of the Python SDK: sdk_python.py FOLDER.

With SOURCE_DATE_EPOCH the same sources give the same bytes. It needs flit_core: on PYTHONPATH, or where `tools/prepare`
puts it. A SHA256SUMS in FOLDER gets its line.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "listeners/sdk/python"
FLIT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tools/flit"


def build(folder):
    """Builds the wheel in a copy that has only what belongs to it; its path."""
    sys.path.append(str(FLIT))
    try:
        from flit_core import buildapi
    except ImportError:
        sys.exit(f"flit_core is missing, also in {FLIT}; try: tools/prepare dist")
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(SDK / "systole_sdk", Path(copy, "systole_sdk"), ignore=shutil.ignore_patterns("__pycache__"))
        for file in (SDK / "pyproject.toml", ROOT / "LICENSE"):
            shutil.copy(file, copy)
        for file in Path(copy).rglob("*"):
            file.chmod(0o755 if file.is_dir() else 0o644)
        os.chdir(copy)
        name = buildapi.build_wheel(str(folder))
        os.chdir(ROOT)
    return folder / name


def main(folder):
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder)
    print(f"wrote {wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
    sums = folder / "SHA256SUMS"
    if sums.exists():
        line = f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel.name}\n"
        sums.write_text(sums.read_text() + line)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
