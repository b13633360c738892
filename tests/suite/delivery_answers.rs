//! What listeners say while they work, and how the pump's answers reach them: on the line of a listener in this
//! process, and on the stdin of a program.

use std::sync::Arc;

use systole_carriers::from_conversation;
use systole_core::types::composition::{ListenerProgram, Reach};
use systole_core::types::ports::Carrier as _;
use systole_kit::ask::PumpQuestion;
use systole_kit::journal::{JournalEntry, ModelStarted};
use systole_kit::line::{Line, NotTaken};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::{Item, ListenerDocument, ReplyContent};
use systole_kit::{DocumentLimits, Payload};
use tokio::sync::Notify;

use crate::stage::{CarrierStage, Cast, cast, name, program, shell_once};

fn answer(delivery: &str, id: u64, document: Option<&str>) -> PumpAnswer {
    let payload = document.map(|it| Payload::parse(it.as_bytes(), &DocumentLimits::default()).unwrap());
    PumpAnswer { delivery: delivery.to_owned(), id, payload }
}

fn answers(stage: &CarrierStage, answer: PumpAnswer) {
    stage.carriers.send_answer(&name("echo"), answer);
}

fn start() -> JournalEntry {
    let prompt = "0".repeat(64);
    JournalEntry::Started(ModelStarted {
        model: "m".into(),
        prompt,
        guided: None,
        reserve_tokens: None,
        reserve_money: None,
        wait_ms: None,
    })
}

fn said(words: &str) -> ReplyContent {
    ReplyContent::new_failure("told", false, words)
}

fn inline(listener: Arc<dyn systole_carriers::InlineListener>) -> Cast {
    Cast { inline: Some(listener), in_flight: 2, ..cast(Reach::Inline) }
}

const REFUSED: &str =
    "<system-error xmlns='https://xml-pipeline.org/ns/core/v1' code='budget.tokens' message='all used'/>";

#[tokio::test]
async fn a_rust_listener_goes_on_when_its_entry_is_answered() {
    let listener = from_conversation(|_, line: Arc<dyn Line>| async move {
        let number = line.journal(start()).await.unwrap();
        let refused = line.journal(start()).await.unwrap_err();
        let asked = line.ask(PumpQuestion::View { from_seq: 0, words: false, items: true }).await.unwrap();
        said(&format!("{number}; {refused}; {}", asked.unwrap().name().local))
    });
    let mut stage = inline(listener).start().joined().await;
    stage.hand("d1");
    stage.expect("said <journal", "id=\"1\" delivery=\"d1\" kind=\"model-started\"").await;
    // An answer to an unknown number, or of another delivery, wakes no waiter.
    answers(&stage, answer("d1", 9, None));
    answers(&stage, answer("d2", 1, None));
    answers(&stage, answer("d1", 1, None));
    stage.expect("said <journal", "id=\"2\" delivery=\"d1\"").await;
    answers(&stage, answer("d1", 2, Some(REFUSED)));
    stage.expect("said <ask", "id=\"3\" delivery=\"d1\"><view from-seq=\"0\"/>").await;
    answers(&stage, answer("d1", 3, Some("<seen xmlns='u'/>")));
    stage.expect("said <reply", "1; budget.tokens: all used; seen").await;
}

#[tokio::test]
async fn notices_of_a_rust_listener_are_sent_before_its_reply_and_get_no_answer() {
    let listener = from_conversation(|_, line: Arc<dyn Line>| async move {
        line.progress("reading page 3 of 9").await.unwrap();
        line.notice("agent.second-action", "one & no more").await.unwrap();
        said("done")
    });
    let mut stage = inline(listener).start().joined().await;
    stage.hand("d1");
    stage.expect("said <progress", "delivery=\"d1\">reading page 3 of 9</progress>").await;
    let notice = "delivery=\"d1\" code=\"agent.second-action\">one &amp; no more</notice>";
    stage.expect("said <notice", notice).await;
    stage.expect("said <reply", "done").await;
}

#[tokio::test]
async fn a_rust_listener_is_told_the_hash_of_what_it_put() {
    let listener = from_conversation(|_, line: Arc<dyn Line>| async move {
        let hash = line.put_blob("a prompt").await.unwrap();
        let odd = line.put_blob("another").await.unwrap_err();
        said(&format!("{hash}; {odd}"))
    });
    let mut stage = inline(listener).start().joined().await;
    stage.hand("d1");
    stage.expect("said <ask", "id=\"1\" delivery=\"d1\"><put-blob>a prompt</put-blob>").await;
    let blob = "<blob xmlns='urn:systole:listener:v1' hash='ab' total='8'/>";
    answers(&stage, answer("d1", 1, Some(blob)));
    stage.expect("said <ask", "id=\"2\"").await;
    answers(&stage, answer("d1", 2, Some("<seen xmlns='u'/>")));
    stage
        .expect(
            "said <reply",
            "ab; the answer of the pump cannot be read: the payload does not say that bytes are kept",
        )
        .await;
}

#[tokio::test]
async fn two_deliveries_of_a_rust_listener_have_a_line_each() {
    let listener = from_conversation(|asked, line: Arc<dyn Line>| async move {
        let number = line.journal(start()).await.unwrap();
        ReplyContent::Items(if number == 1 { vec![Item::plain(asked.payload)] } else { Vec::new() })
    });
    let mut stage = inline(listener).start().joined().await;
    stage.hand("d1");
    stage.expect("said <journal", "id=\"1\" delivery=\"d1\"").await;
    stage.hand("d2");
    stage.expect("said <journal", "id=\"1\" delivery=\"d2\"").await;
    answers(&stage, answer("d2", 1, None));
    stage.expect("said <reply", "delivery=\"d2\"><ask").await;
    answers(&stage, answer("d1", 1, None));
    stage.expect("said <reply", "delivery=\"d1\"><ask").await;
}

#[tokio::test]
async fn a_line_is_dead_once_its_delivery_is_over() {
    let (kept, over) = (Arc::new(std::sync::Mutex::new(None)), Arc::new(Notify::new()));
    let (keeps, told) = (kept.clone(), over.clone());
    let listener = from_conversation(move |_, line: Arc<dyn Line>| {
        *keeps.lock().unwrap() = Some(line);
        let told = told.clone();
        async move {
            told.notified().await;
            ReplyContent::Items(Vec::new())
        }
    });
    let mut stage = inline(listener).start().joined().await;
    stage.hand("d1");
    over.notify_one();
    stage.expect("said <reply", "d1").await;
    let line = kept.lock().unwrap().take().unwrap();
    assert_eq!(line.journal(start()).await, Err(NotTaken::Over));
    assert_eq!(line.notice("c", "w").await, Err(NotTaken::Over));
}

/// Journals twice and returns the answers in its reply.
const PROGRAM: &str = r#"
import sys

def send(document):
    if by_length:
        sys.stdout.write("%d\n%s" % (len(document), document))
    else:
        sys.stdout.write(document + "\n")
    sys.stdout.flush()

def receive():
    if by_length:
        return sys.stdin.read(int(sys.stdin.readline()))
    return sys.stdin.readline().strip()

by_length = len(sys.argv) > 1
ns = 'xmlns="urn:systole:listener:v1"'
while receive():
    heard = []
    for id in ("8", "9"):
        send('<journal %s id="%s" delivery="d1" kind="model-started" model="m" prompt="%s"/>' % (ns, id, "0" * 64))
        heard.append(receive())
    said = "|".join(heard).replace("&", "&amp;").replace("<", "&lt;")
    send('<reply %s delivery="d1"><pong xmlns="urn:t">%s</pong></reply>' % (ns, said))
"#;

#[tokio::test]
async fn a_program_reads_answers_on_its_stdin_in_either_framing() {
    for by_length in [false, true] {
        let run: &[&str] =
            if by_length { &["python3", "-c", PROGRAM, "length"] } else { &["python3", "-c", PROGRAM] };
        let program = ListenerProgram { by_length, ..program(run, "/".into()) };
        let mut stage = cast(Reach::Process(program)).start().joined().await;
        stage.hand("d1");
        stage.expect("said <journal", "id=\"8\"").await;
        answers(&stage, answer("d1", 8, None));
        stage.expect("said <journal", "id=\"9\"").await;
        answers(&stage, answer("d1", 9, Some(REFUSED)));
        let empty = "&lt;answer xmlns=\"urn:systole:listener:v1\" id=\"8\" delivery=\"d1\"/>|";
        let reply = stage.expect("said <reply", empty).await;
        assert!(reply.contains("id=\"9\" delivery=\"d1\">&lt;system-error"), "{reply}");
    }
}

#[tokio::test]
async fn a_program_that_runs_once_cannot_be_answered_and_is_told_so() {
    let journal = r#"<journal xmlns="urn:systole:listener:v1" id="8" delivery="d1" kind="model-started"/>"#;
    let mut stage = shell_once(&format!("echo '{journal}<pong xmlns=\"urn:t\"/>'")).start().joined().await;
    stage.hand("d1");
    let said = stage.expect("said ", "").await;
    let word =
        ListenerDocument::parse(said.strip_prefix("said ").unwrap().as_bytes(), &DocumentLimits::default());
    let Ok(ListenerDocument::Reply { said: ReplyContent::Items(items), .. }) = word else {
        panic!("{word:?}")
    };
    let [refused, pong] = items.as_slice() else { panic!("two items") };
    let fault = refused.payload.as_ref().unwrap_err();
    assert_eq!(&*fault.message, "<journal> of the listener protocol is inside a reply");
    let fix = "leave it out if the program runs once for each message: only one that stays can send it";
    assert_eq!(fault.fix.as_deref(), Some(fix));
    assert!(pong.payload.is_ok(), "the other item goes on");
}
