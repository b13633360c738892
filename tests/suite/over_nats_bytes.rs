//! Tests the second half of `docs/over-nats.md`: a plain client that follows only that, under the rights of its
//! listener.

use std::time::Duration;

use async_nats::{Client, Request, Subscriber};

use crate::program::{Events, PATIENCE, run_file, systole};
use crate::workers::{WorkerHouse, final_of, next};

const PULL_SUBJECT: &str = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.echo";
const PULL: &str = "{\"batch\":1,\"expires\":5000000000}";
const REPLY: &str = "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"DELIVERY\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Me</answer></reply>";
const RECEIPT: &str = "<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"DELIVERY\"/>";
const CANCEL: &str = "<cancel xmlns=\"urn:systole:listener:v1\" delivery=\"DELIVERY\"/>";
const PROGRESS: &str =
    "<progress xmlns=\"urn:systole:listener:v1\" delivery=\"DELIVERY\">half way</progress>";
const NOTICE: &str =
    "<notice xmlns=\"urn:systole:listener:v1\" delivery=\"DELIVERY\" code=\"own.word\">a word aside</notice>";
const ASK: &str =
    "<ask xmlns=\"urn:systole:listener:v1\" id=\"1\" delivery=\"DELIVERY\"><view from-seq=\"0\"/></ask>";
const ASKED: &str = "<answer xmlns=\"urn:systole:listener:v1\" id=\"1\" delivery=\"DELIVERY\">";
const ENTRY: &str =
    "<journal xmlns=\"urn:systole:listener:v1\" id=\"2\" delivery=\"DELIVERY\" kind=\"model-started\" ";
const ENTERED: &str = "<answer xmlns=\"urn:systole:listener:v1\" id=\"2\" delivery=\"DELIVERY\"/>";
const FAILURE: &str = "<failure code=\"search.offline\" retry=\"true\">words</failure>";
const SAID: [&str; 12] =
    [PULL_SUBJECT, PULL, REPLY, RECEIPT, CANCEL, PROGRESS, NOTICE, ASK, ASKED, ENTRY, ENTERED, FAILURE];

#[test]
fn d2_the_bytes_that_are_tried_stand_in_the_page_and_its_example_is_the_file() {
    let page = include_str!("../../docs/over-nats.md");
    for said in SAID {
        assert!(page.contains(said), "{said}");
    }
    let page = include_str!("../../docs/listeners-in-rust.md");
    let example = include_str!("../../listeners/kit/examples/echo_nats.rs");
    let code = &example[example.find("use systole_kit").unwrap()..];
    assert!(page.contains(code.trim_end()), "{code}");
    let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
    assert!(lines <= 15, "about fifteen lines: {lines}");
}

/// A client with the listener's key.
struct Plain {
    client: Client,
    cancels: Subscriber,
}

/// A delivery, and what the client keeps of it.
struct Taken {
    body: String,
    delivery: String,
    says: String,
    message: String,
}

impl Taken {
    fn word(&self, word: &str) -> String {
        word.replace("DELIVERY", &self.delivery)
    }
}

impl Plain {
    async fn of(house: &WorkerHouse) -> Plain {
        let client = house.client("echo", "_INBOX_echo").await;
        let cancels = client.subscribe("o.shop.cancel.echo").await.unwrap();
        Plain { client, cancels }
    }

    async fn pull(&self) -> Subscriber {
        let inbox = self.client.new_inbox();
        let ear = self.client.subscribe(inbox.clone()).await.unwrap();
        self.client.publish_with_reply(PULL_SUBJECT, inbox, PULL.into()).await.unwrap();
        ear
    }

    async fn takes(&self) -> Taken {
        let message = next(&mut self.pull().await).await;
        assert_eq!((message.status, message.subject.as_str()), (None, "o.shop.dlv.echo"));
        let headers = message.headers.unwrap();
        assert_eq!(headers.get("Systole-Protocol").unwrap().as_str(), "1");
        let says = headers.get("Systole-Reply").unwrap().to_string();
        assert_eq!(says, "o.shop.in.echo.0");
        let reply = message.reply.unwrap().to_string();
        assert!(reply.starts_with("$JS.ACK.SYSTOLE_shop_BUS.echo."), "{reply}");
        let body = String::from_utf8(message.payload.to_vec()).unwrap();
        let stamp = &body[body.find("<stamp xmlns=\"urn:systole:stamp:v1\"").unwrap()..];
        let delivery = stamp.split(" delivery=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Taken { body, delivery, says, message: reply }
    }

    async fn asks(&self, taken: &Taken, word: &str) -> String {
        let request = Request::new().payload(taken.word(word).into()).timeout(Some(PATIENCE));
        let answer = self.client.send_request(taken.says.clone(), request).await.unwrap();
        String::from_utf8(answer.payload.to_vec()).unwrap()
    }

    async fn publishes(&self, subject: &str, word: String) {
        self.client.publish(subject.to_owned(), word.into()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_plain_client_works_by_the_page() {
    let house = WorkerHouse::open(", idle: 2s");
    let plain = Plain::of(&house).await;
    // There is nothing: the pull ends with a status, and the next pull is answered.
    let nothing = next(&mut plain.pull().await).await;
    assert_eq!(nothing.status.map(|status| status.as_u16()), Some(408), "{nothing:?}");
    let mut events = Events::open(&run_file(house.path()), "", &[]);
    let thread = house.sends("Who?");
    let taken = plain.takes().await;
    assert!(
        taken.body.starts_with("<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta>"),
        "{}",
        taken.body
    );
    assert!(taken.body.contains("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Who?</ask></message>"));
    let mut idles = std::pin::pin!(house.idles());
    let mut beat = tokio::time::interval(Duration::from_millis(200));
    loop {
        tokio::select! {
            () = &mut idles => break,
            _ = beat.tick() => plain.publishes(&taken.message, "+WPI".to_owned()).await,
        }
    }
    let receipt = taken.word(RECEIPT);
    assert_eq!(plain.asks(&taken, REPLY).await, receipt);
    assert!(final_of(&mut events).contains(">Me<"));
    // A client without a receipt sends the same again, and then gets it.
    assert_eq!(plain.asks(&taken, REPLY).await, receipt);
    plain.publishes(&taken.message, "+ACK".to_owned()).await;
    assert_eq!(house.told_of(&thread), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_plain_client_says_aside_asks_and_journals_by_the_page() {
    let house = WorkerHouse::open("");
    let plain = Plain::of(&house).await;
    let mut voices = Events::open(&run_file(house.path()), "?voice=true", &[]);
    house.sends("Who?");
    let taken = plain.takes().await;
    plain.publishes("o.shop.live.echo", taken.word(PROGRESS)).await;
    let spoken = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "half way");
    for _ in 0..2 {
        assert_eq!(plain.asks(&taken, NOTICE).await, taken.word(RECEIPT));
    }
    let view = plain.asks(&taken, ASK).await;
    assert!(
        view.starts_with(&taken.word(ASKED)) && view.contains(">Who?</") && view.ends_with("</answer>"),
        "{view}"
    );
    let entry = format!("{ENTRY}model=\"own\" prompt=\"{}\" reserve-tokens=\"9\"/>", "a".repeat(64));
    for _ in 0..2 {
        assert_eq!(plain.asks(&taken, &entry).await, taken.word(ENTERED));
    }
    let failure = REPLY.split("<answer").next().unwrap().to_owned() + FAILURE + "</reply>";
    assert_eq!(plain.asks(&taken, &failure.replace("true", "false")).await, taken.word(RECEIPT));
    let told = house.told();
    let count = |what: &str| told.iter().filter(|one| *one == what).count();
    assert_eq!((count("message/inbox"), count("journal/model-started")), (2, 1), "{told:?}");
    let words = systole(house.path(), &["log", "@last"]).stdout;
    assert!(words.contains("search.offline"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_plain_client_that_is_silent_or_called_back_is_treated_by_the_page() {
    let house = WorkerHouse::open(", idle: 1s, retry: {backoff: 1ms..1ms}");
    let mut plain = Plain::of(&house).await;
    let thread = house.sends("Who?");
    let silent = plain.takes().await;
    let again = plain.takes().await;
    assert_ne!(silent.delivery, again.delivery);
    let refused = plain.asks(&silent, REPLY).await;
    let begin = silent.word(RECEIPT).replace("/>", "><system-error ");
    assert!(refused.starts_with(&begin) && refused.contains("code=\"reply.stale-lease\""), "{refused}");
    let told = house.told_of(&thread);
    assert_eq!(told, ["message/request", "attempt/listener.lost", "refusal/reply.stale-lease"]);
    assert_eq!(house.systole(&["cancel", &thread]).code, Some(0));
    loop {
        // The lost attempt may also have been called back.
        let cancel = next(&mut plain.cancels).await;
        if cancel.payload == again.word(CANCEL) {
            break;
        }
    }
    let late = plain.asks(&again, REPLY).await;
    assert!(late.contains("<system-error "), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_pull_before_the_first_run_gets_an_answer_and_the_kit_keeps_asking() {
    let mut house = WorkerHouse::still("");
    let plain = Plain::of(&house).await;
    let answer = next(&mut plain.pull().await).await;
    assert_eq!(answer.status.map(|status| status.as_u16()), Some(503), "{answer:?}");
    let worker = house.process("echo");
    worker.says("no deliveries are handed out: 503");
    house.starts();
    let asked = house.systole(&["ask", "Who?"]);
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "You said: Who?"), "{asked:?}");
}
