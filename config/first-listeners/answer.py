import sys
import xml.etree.ElementTree as ET

TALK = "{https://xml-pipeline.org/ns/talk/v1}"
STAMP = "{urn:systole:stamp:v1}stamp"
REPLY = "{urn:systole:listener:v1}reply"

for line in sys.stdin:                      # one document to a line; the loop ends with stdin
    message = ET.fromstring(line)
    ask, stamp = message.find(TALK + "ask"), message.find(".//" + STAMP)
    if ask is None or stamp is None:        # an <answers> of a later turn, or a <cancel>
        continue
    reply = ET.Element(REPLY, delivery=stamp.get("delivery"))
    ET.SubElement(reply, TALK + "answer").text = "You asked: " + (ask.text or "")
    print(ET.tostring(reply, encoding="unicode").replace("\n", "&#10;"))
