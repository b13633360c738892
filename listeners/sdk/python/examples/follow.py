"""Prints each record of the log as it comes, from the first one on; ends with the first answer."""
from systole_sdk import Client

for event in Client().events(0):
    print(event["position"], event["kind"], event["code"])
    if event["code"] == "final":
        break
