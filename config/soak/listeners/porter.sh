# Works in a child thread: at once, with a stamp, after a sleep, after a signal, or never.
. listeners/reading.sh

while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  read_document "$line"
  said="<walked xmlns=\"$ns/porter/v1\"><token>$token</token></walked>"
  case $way:$turn in
    slow:1) said=$(stamp walk) ;;
    sleep:1) said="$(after 2s)$(await all)" ;;
    wait:1) said="$(after 1h)$(await all)" ;;
    none:*) said="<porter xmlns=\"$ns/porter/v1\"/>" ;;
    fall:*) said='<failure code="fell" retry="false">the porter fell</failure>' ;;
  esac
  say "$said"
done
