# Runs errands. Each errand uses one primitive, or makes one mistake with it. The documents show the result,
# and the errand goes on in any case.
. listeners/reading.sh

spawn() { echo "<spawn-thread $core><initial-payload>$1</initial-payload></spawn-thread>"; }
carry() { spawn "<carry xmlns=\"$ns/runner/v1\"><token>$token</token></carry>"; }
walk() { spawn "$(walking "$1")"; }
walking() { echo "<walk xmlns=\"$ns/porter/v1\"><token>$token</token><way>$1</way></walk>"; }
errand() { spawn "<errand xmlns=\"$ns/clerk/v1\"><token>$token</token><way>$1</way></errand>"; }
opening() { echo "<open xmlns=\"$ns/safe/v1\"><token>$token</token><mark>plain</mark></open>"; }
to_thread() { echo "<message xmlns=\"$ns/envelope/v1\"><meta><thread>$1</thread></meta>$2</message>"; }
cancel() { echo "<cancel-thread $core id=\"$1\"/>"; }
many() { for mark in 1 2 3 4 5 6 7 8 9 10; do stamp "$1-$mark"; done; }
note() { echo "<clerk xmlns=\"$ns/clerk/v1\"><thought>$1</thought></clerk>"; }
todo() { echo "<todo-until $core condition=\"all is done\"><step done=\"$1\">look again</step></todo-until>"; }
ask() { echo "<ask xmlns=\"urn:systole:listener:v1\" id=\"$1\" delivery=\"$delivery\">$2</ask>"; }
cry() { echo "<$1 xmlns=\"$ns/crier/v1\"><token>$token</token><way>$2</way></$1>"; }
deal() { echo "<$1 xmlns=\"$ns/market/v1\"><token>$token$3</token><way>$2</way></$1>"; }
deals() { for mark in 1 2 3 4 5; do deal trade "$1" "-$mark"; done; }

# The id of the last child that the document tells of as spawned.
child_in() {
  child=${1##*assigned_id=\"}
  if [ "$child" = "$1" ]; then child=sess-000000000000.none; fi
  child=${child%%\"*}
}

# Its questions: first its own view, then a schema that does not exist, which is refused.
go_on() {
  delivery=${1#*delivery=\"} delivery=${delivery%%\"*}
  read -r token count < "memory/asked/$delivery"
  case $1 in
    *"<view "*)
      count=${1#*<view } count=${count#* count=\"} count=${count%%\"*}
      echo "$token $count" > "memory/asked/$delivery"
      ask 2 '<schema name="nobody"/>' ;;
    *) say "<report xmlns=\"$ns/clerk/v1\"${count:+ seen=\"$count\"}><token>$token</token></report>" ;;
  esac
}

while IFS= read -r line; do
  case $line in
    "<cancel "*) continue ;;  # an answer is not wanted any more
    "<answer "*) go_on "$line"; continue ;;
  esac
  read_document "$line"
  report="<report xmlns=\"$ns/clerk/v1\"><token>$token</token></report>"
  last=${token#"${token%?}"}
  case $line in *' wrap-up="'*) way=wrap-up ;; esac
  case $way:$turn in
    wrap-up:*) case $last in [02468]) said=$report ;; *) said=$(note "there is nothing left") ;; esac ;;
    all:1) said="$(carry)$(walk slow)$(await all)" ;;
    any:1) said="$(carry)$(walk sleep)$(await any)" ;;
    any:2) child_in "$line"; said="$(cancel "$child")$(await all)" ;;
    count:1) said="$(carry)$(carry)$(walk sleep)$(await 2)" ;;
    nap:1) said="$(after 1s)$(await all)" ;;
    long:1) said="<set-timer $core id=\"long\" after=\"1d\">$token</set-timer>$(await all)" ;;
    long:2) said="<cancel-timer $core id=\"long\"/>" ;;
    early:1) said="<set-timer $core id=\"early\" after=\"30s\">$token</set-timer>$(stamp early)" ;;
    early:2 | early:3) said="<cancel-timer $core id=\"early\"/>" ;;
    later:1) said=$(after 1s) ;;
    tick:1) said="<set-timer $core every=\"1s\">$token</set-timer>" ;;
    tock:1)  # opened by a timer: every second call cancels it
      fired=${line#*<timer-fired } fired=${fired#* id=\"} fired=${fired%%\"*}
      case $call in *[02468]) said="<cancel-timer $core id=\"$fired\"/>" ;; *) said=$report ;; esac ;;
    todo:1) said="<clerk xmlns=\"$ns/clerk/v1\"><thought>not yet</thought>$(todo false)</clerk>$report" ;;
    todo:2) said="$(todo true)$report" ;;
    note:1) said=$(note "once more") ;;
    hasty:1) said=$(walk sleep) ;;
    cancel:1) said=$(walk sleep) ;;
    cancel:2) child_in "$line"; said="$(cancel "$child")$(cancel sess-000000000000.none)" ;;
    twice:1) said=$(walk sleep) ;;
    twice:2) child_in "$line"; echo "$child" > "$page.child"; said=$(cancel "$child") ;;
    twice:3) read -r child < "$page.child"; said=$(to_thread "$child" "$(walking go)") ;;
    steer:1) said=$(walk wait) ;;
    steer:2) child_in "$line"; said="$(to_thread "$child" "$(walking go)")$(await all)" ;;
    ends:1) said="$(walk fall)$(walk none)$(spawn "<glance xmlns=\"$ns/watch/v1\"/>")$(await all)" ;;
    ask:1)
      said="<list-capabilities xmlns=\"$ns/meta/v1\"/>"
      said="$said<describe xmlns=\"$ns/meta/v1\" element=\"stamp\"/><describe xmlns=\"$ns/meta/v1\" element=\"none\"/>" ;;
    safe:1) said=$(opening) ;;
    held:1) said="$(spawn "$(opening)")$(await all)" ;;
    sealed:1) said="<unlock xmlns=\"$ns/vault/v1\"><token>$token</token></unlock>" ;;
    loop:1) said= && for _ in 1 2 3 4 5 6 7 8 9; do said="$said$(stamp same)"; done ;;
    round:*) case $line in *'code="loop.ping-pong"'*) said=$report ;; *) said=$(stamp round) ;; esac ;;
    greedy:*) said=$(many "$turn") ;;
    miser:1) said="$(errand greedy)$(await all)" ;;
    brood:1) said= && for _ in 1 2 3 4 5 6 7 8; do said="$said$(carry)"; done ;;
    brood:2) said=$(await all) ;;
    deep:1) said="$(errand deep)$(await all)" ;;
    drag:1) said="<grind xmlns=\"$ns/mill/v1\"><token>$token</token></grind>" ;;
    weary:*) said=$(note "turn $turn") ;;
    stray:1)
      said="$(to_thread sess-000000000000.none "$(walking go)")<boot $core/>"
      said="$said<pay xmlns=\"$ns/till/v1\"><token>$token</token></pay>$(stamp stray)$report" ;;
    view:2 | clear:4)
      mkdir -p memory/asked && echo "$token" > "memory/asked/$delivery"
      ask 1 "<view/>"
      continue ;;
    view:1) said=$(stamp view) ;;
    clear:1) said=$(stamp clear) ;;
    clear:2) said="<clear-context $core keep=\"0\"/>" ;;
    clear:3) said="<recall $core from_seq=\"1\" to_seq=\"2\"/><recall $core from_seq=\"2\" to_seq=\"99\"/>" ;;
    poll:1) said=$(cry poll plain) ;;
    doubt:1) said=$(cry poll one) ;;
    race:1) said=$(cry race late) ;;
    upset:1) said=$(cry race one) ;;
    fiasco:1) said=$(cry race none) ;;
    deal:1) said="$(deal borrow plain)$(deal trade plain)$(deal bet plain)" ;;
    lose:1)
      case $last in [0-4]) lost=borrow ;; [5-7]) lost=trade ;; *) lost=bet ;; esac
      said=$(deal "$lost" lost) ;;
    spend:1) said=$(deals plain) ;;
    luxury:1) said=$(deals dear) ;;
    credit:1) said="$(spawn "$(deal trade plain)")$(spawn "$(deal trade dear)")$(await all)" ;;
    *) said=$report ;;
  esac
  say "$said"
done
