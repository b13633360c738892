"""Writes the packages of `make dist` around one binary: pack.py BINARY LICENCES FOLDER.

A tarball, a wheel, an npm package and a .deb, each with the texts in LICENCES (a folder), then SHA256SUMS. The version
is what `BINARY --version` prints. With SOURCE_DATE_EPOCH the same binary gives the same bytes. It needs the Python 3
standard library and objdump.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMMARY = "Runs agents and programs that exchange schema-checked XML, and keeps a log that proves what happened"
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800)
# The libraries that PEP 600 lets a manylinux wheel take from the machine, as far as Rust uses them.
EVERYWHERE = re.compile(r"(libc|libm|libgcc_s|ld-linux-x86-64)\.so\.\d+")


class File:
    """A file of a package: where it goes, its bytes, and whether it can be run."""

    def __init__(self, path, content, runs=False):
        self.path = path
        self.content = content.encode() if isinstance(content, str) else content
        self.mode = 0o755 if runs else 0o644


def tar_of(files):
    """A .tar.gz: owned by root, dated by EPOCH, with the folders that the files need."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=EPOCH) as zipped, tarfile.open(
        fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT
    ) as tar:
        folders = {str(parent) for file in files for parent in Path(file.path).parents}
        for folder in sorted(folders - {".", ""}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime, entry.uname, entry.gname = tarfile.DIRTYPE, 0o755, EPOCH, "root", "root"
            tar.addfile(entry)
        for file in files:
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, EPOCH
            entry.uname = entry.gname = "root"
            tar.addfile(entry, io.BytesIO(file.content))
    return packed.getvalue()


class Binary:
    """The program that is packed: its version, and what it needs of the machine."""

    def __init__(self, path):
        self.content = path.read_bytes()
        self.version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        if not re.fullmatch(r"\d+\.\d+\.\d+", self.version):
            sys.exit(f"{self.version} is a pre-release: pip, npm and apt write those differently; pack a plain x.y.z")
        headers = subprocess.run(["objdump", "--private-headers", path], capture_output=True, text=True, check=True).stdout
        if "elf64-x86-64" not in headers:
            sys.exit(f"{path}: packages are made for Linux on x86_64 only")
        needed = re.findall(r"NEEDED\s+(\S+)", headers)
        self.portable = all(EVERYWHERE.fullmatch(library) for library in needed)
        self.glibc = max((tuple(map(int, v)) for v in re.findall(r"\bGLIBC_(\d+)\.(\d+)", headers)), default=(2, 17))


def tarball(binary, texts):
    """The plain archive: one folder with the program and the texts."""
    folder = f"systole-{binary.version}-linux-x86_64"
    readme = (HERE / "package.md").read_text()
    files = [File(f"{folder}/systole", binary.content, True), File(f"{folder}/README.md", readme)]
    return f"{folder}.tar.gz", tar_of(files + [File(f"{folder}/licences/{name}", text) for name, text in texts])


def wheel(binary, texts):
    """A wheel that puts the program beside pip's other scripts. Its tag says which glibc is enough."""
    name = f"systole_organism-{binary.version}"
    system = "manylinux_{}_{}".format(*binary.glibc) if binary.portable else "linux"
    tag = f"py3-none-{system}_x86_64"
    about = [
        "Metadata-Version: 2.4",
        "Name: systole-organism",
        f"Version: {binary.version}",
        f"Summary: {SUMMARY}",
        "License-Expression: Apache-2.0",
        *(f"License-File: {text}" for text, _ in texts),
        "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown",
        "",
        (HERE / "package.md").read_text(),
    ]
    files = [
        File(f"{name}.data/scripts/systole", binary.content, True),
        File(f"{name}.dist-info/METADATA", "\n".join(about)),
        File(f"{name}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: systole\nRoot-Is-Purelib: false\nTag: {tag}\n"),
        *(File(f"{name}.dist-info/licenses/{text}", content) for text, content in texts),
    ]
    record = ""
    for file in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.content).digest()).rstrip(b"=").decode()
        record += f"{file.path},sha256={digest},{len(file.content)}\n"
    files.append(File(f"{name}.dist-info/RECORD", f"{record}{name}.dist-info/RECORD,,\n"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, time.gmtime(EPOCH)[:6])
            entry.external_attr, entry.compress_type = (0o100000 | file.mode) << 16, zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, file.content)
    return f"{name}-{tag}.whl", packed.getvalue()


def npm(binary, texts):
    """A package for npm. Its `bin` is the program itself: npm links to it, and no node process stays in between."""
    about = {
        "name": "systole",
        "version": binary.version,
        "description": SUMMARY,
        "license": "Apache-2.0",
        "bin": {"systole": "bin/systole"},
        "files": ["bin", "licences"],
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["glibc"],
    }
    files = [
        File("package/package.json", json.dumps(about, indent=2) + "\n"),
        File("package/README.md", (HERE / "package.md").read_text()),
        File("package/bin/systole", binary.content, True),
    ]
    return f"systole-{binary.version}.tgz", tar_of(files + [File(f"package/licences/{n}", t) for n, t in texts])


def deb(binary, texts):
    """A Debian package: the program, a systemd unit that is off until somebody enables it, and its user."""
    files = [
        File("./usr/bin/systole", binary.content, True),
        File("./usr/lib/systemd/system/systole@.service", (HERE / "systole@.service").read_text()),
        File("./usr/lib/sysusers.d/systole.conf", (HERE / "sysusers.conf").read_text()),
        *(File(f"./usr/share/doc/systole/{'copyright' if n == 'LICENSE' else n}", t) for n, t in texts),
    ]
    about = [
        "Package: systole",
        f"Version: {binary.version}",
        "Architecture: amd64",
        "Maintainer: The Systole authors",
        f"Installed-Size: {sum(len(file.content) for file in files) // 1024 + 1}",
        "Depends: libc6 (>= {}.{}), libgcc-s1".format(*binary.glibc),
        "Recommends: ca-certificates, python3",
        "Section: utils",
        "Priority: optional",
        f"Description: {SUMMARY}",
        "",
    ]
    control = [
        File("./control", "\n".join(about)),
        *(File(f"./{name}", (HERE / name).read_text(), True) for name in ("postinst", "prerm")),
    ]
    archive = b"!<arch>\n"
    for name, content in [("debian-binary", b"2.0\n"), ("control.tar.gz", tar_of(control)), ("data.tar.gz", tar_of(files))]:
        archive += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{0o100644:<8o}{len(content):<10}`\n".encode() + content
        archive += b"\n" * (len(content) % 2)
    return f"systole_{binary.version}_amd64.deb", archive


def main(binary, licences, folder):
    binary = Binary(Path(binary))
    texts = [(path.name, path.read_text()) for path in sorted(Path(licences).iterdir())]
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    packages = [make(binary, texts) for make in (tarball, wheel, npm, deb)]
    for name, content in packages:
        (folder / name).write_bytes(content)
        print(f"wrote {folder / name}: {len(content) / 1e6:.1f} MB")
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in packages)
    (folder / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
