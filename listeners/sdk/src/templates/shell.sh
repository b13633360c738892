#!/bin/sh
# @NAME@: takes <@ASK@>, answers with <@ANSWER@>. It is started once for each request.
# The request comes on stdin, in an envelope. The output is the answer. Exit 0 means success.
text=$(sed -n 's/.*<text>\([^<]*\)<\/text>.*/\1/p')
[ -n "$text" ] || { echo "no text in the request" >&2; exit 1; }
printf '<@ANSWER@ xmlns="@NS@"><text>You said: %s</text></@ANSWER@>\n' "$text"
