"""A registry of npm and an index of wheels for tests, on a free port of 127.0.0.1, which it prints. It ends with its stdin.

    python3 registry.py FOLDER            serves the packages FOLDER/PACKAGE/VERSION, read anew for each request,
                                          and the wheels in FOLDER/wheels, under /simple/
    python3 registry.py wheel MODULE.py TARGET NAME VERSION NEED...
                                          writes a wheel whose program is MODULE, and which needs these packages

A file `forged` in the folder of a version changes its archive, but not the hash that the registry tells.
"""
import base64
import hashlib
import http.server
import io
import json
import os
import sys
import tarfile
import threading
import urllib.parse
import zipfile


def archive(folder, is_forged):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as tar:
        found = [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]
        for name in sorted(os.path.relpath(path, folder) for path in found):
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read() + (b"\n// forged\n" if is_forged and name.endswith(".js") else b"")
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    # The head of gzip has the time.
    text = bytearray(out.getvalue())
    text[4:8] = bytes(4)
    return bytes(text)


class Registry(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).strip("/")
        package, _, file = path.partition("/-/")
        folder = os.path.join(sys.argv[1], package)
        if path.startswith("simple/"):
            self.answer(self.wheels(path.removeprefix("simple/")).encode(), "text/html")
        elif path.startswith("wheels/"):
            with open(os.path.join(sys.argv[1], path), "rb") as file:
                self.answer(file.read())
        elif not os.path.isdir(folder):
            self.send_error(404)
        elif file:
            version = os.path.join(folder, file.removesuffix(".tgz"))
            self.answer(archive(version, os.path.exists(os.path.join(version, "forged"))))
        else:
            self.answer(json.dumps(self.document(package, folder)).encode())

    def wheels(self, package):
        stem = package.replace("-", "_") + "-"
        names = [name for name in os.listdir(os.path.join(sys.argv[1], "wheels")) if name.startswith(stem)]
        return "<!DOCTYPE html>" + "".join(f'<a href="/wheels/{name}">{name}</a>' for name in names)

    def document(self, package, folder):
        versions = {}
        for version in sorted(os.listdir(folder)):
            with open(os.path.join(folder, version, "package.json"), encoding="utf-8") as file:
                manifest = json.load(file)
            digest = base64.b64encode(hashlib.sha512(archive(os.path.join(folder, version), False)).digest())
            host = self.headers["Host"]
            manifest["dist"] = {"integrity": "sha512-" + digest.decode(),
                                "tarball": f"http://{host}/{package}/-/{version}.tgz"}
            if "scripts" in manifest:
                manifest["hasInstallScript"] = True
            versions[version] = manifest
        return {"name": package, "dist-tags": {"latest": max(versions)}, "versions": versions}

    def answer(self, body, kind="application/octet-stream"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def wheel(module, target, name, version, *needs):
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    with open(module, encoding="utf-8") as file:
        body = "def main():\n" + "".join("    " + line for line in file)
    files = {
        f"{stem}.py": body,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {stem}:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(os.path.join(target, f"{stem}-{version}-py3-none-any.whl"), "w") as out:
        for path, text in files.items():
            out.writestr(path, text)


if sys.argv[1] == "wheel":
    wheel(*sys.argv[2:])
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
