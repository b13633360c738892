//! A worker that takes every task of `schemas/conform.xsd`, over stdin or, if `SYSTOLE_NATS` is set, over NATS. The kit
//! that judges workers judges `systole_kit` by it.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    reason = "it does what the program of an author may do"
)]

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use systole_kit::ask::{BytePage, PumpQuestion, StoredBlob, ViewedPage};
use systole_kit::characters::is_legal;
use systole_kit::journal::{
    EarlierEntries, JournalEntry, ModelCallOutcome, ModelStarted, OutcomeDetails, PriorCall,
};
use systole_kit::nats::Worker;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::stdio::{Failure, Turn, answer_each};
use systole_kit::writer::{StartTag, XmlWriter};
use systole_kit::{DocumentLimits, Payload};

const TASK: &str = "https://xml-pipeline.org/ns/conform/v1";
/// An element of the schema with its attributes and text.
fn write_element(
    name: &'static str,
    attributes: impl for<'w, 'n> FnOnce(StartTag<'w, 'n>) -> StartTag<'w, 'n>,
    text: &str,
) -> Result<Payload, Failure> {
    // The writer would put another character in its place.
    if let Some(forbidden) = text.chars().find(|one| !is_legal(*one)) {
        return Err(Failure::new("task.forbidden", format!("{forbidden:?} cannot be in XML")));
    }
    let mut writer = XmlWriter::new();
    attributes(writer.open(name).xmlns(TASK)).text(text);
    Ok(Payload::parse(&writer.finish(), &DocumentLimits::default())?)
}

fn write_done(turn: &Turn<'_>, text: &str, n: Option<u64>) -> Result<Item, Failure> {
    let delivery = turn.delivery();
    let stamp = &delivery.stamp;
    let number = n.map(|n| n.to_string());
    let done = write_element(
        "done",
        |tag| {
            tag.attr("key", &stamp.key)
                .number("attempt", stamp.attempt.into())
                .number("turn", stamp.turn.into())
                .attr_if("n", number.as_deref())
                .attr("sender", &delivery.from)
        },
        text,
    )?;
    Ok(Item::plain(done))
}

/// Asks, and reads the answer.
fn ask<T>(
    turn: &mut Turn<'_>,
    question: PumpQuestion,
    read: impl Fn(&Payload) -> Result<T, systole_kit::Fault>,
) -> Result<T, Failure> {
    let answer = turn.ask(question)?;
    let answer = answer.ok_or_else(|| Failure::new("task.empty", "the answer is empty"))?;
    Ok(read(&answer)?)
}

/// The texts of all messages of the view.
fn read_view(turn: &mut Turn<'_>) -> Result<Vec<String>, Failure> {
    let (mut texts, mut next) = (Vec::new(), Some(0));
    while let Some(from_seq) = next {
        let question = PumpQuestion::View { from_seq, words: false, items: true };
        let page = ask(turn, question, ViewedPage::from_payload)?;
        texts.extend(page.messages().map(|message| message.payload.text()));
        next = page.next;
    }
    Ok(texts)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// Stores bytes and reads them back.
fn store_and_read(turn: &mut Turn<'_>, text: &str, is_hex: bool) -> Result<Item, Failure> {
    let bytes = if is_hex { from_hex(text) } else { text.as_bytes().to_vec() };
    let StoredBlob { hash, .. } = ask(turn, PumpQuestion::PutBlob { bytes }, StoredBlob::from_payload)?;
    let (mut read, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let page = ask(turn, PumpQuestion::Blob { hash: hash.clone(), from }, BytePage::from_payload)?;
        read.extend(page.bytes);
        next = page.next;
    }
    let shown = if is_hex { to_hex(&read) } else { String::from_utf8_lossy(&read).into_owned() };
    write_done(turn, &format!("{hash} {shown}"), u64::try_from(read.len()).ok())
}

/// Journals a start and a result, or returns the result that an earlier attempt journalled.
fn work_once(turn: &mut Turn<'_>, text: &str) -> Result<String, Failure> {
    let prompt = to_hex(&Sha256::digest(text));
    let mut earlier = EarlierEntries::default();
    if turn.delivery().stamp.journal.is_some() {
        earlier = ask(turn, PumpQuestion::Journal { from: 0 }, EarlierEntries::from_payload)?;
    }
    if let PriorCall::Known(outcome) = earlier.prior_call(&prompt) {
        return Ok(outcome.text);
    }
    let started = ModelStarted {
        model: "work".to_owned(),
        prompt,
        guided: None,
        reserve_tokens: None,
        reserve_money: None,
        wait_ms: None,
    };
    let of = turn.journal(JournalEntry::Started(started))?;
    let outcome = ModelCallOutcome {
        of,
        stop: "end".to_owned(),
        tokens_in: None,
        tokens_out: None,
        money: None,
        text: text.to_owned(),
        blobs: Vec::new(),
        details: Box::<OutcomeDetails>::default(),
    };
    turn.journal(JournalEntry::Result(outcome))?;
    Ok(text.to_owned())
}

/// A later turn: the request is read again, as another process may have begun the call.
fn join_answers(turn: &mut Turn<'_>) -> Result<Item, Failure> {
    let mut texts: Vec<String> = read_view(turn)?.into_iter().take(1).collect();
    let answers = turn.answers().map(|answers| answers.items).unwrap_or_default();
    let done =
        answers.into_iter().filter_map(|answer| answer.payload).filter(|payload| &*payload.name().ns == TASK);
    texts.extend(done.map(|payload| payload.text()));
    write_done(turn, &texts.join(" "), None)
}

/// Waits until a time is over, or the answer is not wanted.
fn sleep(turn: &Turn<'_>, time: Duration) {
    let begun = Instant::now();
    while turn.is_wanted() && begun.elapsed() < time {
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Blocks, whether or not the answer is wanted.
fn hang(time: Duration) {
    let begun = Instant::now();
    while let Some(left) = time.checked_sub(begun.elapsed()) {
        std::thread::park_timeout(left);
    }
}

/// The items of the reply.
fn find_items(turn: &mut Turn<'_>) -> Result<Vec<Item>, Failure> {
    let request = turn.request().clone();
    if &*request.name().local == "answers" && turn.delivery().stamp.turn > 1 {
        return Ok(vec![join_answers(turn)?]);
    }
    if &*request.name().ns != TASK || &*request.name().local != "task" {
        return Err(Failure::new(
            "task.unknown",
            format!("it takes <task> alone, not <{}>", request.name().local),
        ));
    }
    let (text, code) = (request.text(), request.find_attribute("code").unwrap_or_default());
    let n = request.find_attribute("n").and_then(|n| n.parse::<u64>().ok());
    let count = n.unwrap_or_default();
    match request.find_attribute("do").as_deref().unwrap_or("echo") {
        "echo" => return Ok(vec![write_done(turn, &format!("{code}{text}"), None)?]),
        "sleep" => sleep(turn, Duration::from_millis(count)),
        "hang" => hang(n.map_or(Duration::MAX, Duration::from_millis)),
        "fail" if count == 1 => return Err(Failure::new(&code, text).again_later()),
        "fail" => return Err(Failure::new(&code, text)),
        "throw" => panic!("{text}"),
        "exit" => std::process::exit(i32::try_from(count).unwrap_or(1)),
        "print" => print!("{text}"),
        "stderr" => std::io::stderr().write_all(&vec![b'x'; usize::try_from(count).unwrap_or_default()])?,
        "progress" => turn.progress(&text),
        "notice" => turn.notice(&code, &text),
        "view" => {
            let texts = read_view(turn)?;
            let hash = to_hex(&Sha256::digest(texts.join("\n")));
            return Ok(vec![write_done(turn, &hash, u64::try_from(texts.len()).ok())?]);
        }
        "blob" => return Ok(vec![store_and_read(turn, &text, code == "hex")?]),
        "once" => {
            let result = work_once(turn, &text)?;
            return Ok(vec![write_done(turn, &result, None)?]);
        }
        "call" => {
            let call = |i| {
                let task = write_element("task", |tag| tag.attr("do", "echo"), &format!("{text}-{i}"))?;
                Ok(Item { to: Some("peer".to_owned()), ..Item::plain(task) })
            };
            return (0..count).map(call).collect();
        }
        "many" => {
            let note = |i| write_element("remark", |tag| tag.number("n", i), &text).map(Item::plain);
            return (0..count).map(note).chain([write_done(turn, &text, None)]).collect();
        }
        "large" => {
            let text = "x".repeat(usize::try_from(count).unwrap_or_default());
            return Ok(vec![write_done(turn, &text, None)?]);
        }
        "bad" => return Ok(vec![write_done(turn, "\u{1}", None)?]),
        "silent" => return Ok(Vec::new()),
        other => return Err(Failure::new("task.unknown", format!("{other:?} is no work"))),
    }
    Ok(vec![write_done(turn, &text, None)?])
}

fn work(turn: &mut Turn<'_>) -> Result<ReplyContent, Failure> {
    let request = turn.request();
    if request.find_attribute("do").as_deref() == Some("again") {
        let code = request.find_attribute("code").unwrap_or_default();
        return Ok(ReplyContent::Again { code, words: request.text() });
    }
    find_items(turn).map(ReplyContent::Items)
}

fn main() -> ExitCode {
    if std::env::var_os("SYSTOLE_NATS").is_some() {
        Worker::from_environment().version("1.0.0").accepts(TASK, &["task"]).answer_each(work)
    } else {
        answer_each(work)
    }
}
