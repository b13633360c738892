//! Long answers: their cost grows only with their length, and only open parts are kept in memory.

use std::hint::black_box;

use systole_kit::DocumentLimits;
use systole_kit::extract::{Extractor, StreamEnd};

use super::names;

/// Processor seconds of this thread, independent of the load of the machine.
fn worked() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
    let nanoseconds: f64 = stat.split(' ').next().and_then(|it| it.parse().ok()).expect("a number");
    nanoseconds / 1e9
}

/// Extracts `length` bytes of a text that repeats `part`, in chunks of four. Returns the seconds it took.
fn seconds(part: &str, length: usize) -> f64 {
    worked_on(&part.repeat(length / part.len()))
}

fn worked_on(text: &str) -> f64 {
    let began = worked();
    let mut extractor = Extractor::new(names(), DocumentLimits::default());
    let mut events = Vec::new();
    for chunk in text.as_bytes().chunks(4) {
        extractor.push(chunk, &mut events);
        events.clear();
    }
    extractor.finish(StreamEnd::End, &mut |_| false, &mut events);
    black_box(events);
    worked() - began
}

/// Texts that would cost too much if any part were read again.
const BLOWS: [&str; 30] = [
    "a",
    "\n",
    " ",
    "<",
    "`",
    "~",
    "&",
    "\"",
    "- ",
    "> ",
    "` `` ``` ```` ````` ",
    "``` a",
    "\n```x",
    "<a",
    "<a>",
    "</a>",
    "<a b='",
    "<p>\n",
    "</search>",
    "<search>",
    "<search a='",
    "<search ",
    "<ask>`</ask>",
    "<ask>\n```\n</ask>",
    "<thinking>",
    "<thinking>\n",
    "<!--",
    "<![CDATA[",
    "<lookup/>",
    "<p>\n`</p>",
];

#[test]
fn e1_what_an_answer_costs_grows_with_its_length_and_nothing_else() {
    for part in BLOWS {
        let part = if part.len() == 1 { part.repeat(8) } else { part.to_owned() };
        let (short, long) = (seconds(&part, 32 << 10), seconds(&part, 512 << 10));
        // The kernel counts in slices of a few milliseconds.
        assert!(long < 24.0 * short.max(0.008), "{part:?}: {short} s, sixteen times as long {long} s");
    }
}

/// Sixteen times the length costs sixteen times as much, plus some for the memory of each action. Anything read again
/// for each action would cost 256 times as much.
#[test]
fn e21_the_cost_of_unescaped_text_grows_only_with_its_length() {
    for part in [
        "<shell>a&b</shell>",
        "<shell>a&b&amp;</shell>",
        "<thought>a&b</thought>",
        "<shell>&<![CDATA[x]]></shell>",
        "<search><query>&</query></search>",
        "<search><query>a&b</query></search></query>",
        "<search><query>a</search>",
        "<search><query>a&b <!-- </query><!-- ",
        "<shell>a & <!-- ",
        "&",
        "<x>",
        "<!--",
    ] {
        for (begins, ends) in [
            ("", ""),
            ("<researcher>", "</researcher>"),
            ("<shell>", "</shell>"),
            ("<attempt_completion><result>", "</result></attempt_completion>"),
        ] {
            let cost = |length: usize| {
                let inside = part.repeat(length / part.len());
                worked_on(&format!("{begins}{inside}{ends} {inside}"))
            };
            let (short, long) = (cost(16 << 10), cost(256 << 10));
            assert!(long < 48.0 * short.max(0.004), "{begins}, {part:?}: {short} s, then {long} s");
        }
    }
}
