#!/bin/sh
# The question comes on stdin, as <ask> in an envelope; what this prints is the answer; exit 0 says that it is one.
words=$(sed -n 's/.*<ask[^>]*>\([^<]*\)<.*/\1/p')
[ -n "$words" ] || { echo "no question" >&2; exit 1; }
printf '<answer xmlns="https://xml-pipeline.org/ns/talk/v1">Hello. You said: %s</answer>\n' "$words"
