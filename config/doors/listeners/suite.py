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


def act(reply, delivery, text):
    """What the suite of A2A wants, by the id of its message, which a proxy of the tests writes before the text."""
    if text.startswith("tck-input-required"):
        ask(reply, None)
    elif text.startswith("tck-reject-task"):
        ET.SubElement(reply, L + "failure", code="plain.rejected").text = "rejected"
    elif text.startswith("tck-artifact-data"):
        pair = ET.SubElement(reply, OWN + "pair")
        ET.SubElement(pair, OWN + "key").text, ET.SubElement(pair, OWN + "count").text = "value", "42"
    elif text.startswith("tck-artifact-text"):
        say(reply, "Generated text content")
    else:
        if text.startswith("test-resubscribe"):
            time.sleep(5)
        elif text.startswith("tck-stream"):
            progress(delivery)
        say(reply, text or "This is a simple text response for testing.")


for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(STAMP)
    if stamp is None:
        continue
    element, delivery = message[1].tag.split("}")[1], stamp.get("delivery")
    reply = ET.Element(L + "reply", delivery=delivery)
    answered = message.find(".//" + CORE + "person-said")
    if answered is not None and (answered.text or "").startswith("tck-input-required"):
        ask(reply, None)
    elif answered is not None:
        say(reply, f"{answered.get('outcome')}: {answered.get('choice') or answered.text or ''}")
    elif sys.argv[1:] == ["asks"]:
        ask(reply, message.findtext(".//" + OWN + "name"))
    elif element == "test_error_handling":
        failure = ET.SubElement(reply, L + "failure", code="plain.wanted")
        failure.text = "This tool intentionally returns an error for testing"
    else:
        if element == "test_tool_with_progress":
            progress(delivery)
        act(reply, delivery, "".join(message[1].itertext()).strip())
    write(reply)
