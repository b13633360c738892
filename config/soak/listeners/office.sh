# Has a stamp put under a check, and says so.
ns=https://xml-pipeline.org/ns
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  token=${line#*<token>} token=${token%%<*}
  case $line in
    *"<check "*) said="<stamp xmlns=\"$ns/press/v1\"><token>$token</token><copies>1</copies><mark>check</mark></stamp>" ;;
    *"<stamped "*) said="<checked xmlns=\"$ns/office/v1\"><token>$token</token></checked>" ;;
    *) said='<failure code="no-stamp" retry="false">the press gave no stamp</failure>' ;;
  esac
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">$said</reply>"
done
