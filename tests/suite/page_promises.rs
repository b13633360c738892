//! What single pages promise, over plain HTTP: one order for many threads, labels, proof and context of a record, widths
//! of a thread's time, the words beside a decision, and a thread as a file.

use std::path::Path;

use serde_json::Value;

use crate::program::{Answer, Running, ask, ask_as, page, run_file};
use crate::promises::cast::{BOSS, ECHO, Part, cast, say};

const PARTS: [Part<'_>; 3] = [
    ("boss", "turns: 60, entry: true, peers: [echo]", BOSS),
    ("echo", "entry: true", ECHO),
    ("vault", "entry: true, approval: {when: always}", ECHO),
];
const ALICE: &str = "alice-token-0123456789";
/// Asks a model, calls with an element that the schema refuses, repairs it, and answers.
const REPAIRED: &str = "[lambda turn: (thinks(turn, 'hm'), [say('echo', 'x').replace('text>', 'txt>')])[1], \
                        [say('echo', 'right')], [said('over')]]";

fn house() -> tempfile::TempDir {
    let folder = cast(&PARTS);
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, yaml + "clients: {alice: {token_env: ALICE_TOKEN, may: [echo]}}\n").unwrap();
    folder
}

fn running(at: &Path) -> Running {
    Running::organism_with(at, &[("ALICE_TOKEN", ALICE)])
}

/// Sends a text to a listener. Returns the thread.
fn sent(at: &Path, to: &str, text: &str, wait: bool) -> String {
    let headers: &[(&str, &str)] = if wait { &[("Systole-Wait", "240")] } else { &[] };
    let taken = ask(&run_file(at), "POST", &format!("/v1/messages?to={to}"), headers, &say(to, text));
    assert!(matches!(taken.status, 200 | 202), "{taken:?}");
    taken.json["thread"].as_str().unwrap().to_owned()
}

fn html(at: &Path, path: &str) -> String {
    let shown = page(&run_file(at), "GET", path, "text/html", &[]);
    assert_eq!(shown.status, 200, "{path}: {shown:?}");
    shown.body
}

fn json(at: &Path, path: &str) -> Value {
    let shown = ask(&run_file(at), "GET", path, &[], "");
    assert_eq!(shown.status, 200, "{path}: {shown:?}");
    shown.json
}

fn given(at: &Path, fields: &[(&str, &str)]) -> Answer {
    page(&run_file(at), "POST", "/threads/order", "application/json", fields)
}

fn state(at: &Path, thread: &str) -> Value {
    json(at, &format!("/t/{thread}"))["state"].clone()
}

/// Sends an order with the cookie of a session, and without its secret.
fn with_the_cookie_alone(at: &Path, body: &str) -> Answer {
    let host = run_file(at).address.to_string();
    let origin = format!("http://{host}");
    let signing = format!("code={}", run_file(at).token.secret());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let own = [("Host", host.as_str()), ("Origin", &origin), ("Accept", "text/html"), form];
    let signed = ask_as(&run_file(at), "POST", "/session", &own, &signing);
    let cookie = signed.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let with_cookie = [own.as_slice(), &[("Cookie", &cookie)]].concat();
    ask_as(&run_file(at), "POST", "/threads/order", &with_cookie, body)
}

/// Orders that cannot be read, about that thread.
fn refuses_unfit_orders(at: &Path, one: &str) {
    let first = format!("working {one}");
    let many: Vec<(&str, &str)> = std::iter::once(("order", "pause"))
        .chain(std::iter::repeat_n(("thread", first.as_str()), 101))
        .collect();
    for (fields, words) in [
        (&[("order", "pause")][..], "thread is missing"),
        (&[("thread", first.as_str())], "order is missing: it is one of pause, resume, retry, cancel, end"),
        (&[("order", "sing"), ("thread", &first)], "order is missing"),
        (&[("order", "pause"), ("thread", one)], "it is a state and an id"),
        (&[("order", "pause"), ("thread", "working ../x")], "thread: "),
        (&many, "an order goes to 100 threads at most, and these are 101"),
    ] {
        let refused = given(at, fields);
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.json["message"].as_str().unwrap().contains(words), "{refused:?}");
    }
    for path in ["/threads/order", "/threads/order?order=sing", "/threads/order?order=end&at=1"] {
        assert_eq!(ask(&run_file(at), "GET", path, &[], "").status, 400, "{path}");
    }
}

#[test]
fn h4_one_order_goes_to_the_threads_of_its_preview_and_says_which_changed() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let (one, two) = (sent(at, "vault", "one", false), sent(at, "vault", "two", false));
    let rests = sent(at, "echo", "three", true);

    // The preview names exactly the threads that the list shows, and those that the order does not fit.
    let preview = json(at, "/threads/order?order=pause&state=waiting");
    let named: Vec<&str> =
        preview["threads"].as_array().unwrap().iter().map(|one| one["thread"].as_str().unwrap()).collect();
    assert_eq!(named, [two.as_str(), one.as_str()]);
    let shown = html(at, "/threads/order?order=cancel");
    for thread in [&one, &two] {
        assert!(shown.contains(&format!("name=\"thread\" value=\"working {thread}\"")), "{shown}");
        assert!(shown.contains(&format!("systole cancel {thread}")), "{shown}");
    }
    assert!(!shown.contains(&format!("value=\"resting {rests}\"")), "{shown}");
    assert!(shown.contains("only a thread with open work can be cancelled"), "{shown}");
    assert!(html(at, "/threads?state=waiting").contains("All 2 that are shown:"));

    // Nothing is done with the cookie alone, and what was previewed is kept for the token.
    let body = format!("order=cancel&thread=working+{one}&thread=working+{two}");
    let bare = with_the_cookie_alone(at, &body);
    assert_eq!(bare.status, 403, "{bare:?}");
    assert!(bare.body.contains(&format!("working {one}")) && bare.body.contains(&format!("working {two}")));
    assert_eq!(state(at, &one), "waiting");

    // One thread changes after the preview.
    assert_eq!(ask(&run_file(at), "POST", &format!("/v1/threads/{two}/pause"), &[], "").status, 200);
    let (first, second) = (format!("working {one}"), format!("working {two}"));
    let third = format!("resting {rests}");
    let fields = [("order", "cancel"), ("thread", &first), ("thread", &second), ("thread", &third)];
    let done = given(at, &fields);
    assert_eq!(done.status, 200, "{done:?}");
    let results = done.json["results"].as_array().unwrap();
    assert_eq!(done.json["by"], "operator");
    assert_eq!((&results[0]["done"], &results[0]["words"]), (&true.into(), &"cancelled".into()));
    assert_eq!(
        results[1]["words"],
        "it changed after the preview: it was working and is paused; left as it is"
    );
    assert_eq!(results[2]["words"], "only a thread with open work can be cancelled");
    assert_eq!((state(at, &one), state(at, &two)), ("cancelled".into(), "paused".into()));
    assert!(html(at, &format!("/t/{one}")).contains("cancelled by operator"));

    // The outcome as a page, with a note.
    let paused = format!("paused {two}");
    let shown = page(
        &run_file(at),
        "POST",
        "/threads/order",
        "text/html",
        &[("order", "resume"), ("thread", &paused)],
    );
    assert!(shown.body.contains("1 of 1 threads resumed"), "{shown:?}");
    assert_eq!(state(at, &two), "waiting");
    let noted = [("order", "pause"), ("note", "lunch"), ("thread", second.as_str())];
    assert_eq!(given(at, &noted).json["results"][0]["done"], true);
    assert!(html(at, &format!("/t/{two}")).contains("lunch"));

    // Who may not, and what cannot be read.
    let bearer = format!("Bearer {ALICE}");
    let as_alice =
        [("Authorization", bearer.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
    let hers = ask_as(
        &run_file(at),
        "POST",
        "/threads/order",
        &as_alice,
        &format!("order=resume&thread=paused+{two}"),
    );
    assert_eq!(hers.json["results"][0]["words"], "there is no such thread", "{hers:?}");
    assert_eq!(state(at, &two), "paused");
    refuses_unfit_orders(at, &one);
    drop(organism);
}

#[test]
fn h4_a_record_has_its_labels_its_place_in_the_bytes_its_context_and_its_proof() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let thread = sent(at, "boss", REPAIRED, true);
    let path = format!("/t/{thread}");
    let records = json(at, &path)["records"].as_array().unwrap().clone();
    let seq_of = |kind: &str, has: &str| {
        let fits = |one: &&Value| one["kind"] == kind && one["body"].as_str().unwrap().contains(has);
        records.iter().find(fits).unwrap_or_else(|| panic!("{kind} {has}: {records:?}"))["seq"]
            .as_u64()
            .unwrap()
    };

    let request = json(at, &format!("{path}/1"));
    assert_eq!(request["labels"][0]["label"], "text", "{request}");
    assert_eq!(request["labels"][0]["value"], REPAIRED);

    // The refused place is marked, and the repaired payload is linked.
    let refusal = seq_of("refusal", "txt");
    let shown = html(at, &format!("{path}/{refusal}"));
    let right = seq_of("message", ">right<");
    let judged = shown.split("id=\"judged\"").nth(1).unwrap().split("</section>").next().unwrap();
    let marked = "<mark class=\"marked\">&#60;txt&#62;x&#60;/txt&#62;</mark>&#60;/say&#62;";
    assert!(judged.contains(marked), "{judged}");
    assert!(judged.contains(&format!("Said instead: <a href=\"{path}/{right}\">")), "{judged}");
    assert_eq!(json(at, "/threads")["threads"][0]["refusals"], 1);
    assert!(html(at, "/threads").contains(&format!("/find?kind=refusal&#38;thread={thread}")));

    // The context of the turn that asked a model, and what proves a record.
    let started = seq_of("journal", "model-started");
    let shown = html(at, &format!("{path}/{started}"));
    assert!(shown.contains(&format!("href=\"{path}/context?seq={started}\"")), "{shown}");
    assert!(!html(at, &format!("{path}/1")).contains("id=\"context\""));
    let position = records[0]["position"].as_u64().unwrap();
    let shown = html(at, &format!("{path}/1"));
    assert!(shown.contains(&format!("systole prove {position}</code>")), "{shown}");
    for words in ["head of the thread", "leaf of the log", "No valid checkpoint is stored beside the log."] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.contains(&format!("data-copy-from=\"{path}/1/bytes\"")), "{shown}");

    // The thread leads to its further pages, and its time is also shown by tokens.
    let shown = html(at, &path);
    for more in ["time", "todo", "context", "export"] {
        assert!(shown.contains(&format!("href=\"{path}/{more}\"")), "{more}: {shown}");
    }
    // What took milliseconds says so.
    let times = html(at, &format!("{path}/time"));
    assert!(times.contains(" ms</td>") && times.contains(" ms, call 1"), "{times}");
    for none in [">0.0 s<", " 0.0 s,"] {
        assert!(!times.contains(none), "{none}: {times}");
    }
    let tokens = html(at, &format!("{path}/time?by=tokens"));
    assert!(tokens.contains("where the tokens of") && tokens.contains(", 12 tokens"), "{tokens}");
    assert!(!html(at, &format!("{path}/time")).contains(", 12 tokens"));
    assert_eq!(ask(&run_file(at), "GET", &format!("{path}/time?by=weight"), &[], "").status, 400);

    // First tries by day, model and element.
    let tables = json(at, "/refused");
    assert_eq!((&tables["days"][0]["model"], &tables["days"][0]["element"]), (&"m".into(), &"say".into()));
    assert_eq!(tables["days"][0]["first"]["rate"], "0%", "{tables}");
    assert!(html(at, "/refused").contains("Over time, by day"));
    drop(organism);
}

#[test]
fn h4_the_first_start_of_an_organism_has_none_before_it() {
    let folder = house();
    let at = folder.path();
    for text in ["one", "two"] {
        let organism = running(at);
        sent(at, "echo", text, true);
        organism.interrupt();
    }
    let organism = running(at);
    // An answer comes after the record of the start.
    sent(at, "echo", "three", true);
    let shown = html(at, "/config");
    let starts = shown.split("id=\"starts\"").nth(1).unwrap();
    assert!(starts.rfind("same as before") < starts.find(">first<"), "{starts}");
    assert_eq!(starts.matches("same as before").count(), 2, "{starts}");
    let past = html(at, "/config?at=1");
    assert!(past.contains(">first<") && !past.contains("same as before"), "{past}");
    drop(organism);
}

#[test]
fn h4_a_request_on_the_first_page_says_once_when_it_expires() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let thread = sent(at, "vault", "hold this", false);
    let shown = html(at, "/");
    let request = shown.split("<li class=\"held\"").nth(1).unwrap().split("</li>").next().unwrap();
    assert_eq!(request.matches("expires in ").count(), 1, "{request}");
    assert_eq!(request.matches(&format!(">{thread}<")).count(), 1, "{request}");
    assert!(request.contains("operator wants &#60;say&#62; delivered to vault"), "{request}");
    drop(organism);
}

#[test]
fn h4_a_count_of_refusals_says_whether_there_may_be_more() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let refused = "[say('echo', 'x').replace('text>', 'txt>')]";
    let long = "[[note('n')] * 5] * 40";
    let short = sent(at, "boss", &format!("[{refused}, [said('over')]]"), true);
    let many = sent(at, "boss", &format!("[{refused}] + {long} + [{refused}, [said('over')]]"), true);
    let none = sent(at, "boss", &format!("{long} + [[said('over')]]"), true);
    let list = html(at, "/threads");
    let cell = |thread: &str| {
        let row = list.split("<tr").find(|row| row.contains(&format!(">{thread}<"))).unwrap();
        let (_, after) = row.split_once("data-label=\"refusals\">").unwrap();
        let text = after.split_once("</td>").unwrap().0;
        text.split('>').nth(1).map(|rest| rest.split('<').next().unwrap().to_owned()).unwrap_or_default()
    };
    for (thread, shown, count, more) in
        [(&short, "1", 1, false), (&many, "1+", 1, true), (&none, "0+", 0, true)]
    {
        assert_eq!(cell(thread), shown, "{list}");
        for path in ["/threads", "/v1/threads"] {
            let threads = json(at, path)["threads"].clone();
            let row =
                threads.as_array().unwrap().iter().find(|row| row["thread"] == thread.as_str()).unwrap();
            assert_eq!(
                (&row["refusals"], &row["more_refusals"]),
                (&count.into(), &more.into()),
                "{path}: {row}"
            );
        }
    }
    let all = json(at, &format!("/find?kind=refusal&thread={many}"));
    assert_eq!(all["hits"].as_array().map(Vec::len), Some(2), "the link shows all of them: {all}");
    drop(organism);
}

#[test]
fn h4_a_thread_is_a_page_in_a_file() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let (one, other) = (sent(at, "echo", "one <b>", true), sent(at, "echo", "two", true));
    let export = ask(&run_file(at), "GET", &format!("/t/{one}/export"), &[], "");
    assert_eq!(export.status, 200, "{export:?}");
    let disposition = export.header("content-disposition").unwrap();
    assert_eq!(disposition, format!("attachment; filename=\"{one}.html\""));
    assert!(
        export.body.starts_with("<!DOCTYPE html>") && export.body.contains("echo heard one"),
        "{export:?}"
    );
    assert!(
        !export.body.contains("<script") && !export.body.contains("<b>") && !export.body.contains(&other)
    );
    let past = ask(&run_file(at), "GET", &format!("/t/{one}/export?at={}", 3), &[], "");
    assert!(!past.body.contains("echo heard one"), "{past:?}");
    let bearer = format!("Bearer {ALICE}");
    let hers = ask_as(&run_file(at), "GET", &format!("/t/{one}/export"), &[("Authorization", &bearer)], "");
    assert_eq!(hers.status, 404, "{hers:?}");
    drop(organism);
}

#[test]
fn h4_every_choice_says_what_it_does_and_pages_name_the_command_that_shows_the_same() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let thread = sent(at, "vault", "hold this", false);
    let shown = html(at, "/approvals");
    for words in [
        "vault gets exactly these ",
        "vault gets nothing. operator gets <code>approval.rejected</code> with your note.",
        "vault gets your payload in place of this one, under the name of operator, if the schema accepts it.",
        "When the time is over, operator gets approval.expired.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let own = format!("/t/{thread}");
    let pages = [
        "/",
        "/threads",
        "/approvals",
        "/approvals/a1/amend",
        "/send",
        "/send?to=echo&element=say",
        "/cost",
        "/decisions",
        "/find",
        "/map",
        "/proof",
        "/session",
        "/threads/order?order=pause",
        &own,
        &format!("{own}/1"),
        &format!("{own}/todo"),
        &format!("{own}/cancel"),
        &format!("/diff/{thread}/{thread}"),
    ];
    for path in pages {
        let shown = html(at, path);
        let command = shown.split("class=\"same\"").nth(1).and_then(|rest| rest.split("</p>").next());
        assert!(command.is_some_and(|shown| shown.contains("data-copy>systole ")), "{path}: {command:?}");
    }
    drop(organism);
}
