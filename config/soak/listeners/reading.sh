# Shared by scripts with several turns: reads a document into variables, and finds the subject of its call
# again. Only the first document of a call names it, so it is written down under the call before that turn is
# answered. Equal calls write equal words.
ns=https://xml-pipeline.org/ns
core="xmlns=\"$ns/core/v1\""
root=$PWD

# Sets delivery, thread, call, turn and attempt from a document, and token and way from the first one of its call.
read_document() {
  delivery=${1#*delivery=\"} delivery=${delivery%%\"*}
  thread=${1#*<thread>} thread=${thread%%<*}
  call=${1#* call=\"} call=${call%%\"*}
  turn=${1#* turn=\"} turn=${turn%%\"*}
  attempt=${1#* attempt=\"} attempt=${attempt%%\"*}
  page=$root/memory/$thread/$call/page
  if [ "$turn" = 1 ]; then
    case $1 in
      *"<timer-fired "*) token=${1#*<timer-fired } token=${token#*>} token=${token%%<*} way=tock ;;
      *) token=${1#*<token>} token=${token%%<*} way=${1#*<way>} way=${way%%<*} ;;
    esac
    if ! [ -s "$page" ]; then
      mkdir -p "${page%/page}"
      echo "$token $way" > "$page"
    fi
  else
    read -r token way < "$page"
  fi
}

say() { echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">"$1"</reply>"; }
stamp() { echo "<stamp xmlns=\"$ns/press/v1\"><token>$token</token><copies>1</copies><mark>$1</mark></stamp>"; }
await() { echo "<await-threads $core mode=\"$1\"/>"; }
after() { echo "<set-timer $core after=\"$1\">$token</set-timer>"; }
