"""Tries the packages of `make dist` in a bare Debian root, as a user would: try.py FOLDER [KIND..]

FOLDER has the packages, a KIND is tarball, wheel, npm or deb (all four without one). The KIND source builds the committed
state of this checkout instead, with the Rust toolchain and the downloaded crates of this machine; that takes long.
The root is made once with debootstrap from the machine's own mirror and kept in target/bare; each trial runs in a fresh
copy of it. Only apt has the network: a package is installed, run and removed without. Prints each command with its
seconds, and at the end the ways to the first answer, which are also written to FOLDER/trial.md. Needs root and
debootstrap.
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
ENTER = 'eval "$3" && mount -t proc proc "$1/proc" && ip link set lo up; exec chroot "$1" env --ignore-environment HOME=/root LANG=C.UTF-8 \
DEBIAN_FRONTEND=noninteractive PATH=/root/.venv/bin:/root/.cargo/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin sh -ec "cd; $2"'
# Lends this machine's Rust to the root: the toolchain can only be read, and what cargo writes stays in the root.
RUST = """mkdir -p "$1/root/.rustup" "$1/root/.cargo" "$1/cargo/upper" "$1/cargo/work"
mount --bind "${RUSTUP_HOME:-$HOME/.rustup}" "$1/root/.rustup" && mount -o remount,ro,bind "$1/root/.rustup"
mount -t overlay -o "lowerdir=${CARGO_HOME:-$HOME/.cargo},upperdir=$1/cargo/upper,workdir=$1/cargo/work" overlay "$1/root/.cargo"
"""
# Runs an organism, asks it, and stops it as systemd would.
RUN = """cd hello; systole run >run.out 2>&1 & pump=$!; cd ~/hello
timeout 60 sh -c 'until grep -q "listens on" run.out; do sleep 0.1; done' || { cat run.out; exit 1; }
systole ask "Who is there?"; kill $pump; wait $pump"""

# What systemd runs in the booted root, and what it looks at there.
CHECK_SERVICE = """[Unit]
After=systole@hello.service
[Service]
Type=oneshot
ExecStart=-sh -ex /root/check
ExecStartPost=systemctl poweroff
StandardOutput=file:/root/check.out
StandardError=file:/root/check.out
[Install]
WantedBy=multi-user.target
"""
CHECK = """cd /var/lib/systole/hello
timeout 60 sh -c 'until test -e organism.db.run; do sleep 0.1; done'
runuser -u systole -- systole ask "Who is there?"
pid=$(systemctl show --property MainPID --value systole@hello)
test "$(stat -c %U /proc/$pid)" = systole
test "$(ls /proc/$pid/root/var/lib/systole)" = hello
systemctl stop systole@hello
systemctl show --property Result --property ExecMainStatus systole@hello
test "$(systemctl show --property Result --property ExecMainStatus systole@hello | sort | tr '\\n' ' ')" = "ExecMainStatus=0 Result=success "
echo the service is good
"""


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
        self.root = BARE / f"trial-{kind}"
        self.remove()
        subprocess.run(["cp", "--archive", "--reflink=auto", bare_root(), self.root], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        self.mounts = ""
        print(f"\n{kind}", flush=True)

    def remove(self):
        """Removes the root. One whose trial failed stays, to be looked into."""
        shutil.rmtree(self.root, ignore_errors=True)

    def take(self, path):
        """Copies a file into the home folder of the trial."""
        shutil.copy(path, self.root / "root")
        return path.name

    def run(self, command, network=False, expect="", name=""):
        """Runs a command, prints it with its seconds, and ends the trial if it fails or says something else."""
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        begun = time.monotonic()
        done = subprocess.run(
            [*enter, "sh", "-c", ENTER, "sh", self.root, command, self.mounts],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        seconds = time.monotonic() - begun
        print(f"{seconds:7.1f} s  {name or command}", flush=True)
        if done.returncode != 0 or expect not in done.stdout:
            sys.exit(f"exit {done.returncode}, expected {expect!r} in:\n{done.stdout}")
        return seconds


def packages(folder):
    """For each kind: the file, what apt has to bring first, how a user installs it, and how it is removed."""
    tarball, wheel, npm, deb = (
        next(folder.glob(pattern)) for pattern in ("systole-*.tar.gz", "systole_organism-*.whl", "systole-*.tgz", "*.deb")
    )
    unpacked = tarball.name.removesuffix(".tar.gz")
    return {
        "tarball": (tarball, "", [f"tar -xf {tarball.name}", f"cp {unpacked}/systole /usr/local/bin/"], "rm /usr/local/bin/systole"),
        "wheel": (
            wheel, "python3-venv", ["python3 -m venv .venv", ".venv/bin/pip install --no-index ./systole_organism-*.whl"],
            ".venv/bin/pip uninstall --yes systole-organism",
        ),
        "npm": (npm, "npm", [f"npm install --global --offline ./{npm.name}"], "npm uninstall --global systole"),
        "deb": (deb, "", [f"dpkg --install ./{deb.name}"], "dpkg --remove systole"),
    }


def try_service(trial):
    """Boots the trial's root, and asks the organism that systemd runs there. systemd-nspawn has to be on this machine."""
    trial.run(f"{APT} systemd systemd-sysv dbus", network=True)
    trial.run("dpkg-reconfigure systole && systemd-analyze verify systole@hello.service")
    trial.run("test -z \"$(find /etc/systemd -name 'systole*')\"", name="the service is off")
    if not shutil.which("systemd-nspawn"):
        print("           systemd-nspawn is not here: the service is not started")
        return
    trial.run("install -d -o systole -g systole -m 700 /var/lib/systole/hello /var/lib/systole/other; touch /var/lib/systole/other/file")
    trial.run("cp -r hello/organism.yaml hello/listeners /var/lib/systole/hello/ && chown -R systole /var/lib/systole/hello")
    (trial.root / "root/check").write_text(CHECK)
    (trial.root / "etc/systemd/system/check.service").write_text(CHECK_SERVICE)
    trial.run("systemctl enable check systole@hello", name="systemctl enable systole@hello")
    boot = 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd && exec timeout 120 systemd-nspawn --quiet --boot \
        --private-network --register=no --keep-unit --directory "$0"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", boot, trial.root], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = (trial.root / "root/check.out").read_text() if (trial.root / "root/check.out").exists() else done.stdout[-3000:] + done.stderr
    if ANSWER not in said or not said.endswith("the service is good\n"):
        sys.exit(f"the service is not as it should be:\n{said}")
    print("           booted: systemd runs the organism, it answers, is alone in its folder, and stops in order")


def try_package(kind, file, needs, install, remove):
    """Installs, asks, runs, shows the demo, removes. Returns the way to the first answer."""
    trial = Trial(kind)
    trial.take(file)
    first = [APT.replace("--quiet --quiet ", "") + f" {needs}"] if needs else []
    first += [*install, "systole init hello", 'cd hello && systole ask "Who is there?"']
    seconds = [trial.run(f"{APT} {needs}", network=True)] if needs else []
    seconds += [trial.run(command) for command in first[len(seconds):-1]]
    seconds.append(trial.run(first[-1], expect=ANSWER))
    trial.run("systole --version", expect=f"systole {VERSION}\n")
    trial.run(RUN, expect=ANSWER, name="systole run: answers, and ends with 0 on TERM")
    trial.run(f"command -v python3 || {{ {APT} python3; }}", network=True)
    trial.run("systole demo")
    if kind == "deb":
        try_service(trial)
    trial.run(f"{remove} && ! command -v systole")
    trial.remove()
    return way(kind, seconds, first)


def try_source():
    """Builds a checkout as the README says, and takes the program that `make demo` leaves in it."""
    trial = Trial("source")
    trial.mounts = RUST
    bundle = ["git", "bundle", "create", "--quiet", str(trial.root / "root/systole.bundle"), "HEAD"]
    subprocess.run(bundle, cwd=ROOT, check=True)
    git = f"{APT} git make ca-certificates"
    steps = [
        (git, git.replace("--quiet --quiet ", ""), ""),
        ("git clone --quiet systole.bundle systole", "git clone ADDRESS systole", ""),
        ("cd systole && make demo", "", "none altered; your answer"),
        ("cd systole && ./target/debug/systole init ~/hello", "", ""),
        ('cd systole && ./target/debug/systole ask -C ~/hello "Who is there?"', "", ANSWER),
    ]
    seconds = [trial.run(command, True, expect, name) for command, name, expect in steps]
    trial.remove()
    return way("source", seconds, [name or command for command, name, _ in steps])


def way(kind, seconds, commands):
    """The way to the first answer, as docs/install.md has it."""
    lines = "\n".join(f"{took:7.1f} s  {command}" for took, command in zip(seconds, commands))
    return f"**{kind}**: {len(commands)} commands, {sum(seconds):.1f} s\n\n```text\n{lines}\n```\n"


def main(folder, *kinds):
    if os.geteuid() != 0:
        sys.exit("a bare root needs root: sudo " + " ".join(sys.argv))
    folder = Path(folder).resolve()
    known = {} if kinds == ("source",) else packages(folder)
    ways = [try_source() if kind == "source" else try_package(kind, *known[kind]) for kind in kinds or known]
    (folder / "trial.md").write_text("\n".join(ways))
    print("", *ways, sep="\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
