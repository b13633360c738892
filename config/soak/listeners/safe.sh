# Opens what it is asked to, with the token of the caller.
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  token=${line#*<token>} token=${token%%<*}
  said="<opened xmlns=\"https://xml-pipeline.org/ns/safe/v1\"><token>$token</token></opened>"
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">$said</reply>"
done
