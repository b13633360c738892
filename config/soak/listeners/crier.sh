# Answers, fails, or stays silent until the other has answered, depending on the request and on its own
# name.
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
