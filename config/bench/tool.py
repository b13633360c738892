"""The tool of the benchmark as a Python program: it answers each delivery with the same payload."""
import re
import sys

DELIVERY = re.compile(r'delivery="([^"]*)"')
WORKED = "<number>1</number><text>" + "x" * int(sys.argv[1]) + "</text>"

for line in sys.stdin:
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{DELIVERY.search(line)[1]}">'
          f'<worked xmlns="https://xml-pipeline.org/ns/tool/v1">{WORKED}</worked></reply>', flush=True)
