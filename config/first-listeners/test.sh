#!/bin/sh
# Asks both listeners a question, on a log of its own, and fails where an answer is another.
cd "$(dirname "$0")" || exit 1
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
for listener in answer answer-py; do
    said=$(systole ask --log "$place/test.db" --to "$listener" "Who?") || exit 1
    [ "$said" = "You asked: Who?" ] || { echo "unexpected from $listener: $said" >&2; exit 1; }
done
echo "ok"
