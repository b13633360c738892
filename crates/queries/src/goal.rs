//! A goal of a workflow in one line: the goal, its pass, the question, and the names of what it is shown.
//!
//! A gate at a `<goal-request>`, or the parts of a note, come in; words for people go out. The words come from a
//! payload, so the caller must make them safe before printing.

use std::borrow::Cow;

use systole_kit::gate::{GateStep, XmlGate};

/// The goal in the `<goal-request>` that the gate has just opened. The gate is after it when this returns.
pub(super) fn read_goal(gate: &mut XmlGate<'_>) -> Option<String> {
    let (mut shown, mut words) = (Vec::new(), String::new());
    let (mut goal, mut pass, mut depth, mut is_goal) = (String::new(), None, 1, false);
    // The earlier pass of a loop whose outputs are shown, and how deep it is.
    let mut earlier: Option<(String, usize)> = None;
    let value = |gate: &XmlGate<'_>, name: &str| gate.find_attribute(name).map(Cow::into_owned);
    while depth > 0 {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                depth += 1;
                match tag.local {
                    "iteration" => earlier = value(gate, "n").map(|n| (n, depth)),
                    "goal" => shown.extend(value(gate, "id").map(|id| match &earlier {
                        Some((n, _)) => format!("{id} (pass {n})"),
                        None => id,
                    })),
                    "current-goal" => {
                        goal = value(gate, "id").unwrap_or_default();
                        pass = value(gate, "loop").zip(value(gate, "iteration"));
                        is_goal = true;
                    }
                    "task" => {
                        let part = |name| value(gate, name).unwrap_or_default();
                        goal = format!("{} (a task of {})", part("role"), part("parent-goal"));
                        is_goal = true;
                    }
                    _ => {}
                }
            }
            GateStep::Text(text) if is_goal => text.append_to(&mut words),
            GateStep::Close => {
                depth -= 1;
                is_goal = false;
                earlier = earlier.filter(|(_, at)| depth >= *at);
            }
            GateStep::Text(_) | GateStep::Instruction => {}
            GateStep::Done => return None,
        }
    }
    let pass = pass.map(|(name, n)| format!(" (pass {n} of {name})")).unwrap_or_default();
    let sees = if shown.is_empty() { String::new() } else { format!("  sees {}", shown.join(", ")) };
    Some(format!("{goal}{pass}: {}{sees}", words.trim()))
}

/// A part of a workflow's note: what it starts, or what was decided.
pub(super) fn describe_note<'v>(local: &str, value: impl Fn(&str) -> Cow<'v, str>) -> String {
    if local == "start" {
        let again = value("try");
        let again = if again.is_empty() { String::new() } else { format!(" (try {again})") };
        return format!("starts {}{again}", value("key"));
    }
    match &*value("key") {
        "" => String::from("ends"),
        key => format!("{key}: {}? {}", value("question"), value("answer")),
    }
}
