//! Long answers: their cost grows only with their length, and only open parts are kept in memory.

use std::hint::black_box;
use std::time::Duration;

use systole_kit::DocumentLimits;
use systole_kit::extract::{Extractor, StreamEnd};

use super::names;

/// Processor seconds of this thread, independent of the load of the machine.
fn worked() -> f64 {
    let worked = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(worked).expect("a time is not negative").as_secs_f64()
}

/// Whether something sixteen times as long costs less than `limit` times as much. What the machine does beside can
/// only add to a cost, so the smallest of some counts; work that is done again is in each of them.
fn assert_cost_follows_length(limit: f64, what: &str, short: impl Fn() -> f64, long: impl Fn() -> f64) {
    let mut least = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        least = (least.0.min(short()), least.1.min(long()));
        if least.1 < limit * least.0.max(0.000_5) {
            return;
        }
    }
    panic!("{what}: {} s, sixteen times as long {} s", least.0, least.1);
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
        assert_cost_follows_length(
            24.0,
            &format!("{part:?}"),
            || seconds(&part, 32 << 10),
            || seconds(&part, 512 << 10),
        );
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
            let what = format!("{begins}, {part:?}");
            assert_cost_follows_length(48.0, &what, || cost(16 << 10), || cost(256 << 10));
        }
    }
}
