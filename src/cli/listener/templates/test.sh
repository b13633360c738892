#!/bin/sh
# Tries @NAME@ alone, without a running organism, and fails where its answer is another.
cd "$(dirname "$0")/.." || exit 1
said=$(systole listener try @NAME@ --send @ASK@ text="Who is there?") || exit 1
case $said in
*"You said: Who is there?"*) echo "ok" ;;
*) echo "unexpected: $said" >&2; exit 1 ;;
esac
