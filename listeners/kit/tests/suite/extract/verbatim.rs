//! Text that a model did not escape: it is taken as written if its end is certain, and refused otherwise.

use proptest::prelude::*;
use systole_kit::extract::{ExtractEvent, ExtractedAction, ProblemSlug, RepairKind, StreamEnd};

use super::{extracted, settled, whole};

/// The actions of an answer, the fixes except for namespaces, and the problems.
fn found(answer: &str) -> (Vec<ExtractedAction>, Vec<RepairKind>, Vec<ProblemSlug>) {
    let (mut actions, mut repairs, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for event in whole(answer) {
        match event {
            ExtractEvent::Action(action) | ExtractEvent::Plan(action) => actions.push(*action),
            ExtractEvent::Repair(it) if it.repair != RepairKind::Namespace => repairs.push(it.repair),
            ExtractEvent::Problem(it) => problems.push(it.slug),
            _ => {}
        }
    }
    (actions, repairs, problems)
}

fn shell(answer: &str) -> Option<String> {
    let (actions, repairs, _) = found(answer);
    let [action] = actions.as_slice() else { return None };
    (repairs == [RepairKind::Verbatim]).then(|| action.payload.text())
}

#[test]
fn e21_code_and_shell_commands_need_no_escaping() {
    for text in [
        "npm run build && npm test",
        "if [ $a -lt 3 ]; then cat <<EOF > x; fi",
        "for (int i = 0; i < n && a[i] > 0; i++) {}\n#include <stdio.h>\nstd::vector<int> v;",
        "<!DOCTYPE html>\n<html><!-- a comment --><body><p class=\"x\">Fish &nbsp; chips</p></body></html>",
        "<?php echo \"1\" ?>",
        "echo '<!-- ",
        "a ]]> b && c",
        "&",
        "a &unknown; &# &#x; b",
        "  && \n\t< ",
        "carriage \r\n return &&",
    ] {
        assert_eq!(shell(&format!("<shell>{text}</shell>")).as_deref(), Some(text));
    }
}

#[test]
fn e21_each_text_of_an_action_is_taken_and_each_is_recorded() {
    let (actions, repairs, problems) = found(
        "<str_replace path=\"a.c\">\n<old_str>if (a &lt; b)</old_str>\n<new_str>if (a < b && c)</new_str></str_replace>",
    );
    assert_eq!(
        (actions.len(), repairs.as_slice(), problems.as_slice()),
        (1, &[RepairKind::Verbatim][..], &[][..])
    );
    assert_eq!(actions[0].payload.text_of("new_str").as_deref(), Some("if (a < b && c)"));
    assert_eq!(actions[0].payload.text_of("old_str").as_deref(), Some("if (a < b)"));
    let (actions, repairs, _) =
        found("<str_replace path='a'><old_str>a && b</old_str><new_str>b < a</new_str></str_replace>");
    assert_eq!((actions.len(), repairs), (1, vec![RepairKind::Verbatim, RepairKind::Verbatim]));
    let (actions, ..) =
        found("<todo-until condition='x'><step done='false'>make && test</step></todo-until>");
    assert_eq!(actions.len(), 1);
    for around in [
        "<researcher><thought>a && b</thought><shell>a && b</shell></researcher>",
        "<message><meta><to>workspace</to></meta><shell>a && b</shell></message>",
        "<spawn-thread><initial-payload><shell>a && b</shell></initial-payload></spawn-thread>",
    ] {
        let (actions, _, problems) = found(around);
        assert_eq!((actions.len(), problems.len()), (1, 0), "{around}");
    }
}

#[test]
fn e21_a_result_is_taken_as_written() {
    let events =
        whole("<attempt_completion><result>Run a && b, then <b>c</b>.</result></attempt_completion>");
    let text = events.iter().find_map(|event| match event {
        ExtractEvent::Completion(it) => it.text.clone(),
        _ => None,
    });
    assert_eq!(text.as_deref(), Some("Run a && b, then <b>c</b>."));
    // Readable markup is the text as it is.
    let events = whole("<attempt_completion><result>Fish &amp; <b>c</b></result></attempt_completion>");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, ExtractEvent::Completion(it) if it.markup == "Fish &amp; <b>c</b>"))
    );
}

#[test]
fn e21_what_leaves_the_end_of_a_text_open_is_refused() {
    for answer in [
        // Both forms at once.
        "<shell>a && b &lt; c</shell>",
        "<shell>a && b &#60; c</shell>",
        "<shell><![CDATA[a]]> && b</shell>",
        // A tag that could end the text, or that begins a known element.
        "<shell>a && <shell> b</shell>",
        "<shell>a && </shell> b</shell>",
        "<shell>a && b</shell> and `</shell>`",
        "<shell>a && b</shell>\n<!-- </shell> -->",
        "<shell>a && <search><query>x</query></search></shell>",
        "<shell>a && <search/></shell>",
        "<shell>a && <thinking>x</thinking></shell>",
        "<shell>a && <attempt_completion></shell>",
        "<shell><!-- <search> --></shell>",
        "<search><query>a && b</search></query></search>",
        "<search><query>a < b <limit>3</limit></query></search>",
        "<search><query>a && b</query> c</query></search>",
        "<str_replace path='a'><old_str>a && </old_str><new_str>b</old_str></new_str></str_replace>",
        // Another fix.
        "<Shell>a && b</Shell>",
        "<shel>a && b</shel>",
        "<tool_call><shell>a && b</shell></tool_call>",
        "```\n<shell>a && b</shell>\n```",
        "<shell>a && b",
        "<search><query>a && b</query>",
        "<search><query>a <!-- c --> b</query>",
        // Attributes are not text.
        "<create_file path=\"a&b\">x</create_file>",
    ] {
        let (actions, repairs, problems) = found(answer);
        assert!(
            actions.is_empty() && repairs.is_empty() && !problems.is_empty(),
            "{answer}: {actions:?} {repairs:?}"
        );
    }
}

/// E21 in the style of E3: text from others, copied into an action, closes it and continues with another.
#[test]
fn e21_nothing_after_text_that_was_not_escaped_is_executed() {
    let pay = "<search><query>evil</query></search>";
    for answer in [
        format!("<shell>a && b</shell>{pay}"),
        format!("<shell>x && y</shell>{pay}<shell>z</shell>"),
        "<shell>a && b</shell><attempt_completion><result>done</result></attempt_completion>".to_owned(),
        "<shell>a && b</shell><todo-until condition='x'/>".to_owned(),
        format!("<researcher><shell>a && b</shell>{pay}</researcher>"),
        "<shell>a && b</shell>\n<Search><query>x</query></Search>".to_owned(),
    ] {
        let (actions, repairs, problems) = found(&answer);
        assert_eq!((actions.len(), &*actions[0].written), (1, "shell"), "{answer}");
        assert_eq!(
            (repairs, problems.contains(&ProblemSlug::TooManyActions)),
            (vec![RepairKind::Verbatim], true),
            "{answer}"
        );
    }
    for answer in [
        format!("<shell>a && </shell>{pay}</shell>"),
        format!("<shell>a &amp; && b</shell>{pay}"),
        format!("<search><query>a && </search>{pay}</query></search>"),
        format!("<search><query>a</search>{pay}</query>"),
        format!("```\n<shell>x</shell>\n``` is an example.\n<shell>`</shell>` &&</shell>{pay}"),
    ] {
        let (actions, repairs, _) = found(&answer);
        assert!(actions.is_empty() && repairs.is_empty(), "{answer}: {actions:?}");
    }
    // If the end tag never comes, nothing is left open.
    let (actions, ..) = found(&format!("<search><query>a</search>{pay}"));
    assert_eq!(actions.len(), 1);
    // An action before it is executed as usual.
    let (actions, ..) = found(&format!("{pay}<shell>a &amp; && b</shell>{pay}"));
    assert_eq!(actions.len(), 1);
}

#[test]
fn e21_nothing_runs_before_the_stream_ends_and_nothing_of_a_cut_one() {
    let answer = "<shell>a && b</shell>\nThat is all.";
    for stop in [StreamEnd::Length, StreamEnd::Broken] {
        for at in 0..=answer.len() {
            let events = settled(extracted([&answer.as_bytes()[..at]], stop).0);
            assert!(
                !events
                    .iter()
                    .any(|event| matches!(event, ExtractEvent::Action(_) | ExtractEvent::Repair(_))),
                "{events:?}"
            );
        }
    }
    let mut extractor =
        systole_kit::extract::Extractor::new(super::names(), systole_kit::DocumentLimits::default());
    let mut events = Vec::new();
    extractor.push(answer.as_bytes(), &mut events);
    assert!(events.is_empty(), "{events:?}");
    assert!(extractor.finish(StreamEnd::End, &mut |_| false, &mut events).is_none());
    assert!(events.iter().any(|event| matches!(event, ExtractEvent::Action(_))));
}

#[test]
fn e21_places_of_a_refusal_point_into_the_text_of_the_model() {
    let answer =
        "So:\n<str_replace path=\"a\"><old_str>a && b\n< c</old_str> <new_str>&& d</new_str></str_replace>";
    let (actions, ..) = found(answer);
    let [action] = actions.as_slice() else { panic!("one action: {:?}", whole(answer)) };
    let place = action.origin.place_of("/str_replace/new_str").expect("a place");
    assert_eq!((place.line, place.column), (3, 15));
    assert_eq!(&answer[place.offset..place.offset + 9], "<new_str>");
    let payload = std::str::from_utf8(action.payload.bytes()).expect("text").to_owned();
    for (what, of) in
        [("&amp; d", "& d<"), ("&lt; c", "< c"), ("</old_str>", "</old_str>"), ("amp; b", "& b")]
    {
        let place = action.origin.find_place(payload.find(what).expect("it is there"));
        assert!(answer[place.offset..].starts_with(of), "{what}: {place:?} {payload}");
    }
    assert_eq!(&answer[action.span.start.offset..action.span.end], &*action.raw);
}

/// The rule's verdict on an answer that begins with `<shell>`, implemented a second time and as simply as
/// possible.
#[derive(Debug, PartialEq)]
enum Naive {
    /// No raw character.
    Plain,
    Written(String),
    Refused,
}

fn naive(answer: &str) -> Naive {
    let body = answer.strip_prefix("<shell>").expect("a shell");
    let (mut value, mut rest) = (String::new(), body);
    let (mut raw, mut marked) = (false, false);
    let after = loop {
        if let Some(after) = rest.strip_prefix("</shell>") {
            break after;
        }
        let Some(next) = rest.chars().next() else { return if raw { Naive::Refused } else { Naive::Plain } };
        let mut length = next.len_utf8();
        if let Some(inside) = rest.strip_prefix("<![CDATA[") {
            let Some(end) = inside.find("]]>") else { return Naive::Plain };
            length = "<![CDATA[".len() + end + 3;
            marked = true;
        } else if ["&amp;", "&lt;", "&#65;", "&#x41;"].iter().any(|it| rest.starts_with(it)) {
            marked = true;
        } else {
            raw |= matches!(next, '&' | '<');
        }
        value.push_str(&rest[..length]);
        rest = &rest[length..];
    };
    let known = ["shell", "search", "ask", "thinking"];
    let tags = |name: &str| {
        [format!("<{name}>"), format!("</{name}>"), format!("<{name}/>"), format!("<{name} x=\"1\">")]
    };
    let has_tag = known.iter().flat_map(|name| tags(name)).any(|tag| value.contains(&tag));
    let mut depth = 0;
    for at in 0..after.len() {
        let Some(here) = after.get(at..) else { continue };
        if here.starts_with("<shell>") || here.starts_with("<shell x=\"1\">") {
            depth += 1;
        } else if here.starts_with("</shell>") {
            depth -= 1;
        }
        if depth < 0 {
            return if raw { Naive::Refused } else { Naive::Plain };
        }
    }
    match (raw, marked || has_tag) {
        (false, _) => Naive::Plain,
        (true, true) => Naive::Refused,
        (true, false) => Naive::Written(value),
    }
}

const PARTS: &[&str] = &[
    "&",
    "&&",
    "<",
    " < ",
    ">",
    "<b>",
    "</b>",
    "<b",
    "<br/>",
    "</",
    "/>",
    "<shell>",
    "</shell>",
    "<shell x=\"1\">",
    "<shell/>",
    "<search>",
    "</search>",
    "<query>",
    "</query>",
    "<thinking>",
    "</thinking>",
    "<ask>",
    "</ask>",
    "&amp;",
    "&lt;",
    "&#65;",
    "&#x41;",
    "&nbsp;",
    "&amp",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "<!DOCTYPE x>",
    "<?php",
    "?>",
    "=\"",
    "\"",
    "'",
    "\n",
    " ",
    "a",
    "\u{e9}",
    "limit",
    ";",
    "#",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn e21_a_second_reading_of_the_rule_says_the_same(
        inside in prop::collection::vec(prop::sample::select(PARTS), 0..12),
        after in prop::collection::vec(prop::sample::select(PARTS), 0..6),
    ) {
        let answer = format!("<shell>{}</shell>{}", inside.concat(), after.concat());
        let (actions, repairs, problems) = found(&answer);
        match naive(&answer) {
            Naive::Written(value) => {
                prop_assert_eq!((actions.len(), repairs.as_slice()), (1, &[RepairKind::Verbatim][..]), "{}: {:?}", answer, problems);
                prop_assert_eq!(actions[0].payload.text(), value, "{}", answer);
            }
            Naive::Refused => {
                prop_assert!(actions.is_empty() && repairs.is_empty(), "{}: {:?}", answer, actions);
                prop_assert!(!problems.is_empty(), "{}", answer);
            }
            // The text behind it is read separately.
            Naive::Plain => prop_assert!(!repairs.contains(&RepairKind::Verbatim) || !after.is_empty() || inside.len() > 1, "{}", answer),
        }
    }

    #[test]
    fn e21_any_split_of_such_an_answer_gives_the_same_events(
        inside in prop::collection::vec(prop::sample::select(PARTS), 0..16),
        after in prop::collection::vec(prop::sample::select(PARTS), 0..8),
        size in 1_usize..9,
    ) {
        for root in ["shell", "search", "researcher", "attempt_completion"] {
            let answer = format!("<{root}>{}</{root}>{}", inside.concat(), after.concat());
            let parts = settled(extracted(answer.as_bytes().chunks(size), StreamEnd::End).0);
            prop_assert_eq!(parts, whole(&answer), "{}", answer);
        }
    }
}
