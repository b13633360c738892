# Prints, as JSON, which Python installs a server, and how pip is set up on this machine. It changes nothing.
import ast
import json
import os
import subprocess
import sys

base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
found = {"base": base, "runs_pip": sys.executable, "version": "%d.%d" % sys.version_info[:2], "pip": True}
try:
    from pip._internal.models.index import PyPI

    found["index"], found["files"] = PyPI.simple_url, PyPI.file_storage_domain
except ImportError:
    found["pip"] = False
if found["pip"]:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], stdout=subprocess.PIPE, check=True, text=True
    )
    # What is said for installations wins over what is said for all, and a variable over both.
    order = ["global", "install", ":env:"]
    settings = {}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.partition(".")
        if section in order:
            settings.setdefault(name, {})[order.index(section)] = str(ast.literal_eval(value))
    found["settings"] = {name: values[max(values)] for name, values in settings.items()}
print(json.dumps(found))
