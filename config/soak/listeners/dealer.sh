# Pays as its journal says: intent, payment, result, each answered before the next. Other deliveries come in
# between, so it writes down under each delivery's name what is next. The book lists each payment with its
# key and attempt.
. listeners/reading.sh
mkdir -p memory/deals

dealt() { say "<dealt xmlns=\"$ns/market/v1\" paid=\"$1\"><token>$token</token></dealt>"; }
entry() { echo "<journal xmlns=\"urn:systole:listener:v1\" id=\"$1\" delivery=\"$delivery\" $2"; }
begin() {
  prompt=$(printf %s "$key" | sha256sum) prompt=${prompt%% *}
  case $way in
    dear) kept='reserve-tokens="4" reserve-money="0.40 USD"' ;;
    *) kept='reserve-tokens="100" reserve-money="0.01 USD"' ;;
  esac
  entry 2 "kind=\"model-started\" model=\"dealer\" prompt=\"$prompt\" $kept/>"
}
pay() {
  echo "$key $attempt" >> deals.book
  sync deals.book
  case $way:$attempt in lost:1) kill -9 $$ ;; esac  # the outcome stays unknown
  case $way in
    dear) used='in="3" out="1" money="0.30 USD"' ;;
    *) used='in="40" out="20" money="0.004 USD"' ;;
  esac
  entry 3 "kind=\"model-result\" of=\"2\" stop=\"end\" $used>paid</journal>"
}
# There is no room for it, or the delivery is over. The market has another turn, and tries once more in that.
refused() {
  case $SYSTOLE_LISTENER:$turn in
    market:1) say "<market xmlns=\"$ns/market/v1\"/>" ;;
    *) dealt not ;;
  esac
}

while IFS= read -r line; do
  case $line in
    "<cancel "*) continue ;;  # an answer is not wanted any more
    "<answer "*)
      delivery=${line#*delivery=\"} delivery=${delivery%%\"*}
      id=${line#* id=\"} id=${id%%\"*}
      read -r key attempt turn way token < "memory/deals/$delivery"
      case $id:$line in
        1:*' kind="model-result"'*) dealt before ;;
        1:*) begin ;;
        *"<system-error "*) refused ;;
        2:*) pay ;;
        3:*) dealt now ;;
      esac ;;
    *)
      read_document "$line"
      key=${line#* key=\"} key=${key%%\"*}
      echo "$key $attempt $turn $way $token" > "memory/deals/$delivery"
      case $line in
        *' journal="'*) echo "<ask xmlns=\"urn:systole:listener:v1\" id=\"1\" delivery=\"$delivery\"><journal/></ask>" ;;
        *) begin ;;
      esac ;;
  esac
done
