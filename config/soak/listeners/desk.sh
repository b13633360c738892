# Has a job done by three others. Every document repeats what it needs, so any attempt or process can take the
# next step.
ns=https://xml-pipeline.org/ns
stamp() { echo "<stamp xmlns=\"$ns/press/v1\"><token>$token</token><copies>$1</copies><mark>$2</mark></stamp>"; }
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  token=${line#*<token>} token=${token%%<*}
  case $line in *"<token>"*) ;; *)  # its time is over before any answer: it does not know the caller
    said='<failure code="no-answer" retry="false">no one answered in time</failure>'
    echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">$said</reply>"
    continue ;;
  esac
  case $line in
    *"<job "*)  # no copies are refused: repaired below
      said="$(stamp 2 first)$(stamp 0 first)
<check xmlns=\"$ns/office/v1\"><token>$token</token></check>
<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"trip\"><initial-payload>
<carry xmlns=\"$ns/runner/v1\"><token>$token</token></carry></initial-payload></spawn-thread>" ;;
    *'code="payload.invalid"'*"<thread-finished "*) said=$(stamp 1 home) ;;
    *'code="payload.invalid"'*) said=$(stamp 1 away) ;;
    *"<thread-finished "* | *"<mark>home<"*) said="<done xmlns=\"$ns/desk/v1\"><token>$token</token></done>" ;;
    *) said=$(stamp 1 away) ;;  # the runner is still out
  esac
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">"$said"</reply>"
done
