# Takes payments. The book has a line for each request, with the key of the work, which is the same for all
# attempts.
while IFS= read -r line; do
  case $line in "<cancel "*) continue ;; esac  # an answer is not wanted any more
  delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
  key=${line#* key=\"} key=${key%%\"*}
  token=${line#*<token>} token=${token%%<*}
  echo "$key" >> till.book
  paid="<paid xmlns=\"https://xml-pipeline.org/ns/till/v1\"><token>$token</token></paid>"
  echo "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">$paid</reply>"
done
