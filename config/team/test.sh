#!/bin/sh
# Asks the team, on a log of its own, and fails where it answers something else or comes to it another way.
cd "$(dirname "$0")" || exit 1
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
said=$(systole ask --log "$place/test.db" "What makes a heart beat?") || exit 1
[ "$said" = "It begins in the sinoatrial node, by itself, some 70 times a minute. That is on the board." ] || { echo "unexpected: $said" >&2; exit 1; }
log=$(systole log --log "$place/test.db" @last) || exit 1
for step in "refused to coordinator: payload.invalid" "coordinator  spawns" "coordinator  waits" "coordinator → critic" "board → coordinator"; do
  case $log in *"$step"*) ;; *) echo "missing: $step" >&2; exit 1 ;; esac
done
echo "ok"
