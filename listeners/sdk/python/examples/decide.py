"""Shows each payload that waits for a person, and decides about it."""
import sys

from systole_sdk import Client, Problem

client = Client()
for waiting in client.approvals()["approvals"]:
    if waiting["kind"] == "approval":
        print(waiting["id"], waiting["payload"])
        try:
            if sys.argv[1:] == ["yes"]:
                client.approve(waiting)
            else:
                client.reject(waiting, "not today")
        except Problem as problem:
            print(problem)  # Such as approval.mismatch: it is not what was read.
