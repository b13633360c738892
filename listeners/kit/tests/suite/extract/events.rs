//! The mapping from a payload back to the model's text, and the open element at the end.

use systole_kit::extract::{
    ElementRole, ExtractEvent, ExtractedAction, Extractor, KnownElement, KnownNames, ProblemSlug, StreamEnd,
};
use systole_kit::{DocumentLimits, Place};

use super::{extracted, names, whole};

fn actions(events: Vec<ExtractEvent>) -> Vec<ExtractedAction> {
    let action = |event| if let ExtractEvent::Action(action) = event { Some(*action) } else { None };
    events.into_iter().filter_map(action).collect()
}

/// The text at a place.
fn from(text: &str, place: Place) -> &str {
    assert_eq!(
        Place::from_offset(text.as_bytes(), place.offset),
        place,
        "line and column belong to the offset"
    );
    &text[place.offset..]
}

#[test]
fn e3_a_place_in_a_payload_leads_back_to_the_model_s_text() {
    let text = "Ä first.\n<researcher xmlns:s='https://xml-pipeline.org/ns/search/v1'>\n\
                <s:Search><s:query>ä</s:query>\n<s:limit a='1'>x</s:limit><s:limit>y</s:limit></s:Search>\n\
                <ask\n to='critic'>Where?</ask></researcher>";
    let actions = actions(whole(text));
    let [search, ask] = actions.as_slice() else { panic!("{actions:?}") };
    let bytes = std::str::from_utf8(search.payload.bytes()).expect("text");
    for part in ["<s:query>", "ä<", "<s:limit a", "x<", "y<", "</s:limit></s:s"] {
        let offset = bytes.find(part).unwrap_or_else(|| panic!("{part} in {bytes}"));
        let written = part.replace("</s:s", "</s:S");
        assert!(from(text, search.origin.find_place(offset)).starts_with(&written), "{part}");
        let place = Place::from_offset(bytes.as_bytes(), offset);
        let back = search.origin.place_at(place.line.into(), place.column.into());
        assert_eq!(back, search.origin.find_place(offset), "{part}");
    }
    for (path, begins) in [
        ("/search", "<s:Search>"),
        ("/search/query", "<s:query>"),
        ("/search/limit", "<s:limit a"),
        ("/search/limit[2]", "<s:limit>y"),
        ("/search/limit[1]/@a", "a='1'"),
    ] {
        let place = search.origin.place_of(path).unwrap_or_else(|| panic!("{path}"));
        assert!(from(text, place).starts_with(begins), "{path}: {}", from(text, place));
    }
    assert_eq!(search.origin.place_of("/search/limit[3]"), None);
    assert_eq!(search.origin.place_of("/ask"), None);
    // The line break before the removed attribute still counts.
    let offset = std::str::from_utf8(ask.payload.bytes()).expect("text").find("Where").expect("there");
    assert!(from(text, ask.origin.find_place(offset)).starts_with("Where?"));
}

#[test]
fn e3_places_in_a_later_block_count_from_the_start_of_the_whole_text() {
    // Long enough that the settled text has been forgotten.
    let filler = "Prose without end, ä and ö.\n".repeat(20_000);
    let text = format!("{filler}<search><query>x</query></search>\n{filler}  <shell>a < b &amp; c</shell>\n");
    let (events, _) = extracted(text.as_bytes().chunks(1000), StreamEnd::End);
    let problem = events.iter().find_map(|event| match event {
        ExtractEvent::Problem(problem) => Some(problem),
        _ => None,
    });
    let problem = problem.expect("a problem");
    assert_eq!(
        (problem.slug, problem.place.line, problem.place.column),
        (ProblemSlug::Malformed, 40_002, 12)
    );
    assert!(from(&text, problem.place).starts_with("< b"));
    let [action] = &actions(events)[..] else { panic!("one action") };
    assert_eq!((action.span.start.line, action.span.start.column), (20_001, 1));
    assert_eq!(&text[action.span.start.offset..action.span.end], &*action.raw);
}

#[test]
fn e1_an_extractor_starts_empty_and_tells_what_is_left() {
    let (first, left) = extracted([b"<search><query>".as_slice()], StreamEnd::Length);
    assert_eq!(actions(first), []);
    let left = left.expect("a block is open");
    assert_eq!((left.element.as_str(), left.span.start, left.span.end), ("search", Place::START, 15));
    let (second, left) = extracted([b"x</query></search>".as_slice()], StreamEnd::End);
    assert_eq!((actions(second), left), (vec![], None));
}

#[test]
fn e3_a_payload_over_a_limit_is_refused_with_its_place() {
    let limits = DocumentLimits { message_bytes: 100, ..DocumentLimits::default() };
    let mut extractor = Extractor::new(names(), limits);
    let mut events = Vec::new();
    let text = format!("x\n<shell>{}</shell>\n<shell>ls</shell>", "a".repeat(100));
    extractor.push(text.as_bytes(), &mut events);
    extractor.finish(StreamEnd::End, &mut |_| false, &mut events);
    let told = events.iter().find_map(|event| match event {
        ExtractEvent::Problem(problem) => Some((problem.slug, problem.place.line)),
        _ => None,
    });
    assert_eq!(told, Some((ProblemSlug::ToolPayloadInvalid, 2)));
    assert_eq!(actions(events).len(), 1, "the other one is taken");
}

#[test]
fn e3_names_are_those_that_the_caller_gives() {
    let text = b"<search><query>x</query></search><fetch><url>y</url></fetch>";
    let taken = |names: KnownNames| {
        let mut extractor = Extractor::new(names.into(), DocumentLimits::default());
        let mut events = Vec::new();
        extractor.push(text, &mut events);
        extractor.finish(StreamEnd::End, &mut |_| false, &mut events);
        actions(events).iter().map(|action| action.payload.name().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(taken(KnownNames::new()), Vec::<String>::new());
    let fetch = KnownNames::new()
        .with_element(KnownElement::new(ElementRole::Peer, "urn:web", "fetch").taken_by("web"));
    assert_eq!(taken(fetch), ["{urn:web}fetch"]);
}
