//! Properties of every answer of the corpus, for any split and any cut.

use proptest::prelude::*;
use systole_kit::extract::{ExtractEvent, StreamEnd};

use super::{Answer, answers, extracted, settled, shown, written};

/// Checks that the answer in chunks gives the same as the whole answer.
fn assert_same<'c>(
    answer: &'c Answer,
    expected: &str,
    thinking: &str,
    chunks: impl Iterator<Item = &'c [u8]>,
) {
    let (events, left) = extracted(chunks, answer.stop);
    let found = written(&answer.text, &events, left.as_ref());
    assert_eq!(found, expected, "{}", answer.name);
    assert_eq!(shown(&answer.text, &events), thinking, "{}", answer.name);
}

fn at_once(answer: &Answer) -> (String, String) {
    let (events, left) = extracted([answer.text.as_slice()], answer.stop);
    (written(&answer.text, &events, left.as_ref()), shown(&answer.text, &events))
}

#[test]
fn e1_every_split_in_two_gives_the_events_of_the_whole() {
    for answer in &answers() {
        let (expected, thinking) = at_once(answer);
        for at in 0..=answer.text.len() {
            let (head, tail) = answer.text.split_at(at);
            assert_same(answer, &expected, &thinking, [head, tail].into_iter());
        }
    }
}

#[test]
fn e1_byte_by_byte_and_in_fours_gives_the_events_of_the_whole() {
    for answer in &answers() {
        let (expected, thinking) = at_once(answer);
        for size in [1, 2, 3, 4, 7, 64] {
            assert_same(answer, &expected, &thinking, answer.text.chunks(size));
        }
    }
}

/// The actions, without their positions in the list.
fn actions(events: &[ExtractEvent]) -> Vec<&ExtractEvent> {
    let is_taken = |event: &&ExtractEvent| {
        matches!(event, ExtractEvent::Action(_) | ExtractEvent::Plan(_) | ExtractEvent::Completion(_))
    };
    events.iter().filter(is_taken).collect()
}

#[test]
fn e3_no_prefix_of_an_answer_holds_an_action_that_the_whole_does_not_hold() {
    for answer in &answers() {
        // The events of a whole answer that ends normally. An added end tag is in no prefix.
        let all = settled(extracted([answer.text.as_slice()], StreamEnd::End).0);
        let all = actions(&all);
        for stop in [StreamEnd::Length, StreamEnd::Broken] {
            for at in 0..=answer.text.len() {
                let (prefix, _) = answer.text.split_at(at);
                let cut = settled(extracted([prefix], stop).0);
                for action in actions(&cut) {
                    let whole = all.contains(&action);
                    assert!(whole, "{} cut at {at}: {action:?} is none of {all:?}", answer.name);
                    let (ExtractEvent::Action(taken) | ExtractEvent::Plan(taken)) = action else { continue };
                    assert!(taken.span.end <= at && taken.raw.ends_with('>'), "{}: {taken:?}", answer.name);
                }
                let repairs = cut.iter().filter(
                    |event| matches!(event, ExtractEvent::Repair(it) if it.repair == systole_kit::extract::RepairKind::EndTag),
                );
                assert_eq!(repairs.count(), 0, "{} cut at {at}", answer.name);
            }
        }
    }
}

/// A cut answer always produces a report.
#[test]
fn e4_a_prefix_that_was_cut_off_always_says_so() {
    for answer in &answers() {
        for at in 0..=answer.text.len() {
            let (events, _) = extracted([&answer.text[..at]], StreamEnd::Length);
            let says = |event: &ExtractEvent| matches!(event, ExtractEvent::Problem(it) if it.slug.as_str() == "output-truncated");
            assert!(events.iter().any(says), "{} cut at {at}", answer.name);
        }
    }
}

/// Parts of answers, and parts that spoil them.
const PARTS: &[&str] = &[
    "<search>",
    "</search>",
    "<query>",
    "</query>",
    "<search><query>x</query></search>",
    "<ask>",
    "</ask>",
    "<ask to=\"critic\">",
    "<thinking>",
    "</thinking>",
    "<thought>",
    "</thought>",
    "`",
    "``",
    "```",
    "\n```\n",
    "\n```xml\n",
    "~~~",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "# ",
    " ",
    "    ",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<plan>",
    "</plan>",
    "<p>",
    "<br/>",
    "<b",
    "<",
    ">",
    "/>",
    "\"",
    "'",
    "=",
    "&",
    "&lt;",
    "<Search>",
    "</Search>",
    "<tool_call>",
    "</tool_call>",
    "<researcher>",
    "</researcher>",
    "<message>",
    "<meta>",
    "</meta>",
    "<to>critic</to>",
    "</message>",
    "<attempt_completion>",
    "<result>",
    "</result>",
    "</attempt_completion>",
    "<answer>",
    "</answer>",
    "a",
    "text",
    "\u{e9}",
    "\u{feff}",
    "\r\n",
    "<x:search xmlns:x='u'>",
    "<search/>",
    "<lookup/>",
    "<spawn-thread>",
    "<initial-payload>",
    "</initial-payload>",
    "</spawn-thread>",
];

fn parts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PARTS), 0..40).prop_map(|parts| parts.concat())
}

fn stops() -> impl Strategy<Value = StreamEnd> {
    prop::sample::select(vec![StreamEnd::End, StreamEnd::Length, StreamEnd::Broken])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn e1_any_text_in_any_chunks_gives_the_events_of_the_whole(
        text in parts(),
        stop in stops(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let answer = Answer { name: text.clone(), text: text.into_bytes(), stop };
        let (expected, thinking) = at_once(&answer);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(answer.text.len() + 1)).collect();
        cuts.extend([0, answer.text.len()]);
        cuts.sort_unstable();
        assert_same(&answer, &expected, &thinking, cuts.windows(2).map(|pair| &answer.text[pair[0]..pair[1]]));
        assert_same(&answer, &expected, &thinking, answer.text.chunks(1));
    }

    #[test]
    fn e3_no_prefix_of_any_text_holds_an_action_that_the_whole_does_not_hold(
        text in parts(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = text.into_bytes();
        let all = settled(extracted([text.as_slice()], StreamEnd::End).0);
        let prefix = &text[..cut.index(text.len() + 1)];
        let cut = settled(extracted([prefix], StreamEnd::Length).0);
        for action in actions(&cut) {
            prop_assert!(actions(&all).contains(&action), "{action:?}");
        }
    }
}

#[test]
fn e1_every_answer_of_the_corpus_in_random_chunks_gives_the_events_of_the_whole() {
    // A fixed sequence of numbers that looks random.
    let mut state = 17_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 59).expect("five bits")
    };
    for answer in &answers() {
        let (expected, thinking) = at_once(answer);
        for _ in 0..20 {
            let (mut chunks, mut rest) = (Vec::new(), answer.text.as_slice());
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(next().min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            assert_same(answer, &expected, &thinking, chunks.into_iter());
        }
    }
}
