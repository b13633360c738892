#!/usr/bin/env python3
"""Deploys a version: here it only says that it did."""
import sys
import xml.etree.ElementTree as ET

LISTENER = "urn:systole:listener:v1"
STAMP = "{urn:systole:stamp:v1}stamp"

for line in sys.stdin:
    message = ET.fromstring(line)
    delivery = message.find(f".//{STAMP}").get("delivery")
    deploy = message[-1]
    namespace = deploy.tag[1:].split("}")[0]
    reply = ET.Element(f"{{{LISTENER}}}reply", delivery=delivery)
    done = ET.SubElement(reply, f"{{{namespace}}}deployed")
    ET.SubElement(done, f"{{{namespace}}}version").text = deploy[0].text
    print(ET.tostring(reply, encoding="unicode"), flush=True)
