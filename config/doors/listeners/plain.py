"""Answers at once. What it is called is what it does."""
import sys
import time
import xml.etree.ElementTree as ET

STAMP = ".//{urn:systole:stamp:v1}stamp"
L = "{urn:systole:listener:v1}"


def write(document):
    print(ET.tostring(document, encoding="unicode").replace("\n", "&#10;"), flush=True)


for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(STAMP)
    if stamp is None:
        continue
    namespace, element = message[1].tag[1:].split("}")
    delivery = stamp.get("delivery")
    reply = ET.Element(L + "reply", delivery=delivery)
    if element == "test_error_handling":
        failure = ET.SubElement(reply, L + "failure", code="plain.wanted")
        failure.text = "This tool intentionally returns an error for testing"
    else:
        if element == "test_tool_with_progress":
            # Who watches comes a moment after the call, and hears nothing behind its answer.
            time.sleep(0.3)
            for part in ("a third", "two thirds", "all"):
                progress = ET.Element(L + "progress", delivery=delivery)
                progress.text = part
                write(progress)
                time.sleep(0.3)
        words = "".join(message[1].itertext()).strip() or "This is a simple text response for testing."
        said = ET.SubElement(reply, "{https://xml-pipeline.org/ns/doors/v1}said")
        said.text = words
    write(reply)
