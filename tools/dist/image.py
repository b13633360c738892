"""Writes the image of `make dist`: image.py BINARY LICENCES ROOT FOLDER.

An archive of an OCI image, which podman, docker, skopeo and containerd load. ROOT is what tools/dist/base unpacked and
becomes the first layer; the program is the second. Its user has no rights and can write in /data and /tmp only. The hash
of the archive is added to FOLDER/SHA256SUMS. With SOURCE_DATE_EPOCH the same files give the same bytes. No daemon and no
program of others is needed.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time
from pathlib import Path

from pack import EPOCH, SUMMARY, Binary, File

USER = 10001
# What a container runs, as which user and where, unless the person who starts it says otherwise.
RUNS = {
    "User": f"{USER}:{USER}",
    "Env": ["PATH=/usr/bin", "HOME=/data", "LANG=C.UTF-8", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            "PYTHONDONTWRITEBYTECODE=1"],
    "Entrypoint": ["systole"],
    "Cmd": ["run"],
    "WorkingDir": "/data",
    "Volumes": {"/data": {}},
    "ExposedPorts": {"7474/tcp": {}},
    "StopSignal": "SIGTERM",
}


def pack_entry(tar, name, kind, mode, content=b"", link="", owner=0):
    """One entry of an archive. Its time and the names of its owner are never those of this machine."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime, entry.linkname = kind, mode, EPOCH, link
    entry.uid = entry.gid = owner
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def pack_root(tar, root):
    """What is in a folder, in the order of its names."""
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            pack_entry(tar, name, tarfile.SYMTYPE, 0o777, link=os.readlink(path))
        elif path.is_dir():
            mode = {"tmp": 0o1777}.get(name, 0o755)
            pack_entry(tar, name, tarfile.DIRTYPE, mode, owner=USER if name == "data" else 0)
        else:
            # No program of the image may give rights.
            pack_entry(tar, name, tarfile.REGTYPE, path.stat().st_mode & 0o755, path.read_bytes())


def pack_program(tar, files):
    for file in files:
        pack_entry(tar, file.path, tarfile.REGTYPE, file.mode, file.content)


def write_layer(write, *what):
    """A layer: its archive, and the hash of it before it was compressed."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as tar:
        write(tar, *what)
    digest = hashlib.sha256(plain.getvalue()).hexdigest()
    return gzip.compress(plain.getvalue(), compresslevel=6, mtime=0), f"sha256:{digest}"


def write_image(version, layers):
    """The files of an OCI layout, by their names. `manifest.json` is for a docker that does not know the layout yet."""
    blobs = {}

    def keep(kind, content):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    labels = {
        "org.opencontainers.image.title": "systole",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    config = {
        "created": created, "architecture": "amd64", "os": "linux", "config": {**RUNS, "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [digest for _, digest in layers]},
        "history": [{"created": created, "created_by": "make dist"} for _ in layers],
    }
    manifest = {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": keep("config.v1+json", json.dumps(config).encode()),
        "layers": [keep("layer.v1.tar+gzip", content) for content, _ in layers],
    }
    entry = keep("manifest.v1+json", json.dumps(manifest).encode())
    entry["annotations"] = {"org.opencontainers.image.ref.name": f"systole:{version}"}
    paths = ["blobs/" + one["digest"].replace(":", "/") for one in [manifest["config"], *manifest["layers"]]]
    docker = [{"Config": paths[0], "RepoTags": [f"systole:{version}"], "Layers": paths[1:]}]
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode(),
        "manifest.json": json.dumps(docker).encode(),
        **dict(sorted(blobs.items())),
    }


def main(binary, licences, root, folder):
    binary, folder = Binary(Path(binary)), Path(folder)
    texts = [File(f"usr/share/doc/systole/{path.name}", path.read_bytes()) for path in sorted(Path(licences).iterdir())]
    program = [File("usr/bin/systole", binary.content, True), *texts]
    layers = [write_layer(pack_root, Path(root)), write_layer(pack_program, program)]
    path = folder / f"systole_{binary.version}_amd64.oci.tar"
    with tarfile.open(path, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, content in write_image(binary.version, layers).items():
            pack_entry(tar, name, tarfile.REGTYPE, 0o644, content)
    print(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB")
    with open(folder / "SHA256SUMS", "a") as sums:
        sums.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
