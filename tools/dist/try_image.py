"""Runs the image of `make dist` with crun, as a cluster would: try_image.py FOLDER

FOLDER has the image. Everything runs as the image's user, without capabilities, and with a root that can only be read;
/data alone can be written, and /tmp for the demo. Prints each command with its seconds. Needs root, umoci and crun; umoci
unpacks the image, so another program than the one that wrote it reads it.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ANSWER = "Hello. You said: Who is there?"
USER = 10001
NAME = f"systole-try-{os.getpid()}"
# crun refuses a machine with both versions of control groups, so it sees the second alone. It makes no group of its own.
CRUN = ["unshare", "--mount", "sh", "-c", 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec crun --cgroup-manager=disabled "$@"', "sh"]


def unpack(archive, folder):
    """The bundle that umoci makes of the image."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "layout")
        index = json.load(tar.extractfile("index.json"))
    tag = index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
    subprocess.run(["umoci", "unpack", "--image", f"{folder}/layout:{tag}", folder / "bundle"], check=True, capture_output=True)
    return folder / "bundle"


class Image:
    """An unpacked image, and a folder of this machine that is its /data."""

    def __init__(self, folder):
        self.bundle = unpack(next(Path(sys.argv[1]).glob("systole_*.oci.tar")), folder)
        self.config = json.loads((self.bundle / "config.json").read_text())
        self.data = folder / "data"
        self.data.mkdir()
        os.chown(self.data, USER, USER)
        folder.chmod(0o755)
        if self.config["process"]["user"] != {"uid": USER, "gid": USER}:
            sys.exit(f"the user of the image has rights: {self.config['process']['user']}")

    def start(self, *arguments, writes=("/data",)):
        """Starts a container with these arguments in place of the image's own, if there are any."""
        process = self.config["process"]
        process |= {"terminal": False, "capabilities": {}, "noNewPrivileges": True}
        process["args"] = [process["args"][0], *(arguments or ["run"])]
        self.config["root"]["readonly"] = True
        kept = [mount for mount in self.config["mounts"] if mount["destination"] not in ("/data", "/tmp", "/sys/fs/cgroup")]
        options = ["rbind", "rw" if "/data" in writes else "ro"]
        kept.append({"destination": "/data", "type": "bind", "source": str(self.data), "options": options})
        if "/tmp" in writes:
            kept.append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]})
        (self.bundle / "config.json").write_text(json.dumps({**self.config, "mounts": kept}))
        command = [*CRUN, "run", "--bundle", self.bundle, NAME]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def expect(self, code, *parts, arguments=(), writes=("/data",)):
        """Runs a container to its end, which has to be this one, and say all of this."""
        begun = time.monotonic()
        container = self.start(*arguments, writes=writes)
        said = container.communicate(timeout=120)[0]
        where = "writable: " + (" ".join(writes) or "nothing")
        print(f"{time.monotonic() - begun:7.1f} s  systole {' '.join(arguments)} ({where})", flush=True)
        if container.returncode != code or not all(part in said for part in parts):
            sys.exit(f"exit {container.returncode}, expected {code} and {parts!r} in:\n{said}")

    def serve(self):
        """The image's own command: it answers, and ends in order on TERM."""
        container = self.start()
        begun = []
        for line in container.stdout:
            begun.append(line)
            if "listens on" in line:
                break
        enter = [*CRUN, "exec", f"--user={USER}:{USER}", "--cwd=/data", NAME]
        asked = subprocess.run([*enter, "systole", "ask", "Who is there?"], capture_output=True, text=True)
        identity = subprocess.run([*enter, "grep", "-E", "^(Uid|CapEff|NoNewPrivs)", "/proc/1/status"], capture_output=True, text=True)
        subprocess.run([*CRUN, "kill", NAME, "TERM"], check=False)
        rest = container.communicate(timeout=60)[0]
        if ANSWER not in asked.stdout or container.returncode != 0:
            sys.exit(f"exit {container.returncode}; ask: {asked.stdout}{asked.stderr}\nrun: {''.join(begun)}{rest}")
        rights = " ".join(identity.stdout.split())
        if rights != f"Uid: {USER} {USER} {USER} {USER} CapEff: 0000000000000000 NoNewPrivs: 1":
            sys.exit(f"the program has rights: {rights}")
        print("           run answers without rights, and ends with 0 on TERM", flush=True)


def main():
    if os.geteuid() != 0:
        sys.exit("containers without a daemon need root: sudo " + " ".join(sys.argv))
    with tempfile.TemporaryDirectory() as folder:
        image = Image(Path(folder))
        image.expect(3, "organism.yaml", "systole init", arguments=["run"])
        image.expect(0, arguments=["init", "."])
        image.serve()
        image.expect(0, "none altered; your answer", arguments=["demo"], writes=("/data", "/tmp"))
        image.expect(5, "/data/organism.db.lock: that disk is read-only", "try: --log PATH", arguments=["run"], writes=())
        os.chown(image.data, 0, 0)
        for path in image.data.glob("organism.db*"):
            path.unlink()
        image.expect(5, "/data/organism.db.lock: this user may not read and write", "try: --log PATH", arguments=["run"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
