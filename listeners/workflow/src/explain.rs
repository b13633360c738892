//! A workflow as numbered sentences in plain English, for people who want to know what it does.
//!
//! A workflow comes in; sentences go out, one entry per step. The words of goals are quoted
//! unchanged.

use crate::known::REQUEST;
use crate::spec::{
    Budget, Condition, Goal, Path, QuestionStep, RepeatUntil, Step, StepAction, Supervisor, ValueSource,
    ValueTest, Workflow,
};

/// One step as one or more sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSentence {
    /// Its number: `3`, or `3.1` for the first step inside the third.
    pub number: String,
    /// The number of steps around it.
    pub depth: usize,
    /// The id of the step.
    pub id: String,
    /// The text.
    pub text: String,
}

/// The steps of a workflow, each followed by its inner steps.
#[must_use]
pub fn write_sentences(workflow: &Workflow) -> Vec<StepSentence> {
    let mut found = Vec::new();
    collect_steps(&workflow.steps, "", 0, &mut found);
    found
}

fn collect_steps(steps: &[Step], above: &str, depth: usize, found: &mut Vec<StepSentence>) {
    for (nth, step) in steps.iter().enumerate() {
        let number = format!("{above}{}", nth.saturating_add(1));
        found.push(StepSentence {
            number: number.clone(),
            depth,
            id: step.id.clone(),
            text: write_sentence(step),
        });
        collect_steps(step.inner_steps(), &format!("{number}."), depth.saturating_add(1), found);
    }
}

/// A step's work, in plain words.
#[must_use]
pub fn write_sentence(step: &Step) -> String {
    let mut text = format!("{}: ", step.id);
    if !step.when.is_empty() {
        text.push_str(&format!("if {}: ", join_conditions(&step.when)));
    }
    if let Some(each) = &step.each {
        text.push_str(&format!("for each item of {}, {} at once: ", each.list.text(), each.at_once));
    }
    text.push_str(&describe_work(&step.work));
    for more in list_terms(step) {
        text.push(' ');
        text.push_str(&more);
    }
    if !step.inner_steps().is_empty() {
        text.push(':');
    }
    text
}

fn describe_work(work: &StepAction) -> String {
    match work {
        StepAction::Do(goal) => describe_goal(goal),
        StepAction::Call(call) => {
            let fields: Vec<String> = call
                .fields
                .iter()
                .map(|field| {
                    let name = if field.name == "." { "its text" } else { &field.name };
                    match &field.source {
                        ValueSource::Path(path) => format!("{name} from {}", path.text()),
                        ValueSource::Text(text) => format!("{name} \"{text}\""),
                    }
                })
                .collect();
            let with = if fields.is_empty() {
                String::new()
            } else {
                format!(", with {}", join_parts(&fields, "and"))
            };
            format!("sends <{}> to {}{with}.", call.element.local, call.to)
        }
        StepAction::Ask(question) => {
            let mut text = format!("asks a person: {}", end_sentence(&question.words));
            match question.choices.as_slice() {
                [] => text.push_str(" The answer is a note."),
                choices => text.push_str(&format!(" The choices are {}.", join_parts(choices, "and"))),
            }
            if !question.shows.is_empty() {
                text.push_str(&format!(" The person sees {}.", list_paths(&question.shows)));
            }
            let (time, then) = (format_duration(question.expires_ms), describe_unanswered(question));
            text.push_str(&format!(" After {time} without an answer {then}."));
            text
        }
        StepAction::Wait { ms } => format!("waits {}.", format_duration(*ms)),
        StepAction::Group { .. } => "does these steps in order".to_owned(),
        StepAction::Parallel { at_once, .. } => format!("does these steps in parallel, {at_once} at once"),
        StepAction::Repeat { until, at_most, .. } => {
            let enough = match until {
                RepeatUntil::Converged => "nothing is left to change".to_owned(),
                RepeatUntil::Holds(conditions) => join_conditions(conditions),
            };
            format!("repeats these steps until {enough}, {at_most} times at most")
        }
    }
}

fn describe_goal(goal: &Goal) -> String {
    let verb = if goal.by.len() == 1 { "pursues this goal" } else { "each pursue this goal" };
    let mut text = format!("{} {verb}: {}", join_parts(&goal.by, "and"), end_sentence(&goal.words));
    if let Some(gives) = &goal.gives {
        text.push_str(&format!(" The output is <{}>.", gives.local));
    }
    match goal.sees.as_deref() {
        None if goal.hides_request => text.push_str(" It does not see the request."),
        None => {}
        Some([]) => text.push_str(" It sees neither the request nor earlier goals."),
        Some(sees) => text.push_str(&format!(" It sees only {}.", describe_sees(sees, goal.hides_request))),
    }
    if let Some(tasks) = &goal.tasks {
        let who = if goal.by.len() == 1 { "It may give" } else { "Each of them may give" };
        let many =
            if tasks.at_most == 1 { "1 task".to_owned() } else { format!("up to {} tasks", tasks.at_most) };
        let watched = match &tasks.supervise {
            Some(Supervisor::Agent(agent)) => format!(", each supervised by {agent}"),
            Some(Supervisor::Person) => ", each supervised by a person".to_owned(),
            None => String::new(),
        };
        text.push_str(&format!(" {who} {many} to {}{watched}.", tasks.by));
    }
    text
}

/// What follows if a question has no answer in time.
#[must_use]
pub fn describe_unanswered(question: &QuestionStep) -> String {
    match &question.otherwise {
        Some(choice) => format!("{choice} is chosen"),
        None => "the step fails".to_owned(),
    }
}

/// The terms of a step that differ from the usual.
fn list_terms(step: &Step) -> Vec<String> {
    let mut all = Vec::new();
    let is_open = !step.inner_steps().is_empty();
    let mut say = |text: String| {
        all.push(if is_open { format!("({text})") } else { format!("{}.", capitalize(&text)) })
    };
    match &step.supervise {
        Some(Supervisor::Agent(agent)) => say(format!("supervised by {agent}")),
        Some(Supervisor::Person) => say("supervised by a person".to_owned()),
        None => {}
    }
    if let Some(ms) = step.timeout_ms {
        say(format!("it fails after {}", format_duration(ms)));
    }
    if step.tries > 1 {
        say(format!("if it fails, it is tried up to {} times in all", step.tries));
    }
    if step.keeps_failure {
        say("if it fails, the run goes on".to_owned());
    }
    if let Some(budget) = describe_budget(&step.budget) {
        say(format!("each child may use {budget}"));
    }
    all
}

fn describe_budget(budget: &Budget) -> Option<String> {
    let messages = budget.messages.map(|count| format!("{count} messages"));
    let tokens = budget.tokens.map(|count| format!("{count} tokens"));
    let parts: Vec<String> = [messages, tokens, budget.money.clone()].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| join_parts(&parts, "and"))
}

fn join_conditions(conditions: &[Condition]) -> String {
    let all: Vec<String> =
        conditions.iter().map(|one| format!("{} is {}", one.path.text(), describe_test(&one.test))).collect();
    join_parts(&all, "and")
}

fn describe_test(test: &ValueTest) -> String {
    match test {
        ValueTest::Text(values) => join_parts(values, "or"),
        ValueTest::Flag(flag) => flag.to_string(),
        ValueTest::Number(ranges) => {
            let ranges: Vec<String> = ranges
                .iter()
                .map(|(from, to)| match (from.as_deref(), to.as_deref()) {
                    (Some(from), Some(to)) if from == to => from.to_owned(),
                    (Some(from), Some(to)) if !from.starts_with('>') && !to.starts_with('<') => {
                        format!("from {from} to {to}")
                    }
                    (None, None) => "any number".to_owned(),
                    (from, to) => {
                        let least = from.map(|from| match from.strip_prefix('>') {
                            Some(from) => format!("more than {from}"),
                            None => format!("{from} or more"),
                        });
                        let most = to.map(|to| match to.strip_prefix('<') {
                            Some(to) => format!("less than {to}"),
                            None => format!("{to} or less"),
                        });
                        join_parts(&least.into_iter().chain(most).collect::<Vec<_>>(), "and")
                    }
                })
                .collect();
            join_parts(&ranges, "or")
        }
    }
}

/// The part that a goal with `sees` sees. The request is always there, as a whole unless a path
/// leads into it.
fn describe_sees(sees: &[Path], hides_request: bool) -> String {
    let is_whole_request = |path: &&Path| path.goal == REQUEST && path.fields.is_empty();
    let mut names: Vec<String> = Vec::new();
    let names_request = |path: &Path| path.goal == REQUEST;
    let is_shown = !hides_request || sees.iter().any(names_request);
    if is_shown && sees.iter().all(|path| !names_request(path) || path.fields.is_empty()) {
        names.push("the request".to_owned());
    }
    names.extend(sees.iter().filter(|path| !is_whole_request(path)).map(Path::text));
    join_parts(&names, "and")
}

fn list_paths(paths: &[Path]) -> String {
    let paths: Vec<String> = paths.iter().map(Path::text).collect();
    join_parts(&paths, "and")
}

/// `a`, `a and b`, `a, b and c`.
fn join_parts(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} {word} {last}", before.join(", ")),
    }
}

/// The words, with a final punctuation mark.
fn end_sentence(words: &str) -> String {
    let words = words.trim();
    if words.ends_with(['.', '!', '?', ':', '…']) { words.to_owned() } else { format!("{words}.") }
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A duration in the largest unit that divides it.
fn format_duration(ms: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let fits = UNITS.iter().find(|(_, factor)| ms > 0 && ms.is_multiple_of(*factor));
    fits.map_or_else(
        || format!("{ms}ms"),
        |(unit, factor)| format!("{}{unit}", ms.checked_div(*factor).unwrap_or(ms)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{CallStep, EachList, ElementName, Goal, PayloadField, QuestionStep};

    fn path(goal: &str, fields: &[&str]) -> Path {
        Path { goal: goal.into(), agent: None, fields: fields.iter().map(|one| (*one).into()).collect() }
    }

    fn name(local: &str) -> ElementName {
        ElementName { namespace: "urn:x".into(), local: local.into() }
    }

    #[test]
    fn every_kind_of_step_is_a_sentence() {
        let goal = Goal {
            words: "Weigh it".into(),
            by: vec!["a".into(), "b".into(), "c".into()],
            gives: Some(name("review")),
            sees: Some(vec![]),
            hides_request: false,
            tasks: Some(crate::spec::TaskRule { by: "helper".into(), at_most: 8, supervise: None }),
        };
        let field = |name: &str, source| PayloadField {
            name: name.into(),
            is_attribute: false,
            is_optional: false,
            source,
        };
        let fields = vec![
            field("summary", ValueSource::Path(path("plan", &["summary"]))),
            field(".", ValueSource::Text("go".into())),
        ];
        let call = CallStep { element: name("deploy"), is_qualified: true, to: "workspace".into(), fields };
        let question = QuestionStep {
            words: "Release?".into(),
            choices: vec![],
            shows: vec![path("plan", &[])],
            expires_ms: 5_400_000,
            otherwise: None,
        };
        let number = |from: Option<&str>, to: Option<&str>| (from.map(str::to_owned), to.map(str::to_owned));
        let ranges =
            vec![number(Some("3"), Some("3")), number(None, Some("1")), number(Some(">5"), Some("7"))];
        let when = vec![
            Condition { path: path("judge", &["score"]), test: ValueTest::Number(ranges) },
            Condition { path: path("judge", &["done"]), test: ValueTest::Flag(true) },
        ];
        let steps = vec![
            Step { when, supervise: Some(Supervisor::Person), ..Step::new("weigh", StepAction::Do(goal)) },
            Step { tries: 3, timeout_ms: Some(90_000), ..Step::new("deploy", StepAction::Call(call)) },
            Step::new("gate", StepAction::Ask(question)),
            Step {
                each: Some(EachList { list: path("pick", &["item"]), at_once: 8, least: 0, most: None }),
                keeps_failure: true,
                budget: Budget { messages: Some(9), tokens: None, money: Some("0.5 USD".into()) },
                ..Step::new(
                    "wide",
                    StepAction::Parallel {
                        steps: vec![Step::new("pause", StepAction::Wait { ms: 250 })],
                        at_once: 4,
                    },
                )
            },
        ];
        let workflow = Workflow {
            name: "w".into(),
            returns: name("answer"),
            returns_text: true,
            steps,
            description: None,
            form: crate::spec::FORM,
        };
        let told: Vec<String> =
            write_sentences(&workflow).iter().map(|one| format!("{} {}", one.number, one.text)).collect();
        assert_eq!(
            told,
            [
                "1 weigh: if judge/score is 3, 1 or less or more than 5 and 7 or less and judge/done is true: a, b and c each pursue this goal: Weigh it. The output is <review>. It sees neither the request nor earlier goals. Each of them may give up to 8 tasks to helper. Supervised by a person.",
                "2 deploy: sends <deploy> to workspace, with summary from plan/summary and its text \"go\". It fails after 90s. If it fails, it is tried up to 3 times in all.",
                "3 gate: asks a person: Release? The answer is a note. The person sees plan. After 90m without an answer the step fails.",
                "4 wide: for each item of pick/item, 8 at once: does these steps in parallel, 4 at once (if it fails, the run goes on) (each child may use 9 messages and 0.5 USD):",
                "4.1 pause: waits 250ms.",
            ]
        );
    }
}
