//! What calls say, on the pages of their threads: who hears of whose words, over plain HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::console::{ALICE, Browser, CAROL, house, running, until_waiting};
use crate::organism::say;
use crate::program::{Events, PATIENCE, ask_as, connect, head, run_file};

/// Says what each message is about, and answers all once there is a file `go`.
const WAITER: &str = r#"import os, sys, threading, time, xml.etree.ElementTree as ET
E, S, L = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}"
def write(element): print(ET.tostring(element, encoding="unicode"), flush=True)
def work(line):
    message = ET.fromstring(line)
    delivery, payload = message.find(f"{E}meta/{S}stamp").get("delivery"), message[1]
    namespace = payload.tag.split("}")[0] + "}"
    progress = ET.Element(L + "progress", delivery=delivery)
    progress.text = "words about " + payload.findtext(namespace + "text")
    write(progress)
    while not os.path.exists("go"): time.sleep(0.02)
    reply = ET.Element(L + "reply", delivery=delivery)
    ET.SubElement(ET.SubElement(reply, namespace + "said"), namespace + "text").text = "done"
    write(reply)
for line in sys.stdin: threading.Thread(target=work, args=[line], daemon=True).start()
"#;

/// The events of `/live`, for a token: each with its name and its data.
struct LiveEvents(std::io::Lines<BufReader<std::net::TcpStream>>);

impl LiveEvents {
    fn open(folder: &Path, token: &str) -> LiveEvents {
        let mut stream = connect(&run_file(folder));
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let bearer = bearer_of(token);
        stream.write_all(head("GET", "/live", &[("Authorization", &bearer)], "0").as_bytes()).unwrap();
        LiveEvents(BufReader::new(stream).lines())
    }

    /// The data of the next event of that name, and of all events before it.
    fn until(&mut self, name: &str, is: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let (mut events, mut event) = (Vec::new(), String::new());
        for line in self.0.by_ref().map(Result::unwrap) {
            if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut event);
            } else if let Some(data) = line.strip_prefix("data: ") {
                events.push((event.clone(), data.to_owned()));
                if event == name && is(data) {
                    return events;
                }
            }
        }
        panic!("the stream ended after {events:?}")
    }
}

fn sent_by(folder: &Path, token: &str, listener: &str, words: &str) -> (String, u64) {
    let bearer = bearer_of(token);
    let headers = [("Authorization", bearer.as_str())];
    let document = say(words).replace("ns/echo/v1", &format!("ns/{listener}/v1"));
    let path = format!("/v1/messages?to={listener}");
    let taken = ask_as(&run_file(folder), "POST", &path, &headers, &document);
    assert_eq!(taken.status, 202, "{taken:?}");
    (taken.json["thread"].as_str().unwrap().to_owned(), taken.json["position"].as_u64().unwrap())
}

fn calls_of(folder: &Path, token: &str, thread: &str) -> (u16, Value) {
    let bearer = bearer_of(token);
    let headers = [("Authorization", bearer.as_str()), ("Accept", "application/json")];
    let asked = ask_as(&run_file(folder), "GET", &format!("/t/{thread}/words"), &headers, "");
    (asked.status, asked.json["calls"].clone())
}

#[test]
fn h4_who_may_see_a_thread_hears_of_its_words_and_no_one_else() {
    let folder = house();
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("run: [python3, echo.py]\n", "run: [python3, waiter.py]\n    in_flight: 9\n");
    let text = text.replace("guarded: {run: [python3, echo.py]", "guarded: {run: [python3, waiter.py]");
    assert_eq!(text.matches("waiter.py").count(), 2, "{text}");
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.path().join("waiter.py"), WAITER).unwrap();
    let organism = running(folder.path());
    let at = folder.path();
    let operator = run_file(at).token.secret().to_owned();
    let open = |token: &str| LiveEvents::open(at, token);
    let (mut all, mut hers, mut of_carol) = (open(&operator), open(ALICE), open(CAROL));
    let (other, _) = sent_by(at, &operator, "echo", "a secret");
    all.until("spoken", |data| data == other);
    assert_eq!(calls_of(at, &operator, &other).1[0]["words"], "words about a secret");

    // Her stream names her thread, and no other one that spoke before it.
    let (own, position) = sent_by(at, ALICE, "echo", "mine");
    let heard = hers.until("spoken", |data| data == own);
    assert!(!heard.iter().any(|(_, data)| data.contains(&other)), "{heard:?}");
    let (status, calls) = calls_of(at, ALICE, &own);
    assert_eq!(
        (status, &calls[0]["words"], &calls[0]["attempt"]),
        (200, &"words about mine".into(), &1.into())
    );
    for (token, thread) in [(ALICE, &other), (CAROL, &other), (CAROL, &own)] {
        assert_eq!(calls_of(at, token, thread).0, 404, "{thread}");
    }

    // An approver hears of a thread once a person was asked in it.
    let (asked, _) = sent_by(at, ALICE, "guarded", "for a person");
    let id = until_waiting(at, 1)[0]["id"].as_str().unwrap().to_owned();
    let bearer = bearer_of(CAROL);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let ruled = ask_as(
        &run_file(at),
        "POST",
        &format!("/v1/approvals/{id}"),
        &headers,
        "{\"outcome\": \"approved\"}",
    );
    assert_eq!(ruled.status, 200, "{ruled:?}");
    let heard = of_carol.until("spoken", |data| data == asked);
    assert!(!heard.iter().any(|(_, data)| data.contains(&own) || data.contains(&other)), "{heard:?}");
    assert!(heard.iter().any(|(name, data)| name == "tail" && data.parse::<u64>().unwrap() >= position));
    assert_eq!(calls_of(at, CAROL, &asked).1[0]["words"], "words about for a person");

    // On record, the reply takes the place of the words.
    std::fs::write(at.join("go"), "").unwrap();
    let mut events = Events::open_as(&run_file(at), ALICE, &format!("?from=0&thread={own}"));
    while events.next().expect("its reply").2["code"] != "final" {}
    assert_eq!(calls_of(at, ALICE, &own), (200, Value::Array(Vec::new())));
    let mut alice = Browser::new(at);
    alice.sign_in(ALICE);
    let page = alice.get(&format!("/t/{own}")).body;
    assert!(page.contains("id=\"speaking\"") && !page.contains("class=\"live-words\""), "{page}");
    organism.interrupt();
}

fn bearer_of(token: &str) -> String {
    format!("Bearer {token}")
}
