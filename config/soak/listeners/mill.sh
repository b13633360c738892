# Grinds what it is given until it is called back: longer than the message may be worked on.
while IFS= read -r line; do
  case $line in
    "<cancel "*)
      delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
      said='<failure code="stopped" retry="false">there is nothing ground</failure>'
      echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">$said</reply>" ;;
  esac
done
