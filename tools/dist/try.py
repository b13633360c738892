"""Tries the packages of `make dist` in a bare Debian root, as a user would: try.py FOLDER [KIND..]

FOLDER has the packages, a KIND is tarball, wheel, npm or deb (all without one), or source. The root is made once with
debootstrap from the machine's own mirror and kept in target/bare; each trial runs in a fresh copy of it. Only apt has
the network: a package is installed, run and removed without. Prints each command with its seconds, and at the end a
table of the way to the first answer, which is also written to FOLDER/trial.md. Needs root and debootstrap.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BARE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "bare"
APT = "apt-get update --quiet --quiet && apt-get install --quiet --quiet --yes --no-install-recommends"
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
ANSWER = "Hello. You said: Who is there?"
# Mounts and processes of a command end with it. Without the network, only the loopback is there.
ENTER = 'mount -t proc proc "$1/proc" && ip link set lo up; exec chroot "$1" env --ignore-environment HOME=/root LANG=C.UTF-8 \
DEBIAN_FRONTEND=noninteractive PATH=/root/.venv/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin sh -ec "cd; $2"'
# Runs an organism, asks it, and stops it as systemd would.
RUN = """cd hello; systole run >run.out 2>&1 & pump=$!; cd ~/hello
timeout 60 sh -c 'until grep -q "listens on" run.out; do sleep 0.1; done' || { cat run.out; exit 1; }
systole ask "Who is there?"; kill $pump; wait $pump"""


def mirror():
    """The suite and the address of the first Debian or Ubuntu mirror that the machine's apt knows."""
    query = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)", "Created-By: Packages", "Component: main"]
    for line in subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines():
        origin, suite, address = line.split()
        if origin in ("Debian", "Ubuntu") and "-" not in suite:
            return suite, address
    sys.exit("apt knows no Debian mirror on this machine; run `apt-get update` first")


def bare_root():
    """The root that is copied for each trial."""
    suite, address = mirror()
    root = BARE / suite
    if not (root / "etc/debian_version").exists() or (root / "debootstrap").exists():
        shutil.rmtree(root, ignore_errors=True)
        command = ["debootstrap", "--variant=minbase", suite, str(root), address]
        print(*command[:-1], "MIRROR", flush=True)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"debootstrap ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    return root


class Trial:
    """A fresh root in which commands are run one after the other."""

    def __init__(self, kind):
        self.root = BARE / "trial"
        shutil.rmtree(self.root, ignore_errors=True)
        subprocess.run(["cp", "--archive", "--reflink=auto", bare_root(), self.root], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        print(f"\n{kind}", flush=True)

    def take(self, path):
        """Copies a file into the home folder of the trial."""
        shutil.copy(path, self.root / "root")
        return path.name

    def run(self, command, network=False, expect=""):
        """Runs a command, prints it with its seconds, and ends the trial if it fails or says something else."""
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        begun = time.monotonic()
        done = subprocess.run(
            [*enter, "sh", "-c", ENTER, "sh", self.root, command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        seconds = time.monotonic() - begun
        print(f"{seconds:7.1f} s  {command.splitlines()[0]}", flush=True)
        if done.returncode != 0 or expect not in done.stdout:
            sys.exit(f"exit {done.returncode}, expected {expect!r} in:\n{done.stdout}")
        return seconds


def packages(folder):
    """For each kind: the file, what apt has to bring first, how a user installs it, and how it is removed."""
    tarball, wheel, npm, deb = (
        next(folder.glob(pattern)) for pattern in ("systole-*.tar.gz", "*.whl", "systole-*.tgz", "*.deb")
    )
    unpacked = tarball.name.removesuffix(".tar.gz")
    return {
        "tarball": (tarball, "", [f"tar -xf {tarball.name}", f"cp {unpacked}/systole /usr/local/bin/"], "rm /usr/local/bin/systole"),
        "wheel": (
            wheel, "python3-venv", ["python3 -m venv .venv", f".venv/bin/pip install --no-index ./{wheel.name}"],
            ".venv/bin/pip uninstall --yes systole-organism",
        ),
        "npm": (npm, "npm", [f"npm install --global --offline ./{npm.name}"], "npm uninstall --global systole"),
        "deb": (deb, "", [f"dpkg --install ./{deb.name}"], "dpkg --remove systole"),
    }


def try_package(kind, file, needs, install, remove):
    """Installs, asks, runs, shows the demo, removes. Returns the row of the table."""
    trial = Trial(kind)
    trial.take(file)
    first = [APT.replace("--quiet --quiet ", "") + f" {needs}"] if needs else []
    first += [*install, "systole init hello", 'cd hello && systole ask "Who is there?"']
    seconds = [trial.run(f"{APT} {needs}", network=True)] if needs else []
    seconds += [trial.run(command) for command in first[len(seconds):-1]]
    seconds.append(trial.run(first[-1], expect=ANSWER))
    trial.run("systole --version", expect=f"systole {VERSION}\n")
    trial.run(RUN, expect=ANSWER)
    trial.run(f"command -v python3 || {{ {APT} python3; }}", network=True)
    trial.run("systole demo")
    if kind == "deb":
        trial.run(f"{APT} systemd", network=True)
        trial.run("systemd-analyze verify systole@hello.service && systemd-sysusers systole.conf")
        trial.run("test -z \"$(find /etc/systemd -name 'systole*')\"")
        trial.run('install -d -o systole /var/lib/systole/hello; cp -r hello /tmp; chown -R systole /tmp/hello; cd /tmp/hello; '
                  'runuser -u systole -- systole ask "Who is there?"', expect=ANSWER)
    trial.run(f"{remove} && ! command -v systole")
    return f"| {kind} | {'<br>'.join(f'`{command}`' for command in first)} | {sum(seconds):.1f} |"


def main(folder, *kinds):
    if os.geteuid() != 0:
        sys.exit("a bare root needs root: sudo " + " ".join(sys.argv))
    folder = Path(folder).resolve()
    known = packages(folder)
    rows = ["| package | commands to the first answer | seconds |", "|---|---|---|"]
    rows += [try_package(kind, *known[kind]) for kind in kinds or known]
    shutil.rmtree(BARE / "trial", ignore_errors=True)
    (folder / "trial.md").write_text("\n".join(rows) + "\n")
    print("", *rows, sep="\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
