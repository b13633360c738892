# Takes whatever it is told, and has nothing to say.
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # nobody waits any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\"/>"
done
