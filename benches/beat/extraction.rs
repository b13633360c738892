//! The cost of parsing a model's answer that comes in portions of four bytes, next to the least possible work per
//! byte; and whether the cost grows only with the length.

use std::hint::black_box;
use std::sync::Arc;

use systole_kit::DocumentLimits;
use systole_kit::extract::{ElementRole, ExtractEvent, Extractor, KnownElement, KnownNames, StreamEnd};

use crate::report::{Table, worked};

/// One round of an agent that reasons, explains and acts.
const ROUND: &str = "<thinking>\nThe form is built in `login.rs`; the field is checked where a < b && c holds.\nI look for \
its callers first, and then for the tests that hold it, so that nothing is changed without being seen.\n</thinking>\n\n\
Let me look at **the callers** of `submit(form)`, as in <b>the page</b>:\n\n```rust\nfn submit(form: &Form) -> \
Result<(), Refusal> {\n    if form.name.is_empty() && form.len() < 3 { return Err(refused(\"empty\")); }\n    Ok(())\n}\n\
```\n\n<search>\n<query>submit(form) &lt; 3 &amp;&amp; Form::new</query>\n<limit>20</limit>\n</search>\n\n";

fn names() -> Arc<KnownNames> {
    let peer = |ns: &str, local: &str| KnownElement::new(ElementRole::Peer, ns, local).taken_by("finder");
    KnownNames::new()
        .with_element(peer("urn:search", "search"))
        .with_element(peer("urn:search", "extract"))
        .with_element(peer("urn:commands", "create_file"))
        .with_element(KnownElement::new(ElementRole::Returns, "urn:talk", "answer"))
        .into()
}

/// Bytes to extract for one figure, since the processor clock counts in hundredths of a second.
const BYTES: usize = 48 << 20;

/// Processor seconds of some work on a text, per repetition.
fn each(text: &str, mut work: impl FnMut(&str)) -> f64 {
    let times = (BYTES / text.len()).max(1);
    let (began, _) = worked();
    (0..times).for_each(|_| work(text));
    (worked().0 - began) / times as f64
}

/// Extracts a text in portions of four bytes, and returns the number of actions in it.
fn extract(text: &str, names: &Arc<KnownNames>) -> usize {
    let limits = DocumentLimits { message_bytes: 64 << 20, ..DocumentLimits::default() };
    let mut events = Vec::new();
    let mut actions = 0;
    let mut count = |events: &mut Vec<ExtractEvent>| {
        actions += events.drain(..).filter(|event| matches!(event, ExtractEvent::Action(_))).count();
    };
    let mut extractor = Extractor::new(names.clone(), limits);
    for chunk in text.as_bytes().chunks(4) {
        extractor.push(chunk, &mut events);
        if !events.is_empty() {
            count(&mut events);
        }
    }
    extractor.finish(StreamEnd::End, &mut |_| false, &mut events);
    count(&mut events);
    actions
}

/// Stores a text that comes in portions of four bytes, and looks at each byte.
fn keep(text: &str) {
    let mut kept = Vec::new();
    let mut tags = 0_usize;
    for chunk in text.as_bytes().chunks(4) {
        kept.extend_from_slice(black_box(chunk));
        tags += chunk.iter().filter(|byte| **byte == b'<').count();
    }
    black_box((kept, tags));
}

/// A text of about that length that is a single action.
fn one_action(length: usize) -> String {
    let line = "let b = a &lt; c &amp;&amp; d; // one line of a file as long as many are\n";
    format!("<create_file path=\"a.rs\">\n{}</create_file>", line.repeat(length / line.len()))
}

/// The name of a kind of text, a function that makes one of some length, and the least number of actions in it.
type Shape<'s> = (&'s str, &'s dyn Fn(usize) -> String, usize);

/// The speed at chunks of four bytes, and the cost of long texts.
pub(crate) fn cost(table: &mut Table) {
    let names = names();
    let rounds = |length: usize| ROUND.repeat(length / ROUND.len());
    let prose =
        |length: usize| "Plain words of an answer, with no markup at all in them.\n".repeat(length / 57);
    let shapes: [Shape<'_>; 3] =
        [("rounds of an agent", &rounds, 1), ("one action", &one_action, 1), ("prose alone", &prose, 0)];
    for (what, text, least) in shapes {
        let (short, middle, long) = (text(64 << 10), text(1 << 20), text(10 << 20));
        let (mut speed, mut growth, mut far) = (Vec::new(), Vec::new(), Vec::new());
        assert!(extract(&short, &names) >= least, "{what} holds too few actions");
        for _ in 0..table.runs {
            let took = |text: &str| {
                each(text, |text| {
                    black_box(extract(text, &names));
                })
            };
            let (few, some, many) = (took(&short), took(&middle), took(&long));
            let rate = |took: f64| middle.len() as f64 / took / 1e6;
            speed.push((rate(some), rate(each(&middle, keep))));
            growth.push((some / few, middle.len() as f64 / short.len() as f64));
            far.push((many / some, long.len() as f64 / middle.len() as f64));
        }
        table.add(&format!("extraction in fours, {what}"), "MB/s", "at least 200 MB/s", &speed);
        table.add("  1 MB beside 64 KB, times the time", "times", "at most 17", &growth);
        table.add("  10 MB beside 1 MB, times the time", "times", "linear: 10", &far);
    }
}
