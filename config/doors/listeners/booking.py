"""Asks a person before it books."""
import sys
import xml.etree.ElementTree as ET

STAMP = ".//{urn:systole:stamp:v1}stamp"
REPLY = "{urn:systole:listener:v1}reply"
CORE = "{https://xml-pipeline.org/ns/core/v1}"
OWN = "{https://xml-pipeline.org/ns/doors/v1}"


def write(document):
    print(ET.tostring(document, encoding="unicode").replace("\n", "&#10;"), flush=True)


for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(STAMP)
    if stamp is None:
        continue
    reply = ET.Element(REPLY, delivery=stamp.get("delivery"))
    answered = message.find(".//" + CORE + "person-said")
    if answered is None:
        ask = ET.SubElement(reply, CORE + "ask-person", expires="1d")
        name = message.findtext(".//" + OWN + "name") or "anybody"
        ET.SubElement(ask, CORE + "question").text = f"Which table for {name}?"
        if name != "anybody":
            for choice in ("window", "door"):
                ET.SubElement(ask, CORE + "choice").text = choice
    else:
        said = ET.SubElement(reply, OWN + "said")
        said.text = f"{answered.get('outcome')}: {answered.get('choice') or answered.text or ''}"
    write(reply)
