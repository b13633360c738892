#!/bin/sh
# The question comes on stdin, as <ask> in an envelope. The output is the answer. Exit 0 means success.
words=$(sed -n 's/.*<ask[^>]*>\([^<]*\)<.*/\1/p')
[ -n "$words" ] || { echo "no question" >&2; exit 1; }
printf '<answer xmlns="https://xml-pipeline.org/ns/talk/v1">Hello. You said: %s</answer>\n' "$words"
