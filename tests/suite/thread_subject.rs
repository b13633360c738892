//! The subject that a sender gives a thread: where it shows, what replaces it, and what is refused.

use serde_json::Value;

use crate::console::{house, running, sent};
use crate::organism::say;
use crate::program::{ask, run_file, systole};

/// The subjects that `ps` lists, by thread.
fn subject_of(folder: &std::path::Path, thread: &str) -> Value {
    let ran = systole(folder, &["ps", "-n", "0", "--json"]);
    let threads = ran.json_lines()[0]["threads"].as_array().unwrap().clone();
    let found = threads.into_iter().find(|one| one["thread"] == thread);
    found.unwrap_or_else(|| panic!("{thread} is not listed: {ran:?}"))["subject"].clone()
}

#[test]
fn h14_a_subject_of_the_sender_stands_in_lists_and_the_last_one_counts() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let document = say("hello");
    let post = |key: &str, thread: &str, subject: &str| {
        let headers = [("Idempotency-Key", key), ("Systole-Wait", "240"), ("Systole-Subject", subject)];
        ask(&run_file(at), "POST", &format!("/v1/messages?to=echo{thread}"), &headers, &document)
    };
    let first = post("k-1", "", "Überweisung <7>");
    assert_eq!(first.status, 200, "{first:?}");
    let thread = first.json["thread"].as_str().unwrap().to_owned();
    assert_eq!(subject_of(at, &thread), "Überweisung <7>");
    // The same message again is no new one, whatever it says beside.
    assert_eq!(post("k-1", "", "another").json["repeated"], true);
    assert_eq!(subject_of(at, &thread), "Überweisung <7>");
    let address = run_file(at).address.to_string();
    let html = [("Host", address.as_str()), ("Accept", "text/html")];
    let page = ask(&run_file(at), "GET", &format!("/t/{thread}"), &html, "");
    assert!(page.body.contains("Überweisung &#60;7&#62;"), "{}", page.body);
    let found = ask(&run_file(at), "GET", "/v1/threads?q=berweisung", &[], "");
    assert_eq!(found.json["threads"][0]["thread"], thread.as_str(), "{found:?}");
    // A message that goes on with the thread may name it anew; one that says nothing leaves it.
    assert_eq!(post("k-2", &format!("&thread={thread}"), "Invoice 8").status, 200);
    let to_thread = format!("/v1/messages?to=echo&thread={thread}");
    assert_eq!(ask(&run_file(at), "POST", &to_thread, &[("Systole-Wait", "240")], &document).status, 200);
    assert_eq!(subject_of(at, &thread), "Invoice 8");
    // By command, also through the organism that runs.
    let typed = ["send", "--to", "echo", "--key", "k-3", "--subject", "Third", "say", "text=hello", "--json"];
    let ran = systole(at, &typed);
    let receipt = ran.json_lines().pop().unwrap()["receipt"].clone();
    assert_eq!(subject_of(at, receipt["thread"].as_str().unwrap()), "Third", "{ran:?}");
    assert_eq!(subject_of(at, &sent(at, "echo", true)), "text=\"hello <b>& \\u{202e}you</b>\"");
    organism.interrupt();
    // Without an organism that runs, and the log proves all of it.
    let typed = ["send", "--to", "echo", "--subject", "Fourth", "say", "text=hello", "--json"];
    let receipt = systole(at, &typed).json_lines().pop().unwrap()["receipt"].clone();
    assert_eq!(subject_of(at, receipt["thread"].as_str().unwrap()), "Fourth");
    // What hides its direction is shown, and a subject can be erased like what it is about.
    let typed = ["send", "--to", "echo", "--subject", "paid \u{202e}00.1", "say", "text=hello", "--json"];
    let hidden = systole(at, &typed).json_lines().pop().unwrap()["receipt"].clone();
    let hidden_thread = hidden["thread"].as_str().unwrap().to_owned();
    assert_eq!(subject_of(at, &hidden_thread), "paid \\u{202e}00.1");
    let position = (hidden["position"].as_u64().unwrap() + 1).to_string();
    let erased = systole(at, &["erase", "--whole", &position, "--reason", "asked for"]);
    assert_eq!(erased.code, Some(0), "{erased:?}");
    assert_eq!(subject_of(at, &hidden_thread), "text=hello");
    let verified = systole(at, &["verify", "hello.db"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    for thread in [thread.as_str(), receipt["thread"].as_str().unwrap()] {
        let replayed = systole(at, &["replay", thread]);
        assert_eq!(replayed.code, Some(0), "{replayed:?}");
    }
}

#[test]
fn h14_a_subject_that_does_not_fit_is_refused_and_nothing_is_sent() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let longest = "ä".repeat(200);
    for (subject, words) in [
        (format!("{longest}ä"), "a subject has 200 characters at most, and this one has 201"),
        (" ".to_owned(), "a subject has 1 to 200 characters; leave an empty one out"),
        ("a\tb".to_owned(), "a subject is one line without control characters"),
    ] {
        let headers = [("Systole-Subject", subject.as_str())];
        let answer = ask(&run_file(at), "POST", "/v1/messages?to=echo", &headers, &say("hello"));
        assert_eq!((answer.status, &answer.json["code"]), (400, &"payload.invalid".into()), "{answer:?}");
        let message = answer.json["message"].as_str().unwrap();
        assert!(message.contains("Systole-Subject: ") && message.contains(words), "{answer:?}");
        let ran = systole(at, &["send", "--to", "echo", "--subject", &subject, "say", "text=hello"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
        let ran = systole(at, &["ask", "--to", "echo", "--subject", &subject, "hello"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(systole(at, &["ps", "--json"]).json_lines()[0]["threads"], Value::Array(Vec::new()));
    let headers = [("Systole-Subject", longest.as_str()), ("Systole-Wait", "240")];
    let answer = ask(&run_file(at), "POST", "/v1/messages?to=echo", &headers, &say("hello"));
    assert_eq!(subject_of(at, answer.json["thread"].as_str().unwrap()), longest.as_str());
    organism.interrupt();
}
