#!/bin/sh
# Asks the organism a question, on a log of its own, and fails where the answer is another.
cd "$(dirname "$0")" || exit 1
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
said=$(systole ask --log "$place/test.db" "Who is there?") || exit 1
[ "$said" = "Hello. You said: Who is there?" ] || { echo "unexpected: $said" >&2; exit 1; }
echo "ok"
