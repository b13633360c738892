"""@NAME@: takes <@ASK@>, answers with <@ANSWER@>. It is started once and answers until stdin ends."""
import sys
import xml.etree.ElementTree as ET

NS = "{@NS@}"
STAMP = "{urn:systole:stamp:v1}stamp"
REPLY = "{urn:systole:listener:v1}reply"


def answer(text):
    """The work itself."""
    return "You said: " + text


def main():
    for line in sys.stdin:                      # one document to a line; the loop ends with stdin
        message = ET.fromstring(line)
        asked, stamp = message.find(NS + "@ASK@"), message.find(".//" + STAMP)
        if asked is None or stamp is None:      # a <cancel>, or the <answers> of a later turn
            continue
        reply = ET.Element(REPLY, delivery=stamp.get("delivery"))
        said = ET.SubElement(reply, NS + "@ANSWER@")
        ET.SubElement(said, NS + "text").text = answer(asked.findtext(NS + "text"))
        print(ET.tostring(reply, encoding="unicode").replace("\n", "&#10;"))


if __name__ == "__main__":
    main()
