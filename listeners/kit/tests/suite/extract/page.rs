//! The examples of the page about extraction match the extractor.

use std::fmt::Write as _;
use std::path::Path;

use systole_kit::extract::{ExtractEvent, ProblemSlug, RepairKind, StreamEnd};

use super::{at, extracted};

/// Events in the short form of the page. Added namespaces are omitted, as models may omit them.
fn short(events: &[ExtractEvent]) -> String {
    let mut out = String::new();
    for event in events {
        match event {
            ExtractEvent::Live(_) => Ok(()),
            ExtractEvent::Repair(it) if it.repair == RepairKind::Namespace => Ok(()),
            ExtractEvent::Thinking(span) => writeln!(out, "thinking {}", at(span.start)),
            ExtractEvent::Thought(it) => writeln!(out, "thought {}", at(it.span.start)),
            ExtractEvent::Prose(span) => writeln!(out, "prose {}", at(span.start)),
            ExtractEvent::Plan(it) => writeln!(out, "plan {}", at(it.span.start)),
            ExtractEvent::Action(it) => writeln!(out, "action {} {}", at(it.span.start), it.written),
            ExtractEvent::Completion(it) => writeln!(out, "completion {}", at(it.span.start)),
            ExtractEvent::Repair(it) => writeln!(out, "repair {:?} {}", it.repair, at(it.place)),
            ExtractEvent::Problem(it) => writeln!(out, "problem {} {}", it.slug, at(it.place)),
        }
        .expect("a text takes text");
    }
    out
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/extraction.md");
    std::fs::read_to_string(path).expect("the page is there")
}

#[test]
fn e3_the_examples_of_the_page_hold_what_it_says() {
    let page = page();
    let mut seen = 0;
    for part in page.split("\n```answer").skip(1) {
        let (head, rest) = part.split_once('\n').expect("a line");
        let (answer, rest) = rest.split_once("\n```\n").expect("the end of the answer");
        let events = rest.split_once("```events\n").expect("events follow").1;
        let events = events.split_once("```").expect("the end of the events").0;
        let is_cut = head.contains("cut");
        let stop = if is_cut { StreamEnd::Length } else { StreamEnd::End };
        let answer = if is_cut { format!("{answer}\n") } else { answer.to_owned() };
        assert_eq!(short(&extracted([answer.as_bytes()], stop).0), events, "{answer}");
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} examples were found");
}

#[test]
fn e4_the_page_names_every_slug_of_the_extractor() {
    let page = page();
    for slug in [
        ProblemSlug::EmptyResponse,
        ProblemSlug::ReasoningOnly,
        ProblemSlug::OutputTruncated,
        ProblemSlug::ContentMissing,
        ProblemSlug::Malformed,
        ProblemSlug::MissingClosingTag,
        ProblemSlug::TruncatedStructure,
        ProblemSlug::WrapperAsTool,
        ProblemSlug::ToolPayloadInvalid,
        ProblemSlug::UnknownAction,
        ProblemSlug::AmbiguousAction,
        ProblemSlug::ProseOnly,
        ProblemSlug::MisspeltAction,
        ProblemSlug::WrappedCall,
        ProblemSlug::ActionInQuotedText,
        ProblemSlug::TooManyActions,
        ProblemSlug::VerbatimText,
    ] {
        assert!(page.contains(&format!("`{slug}`")), "{slug}");
    }
}
