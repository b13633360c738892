# Fails as requested. The turn and attempt in the document decide, so a lost attempt does not change the
# others.
. listeners/reading.sh

while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  read_document "$line"
  open="xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\""
  lit="<lit xmlns=\"$ns/fuse/v1\"><token>$token</token></lit>"
  case $way:$turn:$attempt in
    fail:*) lit='<failure code="no-current" retry="false">there is no current</failure>' ;;
    retry:*:1) lit='<failure code="flicker" retry="true">try again</failure>' ;;
    dead:*) lit='<failure code="flicker" retry="true">it never comes</failure>' ;;
    die:*:1) kill -9 $$ ;;
    hang:*:1) continue ;;
    silent:*) lit= ;;
    again:1:*) lit='<again code="agent.prose-only">say it as a payload</again>' ;;
    notice:1:*)
      echo "<notice $open code=\"agent.second-action\">one at a time</notice>"
      echo "<progress $open>it glows</progress>"
      lit='<again code="agent.malformed">that was none</again>' ;;
  esac
  say "$lit"
done
