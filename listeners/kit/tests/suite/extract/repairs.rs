//! The extractor's fixes and no others, each recorded, and a problem wherever nothing is
//! accepted.

use systole_kit::extract::{Event, RepairKind, Slug};

use super::{answers, extracted, settled, whole};

/// The fixes, problems and actions of an answer.
fn counted(answer: &str) -> (Vec<RepairKind>, Vec<Slug>, usize) {
    let (mut repairs, mut problems, mut taken) = (Vec::new(), Vec::new(), 0);
    for event in whole(answer) {
        match event {
            Event::Repair(it) if it.repair != RepairKind::Namespace => repairs.push(it.repair),
            Event::Problem(it) => problems.push(it.slug),
            Event::Action(_) | Event::Completion(_) | Event::Plan(_) => taken += 1,
            _ => {}
        }
    }
    (repairs, problems, taken)
}

#[test]
fn e4_each_repair_is_made_and_recorded() {
    let action = "<search><query>x</query></search>";
    for (answer, repair) in [
        (format!("```\n{action}\n```"), RepairKind::Fence),
        (format!("<tool_call>{action}</tool_call>"), RepairKind::Wrapper),
        (format!("<api_call>{action}</api_call>"), RepairKind::Wrapper),
        (format!("<action>{action}</action>"), RepairKind::Wrapper),
        (action.replace("search", "Search"), RepairKind::Name),
        (action.replace("search", "serch"), RepairKind::Name),
        (action.replace("</search>", ""), RepairKind::EndTag),
        (action.replace('x', "a && b"), RepairKind::Verbatim),
    ] {
        assert_eq!(counted(&answer), (vec![repair], vec![], 1), "{answer}");
    }
    let namespaces = |answer: &str| {
        let is_one =
            |event: &&Event| matches!(event, Event::Repair(it) if it.repair == RepairKind::Namespace);
        whole(answer).iter().filter(is_one).count()
    };
    assert_eq!(namespaces(action), 1);
    assert_eq!(
        namespaces(&action.replacen("search", "search xmlns='https://xml-pipeline.org/ns/search/v1'", 1)),
        0
    );
}

#[test]
fn e4_what_is_near_a_repair_and_is_none_is_feedback() {
    let action = "<search><query>x</query></search>";
    for (answer, slug) in [
        (format!("`{action}`"), Slug::ActionInQuotedText),
        (format!("So:\n```\n{action}\n```"), Slug::ActionInQuotedText),
        (format!("```\n{action}{action}\n```"), Slug::ActionInQuotedText),
        (format!("<tool_call>{action}{action}</tool_call>"), Slug::WrapperAsTool),
        (format!("<tool_call>a {action}</tool_call>"), Slug::WrapperAsTool),
        (format!("<tool_use>{action}</tool_use>"), Slug::UnknownAction),
        (action.replace("search", "saerch"), Slug::UnknownAction),
        (action.replace("</query>", ""), Slug::Malformed),
        (action.replace("</query></search>", ""), Slug::MissingClosingTag),
        (action.replace("x</query></search>", "a < b</query>"), Slug::Malformed),
        ("<search><limit>1</limit>".to_owned(), Slug::MissingClosingTag),
        (action.replace('x', "a & b &amp; c"), Slug::Malformed),
        (action.replace("search", "lookup"), Slug::AmbiguousAction),
        ("<ask>who?</ask>".to_owned(), Slug::AmbiguousAction),
        ("<attempt_completion>done</attempt_completion>".to_owned(), Slug::ContentMissing),
        ("<message>hello</message>".to_owned(), Slug::ToolPayloadInvalid),
    ] {
        let (repairs, problems, taken) = counted(&answer);
        assert_eq!((repairs, taken), (vec![], 0), "{answer}");
        assert!(problems.contains(&slug), "{answer}: {problems:?}");
    }
}

/// An answer from which nothing is accepted always has a problem that says why.
#[test]
fn e4_an_answer_from_which_nothing_is_taken_says_why() {
    for answer in &answers() {
        let events = settled(extracted([answer.text.as_slice()], answer.stop).0);
        let says = |event: &Event| {
            let is_taken = matches!(event, Event::Action(_) | Event::Completion(_));
            is_taken || matches!(event, Event::Plan(_) | Event::Thought(_) | Event::Problem(_))
        };
        assert!(events.iter().any(says), "{}: {events:?}", answer.name);
        let problems = events.iter().filter_map(|event| match event {
            Event::Problem(problem) => Some(problem),
            _ => None,
        });
        for problem in problems {
            let repairs = problem.fix.is_some() || problem.expected.is_some();
            assert!(repairs && !problem.message.is_empty(), "{}: {problem:?}", answer.name);
        }
    }
}

#[test]
fn e3_indented_code_and_quotations_are_shown_and_not_executed() {
    let action = "<search><query>x</query></search>";
    for shown in [
        format!("So:\n\n    {action}\n"),
        format!("So:\n\n\t{action}\n"),
        format!("# So\n    {action}\n"),
        format!("    {action}"),
        format!("So:\n> {action}\n"),
        format!(">{action}"),
        format!("> I would write {action} here.\n"),
        format!("- > {action}\n"),
        format!("> {}\n", action.replace("<query>", "\n> <query>")),
        format!("So:\n\n    > {action}\n"),
    ] {
        let (repairs, problems, taken) = counted(&shown);
        assert_eq!((repairs, taken), (vec![], 0), "{shown}");
        assert!(problems.contains(&Slug::ActionInQuotedText), "{shown}: {problems:?}");
    }
    // These are neither code nor a quotation.
    for run in [
        format!("So:\n    {action}\n"),
        format!("- So:\n\n  {action}\n"),
        format!("1. So:\n\n    {action}\n"),
        format!("> quoted\n\n{action}"),
        format!("if a > b then\n{action}"),
        format!("   {action}"),
    ] {
        assert_eq!(counted(&run), (vec![], vec![], 1), "{run}");
    }
}
