#!/bin/sh
# @NAME@: takes <@ASK@>, answers with <@ANSWER@>. It is started once for each request.
# The request comes on stdin, in an envelope; what this prints is the answer; exit 0 says that it is one.
text=$(sed -n 's/.*<text>\([^<]*\)<\/text>.*/\1/p')
[ -n "$text" ] || { echo "no text in the request" >&2; exit 1; }
printf '<@ANSWER@ xmlns="@NS@"><text>You said: %s</text></@ANSWER@>\n' "$text"
