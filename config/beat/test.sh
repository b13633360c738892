#!/bin/sh
# Sends the order that fits and the one that does not, on a log of its own, and fails where anything else comes of them.
cd "$(dirname "$0")" || exit 1
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
said=$(systole send --log "$place/test.db" --file order.xml 2>/dev/null) || exit 1
case $said in *":total>7<"*) ;; *) echo "unexpected: $said" >&2; exit 1 ;; esac
systole send --log "$place/test.db" --file wrong.xml 2>/dev/null
[ $? -eq 4 ] || { echo "the wrong order was not refused" >&2; exit 1; }
echo "ok"
