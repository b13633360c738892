"""A person who uses an MCP server that wants a login, with nothing but the commands of Systole: she logs in, pins the server and
calls its tool, and does what a failure tells her, once. The conformance suite of MCP starts this with the server's address."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SYSTOLE = os.environ["SYSTOLE"]
folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ["FOLDERS"]))
(folder / "organism.yaml").write_text(f"""organism: {{name: hands}}
console: {{listen: "127.0.0.1:0"}}
listeners:
  tickets:
    mcp: {sys.argv[-1]}
    safe: [test-tool]
    entry: true
""")
(folder / "xdg-open").symlink_to(pathlib.Path(__file__).with_name("browser.py"))
around = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":9"}


def systole(*words):
    """What a command says, once it has ended."""
    done = subprocess.run([SYSTOLE, *words], cwd=folder, env=around, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    print(shlex.join(words), done.returncode, done.stdout, done.stderr, flush=True)
    return done


def follow(done):
    """Logs in again if a failure says so; whether it did."""
    told = re.search(r'try: systole (mcp login tickets(?: --scope "[^"]*")?)', done.stderr)
    return done.returncode != 0 and bool(told) and systole(*shlex.split(told[1])).returncode == 0


known = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
client = []
if known.get("client_id"):
    client = ["--client-id", known["client_id"]]
if known.get("client_secret"):
    around["CLIENT_SECRET"] = known["client_secret"]
    client += ["--client-secret-env", "CLIENT_SECRET"]
if os.environ["MCP_CONFORMANCE_SCENARIO"] == "auth/basic-cimd":
    client = ["--client-id", "https://conformance-test.local/client-metadata.json"]
if systole("mcp", "login", "tickets", *client).returncode == 0:
    for command in [("mcp", "pin"), ("send", "--to", "tickets", "test-tool")]:
        done = systole(*command)
        if follow(done):
            done = systole(*command)
        if done.returncode:
            break
