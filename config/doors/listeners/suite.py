"""Answers at once; with the argument `asks` it asks a person first."""
import sys
import time
import xml.etree.ElementTree as ET

STAMP = ".//{urn:systole:stamp:v1}stamp"
L = "{urn:systole:listener:v1}"
CORE = "{https://xml-pipeline.org/ns/core/v1}"
OWN = "{https://xml-pipeline.org/ns/doors/v1}"


def write(document):
    print(ET.tostring(document, encoding="unicode").replace("\n", "&#10;"), flush=True)


def say(reply, words):
    ET.SubElement(reply, OWN + "said").text = words


def ask(reply, name):
    asked = ET.SubElement(reply, CORE + "ask-person", expires="1d")
    ET.SubElement(asked, CORE + "question").text = f"Which table for {name or 'anybody'}?"
    for choice in ("window", "door") if name else ():
        ET.SubElement(asked, CORE + "choice").text = choice


def progress(delivery):
    # Who watches comes a moment after the call, and hears nothing behind its answer.
    time.sleep(0.3)
    for part in ("a third", "two thirds", "all"):
        words = ET.Element(L + "progress", delivery=delivery)
        words.text = part
        write(words)
        time.sleep(0.3)


for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(STAMP)
    if stamp is None:
        continue
    element, delivery = message[1].tag.split("}")[1], stamp.get("delivery")
    reply = ET.Element(L + "reply", delivery=delivery)
    answered = message.find(".//" + CORE + "person-said")
    if answered is not None:
        say(reply, f"{answered.get('outcome')}: {answered.get('choice') or answered.text or ''}")
    elif sys.argv[1:] == ["asks"]:
        ask(reply, message.findtext(".//" + OWN + "name"))
    elif element == "test_error_handling":
        failure = ET.SubElement(reply, L + "failure", code="plain.wanted")
        failure.text = "This tool intentionally returns an error for testing"
    else:
        if element == "test_tool_with_progress":
            progress(delivery)
        say(reply, "".join(message[1].itertext()).strip() or "This is a simple text response for testing.")
    write(reply)
