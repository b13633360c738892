//! The extractor's fixes and no others, each recorded, and a problem wherever nothing is
//! accepted.

use systole_kit::extract::{ExtractEvent, ProblemSlug, RepairKind};

use super::{answers, extracted, settled, whole};

/// The fixes, problems and actions of an answer.
fn counted(answer: &str) -> (Vec<RepairKind>, Vec<ProblemSlug>, usize) {
    let (mut repairs, mut problems, mut taken) = (Vec::new(), Vec::new(), 0);
    for event in whole(answer) {
        match event {
            ExtractEvent::Repair(it) if it.repair != RepairKind::Namespace => repairs.push(it.repair),
            ExtractEvent::Problem(it) => problems.push(it.slug),
            ExtractEvent::Action(_) | ExtractEvent::Completion(_) | ExtractEvent::Plan(_) => taken += 1,
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
        let is_one = |event: &&ExtractEvent| matches!(event, ExtractEvent::Repair(it) if it.repair == RepairKind::Namespace);
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
        (format!("`{action}`"), ProblemSlug::ActionInQuotedText),
        (format!("So:\n```\n{action}\n```"), ProblemSlug::ActionInQuotedText),
        (format!("```\n{action}{action}\n```"), ProblemSlug::ActionInQuotedText),
        (format!("<tool_call>{action}{action}</tool_call>"), ProblemSlug::WrapperAsTool),
        (format!("<tool_call>a {action}</tool_call>"), ProblemSlug::WrapperAsTool),
        (format!("<tool_use>{action}</tool_use>"), ProblemSlug::UnknownAction),
        (action.replace("search", "saerch"), ProblemSlug::UnknownAction),
        (action.replace("</query>", ""), ProblemSlug::Malformed),
        (action.replace("</query></search>", ""), ProblemSlug::MissingClosingTag),
        (action.replace("x</query></search>", "a < b</query>"), ProblemSlug::Malformed),
        ("<search><limit>1</limit>".to_owned(), ProblemSlug::MissingClosingTag),
        (action.replace('x', "a & b &amp; c"), ProblemSlug::Malformed),
        (action.replace("search", "lookup"), ProblemSlug::AmbiguousAction),
        ("<ask>who?</ask>".to_owned(), ProblemSlug::AmbiguousAction),
        ("<attempt_completion>done</attempt_completion>".to_owned(), ProblemSlug::ContentMissing),
        ("<message>hello</message>".to_owned(), ProblemSlug::ToolPayloadInvalid),
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
        let says = |event: &ExtractEvent| {
            let is_taken = matches!(event, ExtractEvent::Action(_) | ExtractEvent::Completion(_));
            is_taken
                || matches!(
                    event,
                    ExtractEvent::Plan(_) | ExtractEvent::Thought(_) | ExtractEvent::Problem(_)
                )
        };
        assert!(events.iter().any(says), "{}: {events:?}", answer.name);
        let problems = events.iter().filter_map(|event| match event {
            ExtractEvent::Problem(problem) => Some(problem),
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
        assert!(problems.contains(&ProblemSlug::ActionInQuotedText), "{shown}: {problems:?}");
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

#[test]
fn e4_an_unknown_element_behind_thinking_is_an_unknown_action() {
    let thought = "<thinking>x</thinking>";
    for element in
        ["<fetch><url>u</url></fetch>", "<fetch>u</fetch>", "<fetch url='u'/>", " <fetch>u</fetch>"]
    {
        assert_eq!(counted(&format!("{thought}{element}")), (vec![], vec![ProblemSlug::UnknownAction], 0));
        // The template of a chat may have opened the thinking.
        assert_eq!(counted(&format!("x</thinking>{element}")), (vec![], vec![ProblemSlug::UnknownAction], 0));
    }
    let action = "<search><query>x</query></search>";
    assert_eq!(
        counted(&format!("{thought}<fetch>u</fetch>{action}")),
        (vec![], vec![ProblemSlug::UnknownAction], 1)
    );
    for text in
        ["<code>u</code>", "<br/>", "<b>u</b>", "So: <fetch><url>u</url></fetch>", "`<fetch>u</fetch>`"]
    {
        assert_eq!(counted(&format!("{thought}{text}{action}")), (vec![], vec![], 1), "{text}");
    }
}
