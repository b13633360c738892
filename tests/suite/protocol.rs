//! The number of the protocol, at programs and over a broker, and work that a program lets go of.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use async_nats::HeaderMap;
use rustix::process::{Pid, Signal, kill_process};
use systole_kit::Payload;
use systole_kit::stdio::answer_each;

use crate::over_nats_cut::next_or_end;
use crate::program::{Running, systole};
use crate::workers::{WorkerHouse, this_suite};

const SAYS: &str = r#"
here="protocol $SYSTOLE_PROTOCOL, mode $SYSTOLE_MODE"
answer="<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">$here</answer>"
if [ "$SYSTOLE_MODE" = once ]; then echo "$answer"; exit; fi
while read -r line; do
  delivery=$(printf '%s' "$line" | sed -n 's/.* delivery="\([^"]*\)".*/\1/p')
  reply="<reply xmlns=\"urn:systole:listener:v1\" delivery=\"$delivery\">"
  case $line in
  *"<cancel "*) echo "$reply<failure code=\"listener.cancelled\">it was called back</failure></reply>" ;;
  *wait*) ;;
  *) echo "$reply$answer</reply>" ;;
  esac
done
"#;

fn house() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("says.sh"), SAYS).unwrap();
    let file = "organism: {name: shop}\nlisteners:\n  \
                once: {run: [sh, says.sh], mode: once, accepts: [ask], returns: [answer], entry: true}\n  \
                stays: {run: [sh, says.sh], accepts: [ask], returns: [answer], entry: true}\n";
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

#[test]
fn g7_a_program_is_started_with_the_number_of_the_protocol_and_its_mode() {
    let folder = house();
    for (listener, mode) in [("once", "once"), ("stays", "stay")] {
        let asked = systole(folder.path(), &["ask", "--to", listener, "What is there?"]);
        assert_eq!(asked.stdout.trim_end(), format!("protocol 1, mode {mode}"), "{asked:?}");
    }
}

#[test]
fn g7_a_program_that_lets_go_of_cancelled_work_frees_its_place_and_is_refused_nothing() {
    let folder = house();
    let _running = Running::organism(folder.path());
    let sent = systole(folder.path(), &["send", "--no-wait", "--to", "stays", "ask", "wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert_eq!(systole(folder.path(), &["cancel", "@last"]).code, Some(0));
    let next = systole(folder.path(), &["ask", "--to", "stays", "And now?"]);
    assert_eq!(next.stdout.trim_end(), "protocol 1, mode stay", "{next:?}");
    let log = systole(folder.path(), &["log", "-n", "0", "--json"]);
    assert!(log.stdout.contains("cancelled") && !log.stdout.contains("reply.stale-lease"), "{log:?}");
    assert!(!log.stdout.contains("listener-left"), "the same process lives on: {log:?}");
}

/// An example of the kit, which is built with the tests.
fn example(name: &str) -> std::path::PathBuf {
    let suite = std::env::current_exe().unwrap();
    suite.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// A program on the kit, which answers over its own stdin and stdout.
fn kit_program(variables: &[(&str, &str)], input: &str) -> std::process::Output {
    let mut command = Command::new(example("orders"));
    command
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that ends at once reads nothing.
    let _written = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn g7_a_program_on_the_kit_answers_nothing_at_another_protocol_or_in_another_mode() {
    let answered = kit_program(&[("SYSTOLE_PROTOCOL", "1"), ("SYSTOLE_MODE", "stay")], DELIVERY);
    let said = String::from_utf8(answered.stdout).unwrap();
    assert!(said.contains("<ordered ") && said.contains("<count>2</count>"), "{said}");
    for (name, value, fix) in [
        ("SYSTOLE_PROTOCOL", "2", "this organism speaks protocol 2, systole-kit 0.1.0 speaks 1; try: "),
        ("SYSTOLE_MODE", "once", "and this program stays; try: leave mode out"),
    ] {
        let refused = kit_program(&[(name, value)], DELIVERY);
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{refused:?}");
        assert!(String::from_utf8(refused.stderr).unwrap().contains(fix), "{name}");
    }
}

const DELIVERY: &str = "<message xmlns='https://xml-pipeline.org/ns/envelope/v1'><meta><from>a</from>\
                        <thread>t</thread><stamp xmlns='urn:systole:stamp:v1' delivery='d1' key='k' call='1'/></meta>\
                        <order xmlns='https://xml-pipeline.org/ns/shop/v1'><article>x</article><count>2</count></order>\
                        </message>\n";

/// The file that the process below waits for.
const GATE: &str = "SYSTOLE_TEST_GATE";

/// Runs as a program of the kit in a separate process of this suite.
#[test]
#[ignore = "started by other tests"]
fn process_that_stays() {
    let Ok(gate) = std::env::var(GATE) else { return };
    let ended = answer_each(|turn| {
        turn.progress("at it");
        while !std::path::Path::new(&gate).exists() {
            std::thread::yield_now();
        }
        Payload::write("https://xml-pipeline.org/ns/shop/v1", "ordered", |_| ())
    });
    assert_eq!(ended, std::process::ExitCode::SUCCESS);
}

#[test]
fn g7_a_program_on_the_kit_answers_after_term_what_it_works_on_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("open");
    let mut command = this_suite("protocol::process_that_stays");
    command.env(GATE, &gate).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(DELIVERY.as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.contains("<progress ")).expect("it works");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    std::fs::write(&gate, "").unwrap();
    let reply = lines.find(|line| line.contains("<reply ")).expect("it answers");
    assert!(reply.contains("<ordered "), "{reply}");
    // Its stdin is still open.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_a_worker_on_the_kit_ends_at_a_delivery_of_another_protocol() {
    let house = WorkerHouse::open("");
    let worker = house.start_worker(Command::new(example("echo_nats")));
    worker.says("connected");
    let pump = house.client("_pump", "_INBOX_pump_shop").await;
    let mut headers = HeaderMap::new();
    headers.insert("Systole-Protocol", "2");
    headers.insert("Systole-Reply", "o.shop.in.echo.0");
    let mut said = pump.subscribe("o.shop.in.>").await.unwrap();
    pump.flush().await.unwrap();
    pump.publish_with_headers("o.shop.dlv.echo", headers, "<message/>".into()).await.unwrap();
    worker.says("this organism speaks protocol 2, systole-kit 0.1.0 speaks 1; try: ");
    assert_eq!(worker.exits(), Some(2));
    pump.flush().await.unwrap();
    said.drain().await.unwrap();
    assert!(next_or_end(&mut said).await.is_none(), "it answers nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn g7_a_worker_that_does_not_show_itself_is_counted() {
    let house = WorkerHouse::open("");
    assert!(house.systole(&["ps"]).stderr.contains("workers over NATS: echo 0, other 0\n"));
    let plain = house.client("echo", "_INBOX_echo").await;
    let inbox = plain.new_inbox();
    let _ear = plain.subscribe(inbox.clone()).await.unwrap();
    let pull = "{\"batch\":1,\"expires\":60000000000}";
    let subject = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.echo";
    plain.publish_with_reply(subject, inbox, pull.into()).await.unwrap();
    plain.flush().await.unwrap();
    let ps = house.systole(&["ps"]);
    assert!(ps.stderr.contains("workers over NATS: echo 1, other 0\n"), "{ps:?}");
}
