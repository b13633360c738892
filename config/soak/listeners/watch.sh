# Takes every message and never answers.
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # no caller waits any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\"/>"
done
