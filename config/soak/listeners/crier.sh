# Answers, or fails, or says nothing until somebody else has answered: what it does follows from the way that
# all are asked in, and from its own name.
. listeners/reading.sh

while IFS= read -r line; do
  failed='<failure code="hoarse" retry="false">it has no voice</failure>'
  case $line in
    "<cancel "*)
      delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
      say "$failed"
      continue ;;
  esac
  read_document "$line"
  told="<told xmlns=\"$ns/crier/v1\"><token>$token</token></told>"
  case $way:$SYSTOLE_LISTENER in
    late:south) continue ;;
    one:south | none:*) told=$failed ;;
  esac
  say "$told"
done
