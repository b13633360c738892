//! What became of a change set, as a model sees it: one result for each element that it wrote.
//!
//! A payload of the workspace comes in; text goes out, unescaped.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, Payload, namespaces};

/// The results of a change set in words.
pub(crate) struct ChangeWords {
    /// Why nothing was changed, or why the outcome is unknown.
    reason: Option<String>,
    results: Vec<ShownResult>,
    /// Files that commands changed, each with the number of its element.
    changed: Vec<(String, String)>,
    is_done: bool,
    change: String,
}

struct ShownResult {
    of: String,
    words: String,
    is_done: bool,
}

/// Reads the results of a change set. `None` for another payload.
pub(crate) fn change_words(payload: &Payload) -> Option<ChangeWords> {
    if !payload.name().is_named(namespaces::WORKSPACE, "change-result") {
        return None;
    }
    let mut words = ChangeWords {
        reason: payload.text_of("reason"),
        results: Vec::new(),
        changed: Vec::new(),
        is_done: payload.find_attribute("outcome").as_deref() == Some("done"),
        change: payload.find_attribute("change").unwrap_or_default(),
    };
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let GateStep::Open(_) = gate.read_step().ok()? else { return None };
    while let Some(tag) = gate.read_child().ok()? {
        let local = tag.local.to_owned();
        let value = |name: &str| {
            let found = gate.attributes().iter().find(|one| one.prefix.is_empty() && one.local == name);
            found.map(|one| one.value().into_owned()).unwrap_or_default()
        };
        let (of, outcome, element) = (value("of"), value("outcome"), value("element"));
        let (exit, path) = (value("exit"), value("path"));
        let text = gate.text_inside().ok()?;
        match local.as_str() {
            "result" => {
                let error = if outcome == "done" { "" } else { "Error: " };
                let mut said = format!("{error}{element}: {}", outcome.replace('-', " "));
                if !exit.is_empty() {
                    said.push_str(&format!(" (exit {exit})"));
                }
                if !text.is_empty() {
                    said.extend(["\n", text.trim_end_matches('\n')]);
                }
                words.results.push(ShownResult { of, words: said, is_done: outcome == "done" });
            }
            "changed" => words.changed.push((of, path)),
            _ => {}
        }
    }
    Some(words)
}

impl ChangeWords {
    /// The result of one element, counted from 1, as the model wrote it, and whether it is a failure.
    pub(crate) fn find_result(&self, number: usize, written: &str) -> (String, bool) {
        let number = number.to_string();
        let mut words = Vec::new();
        let result = self.results.iter().find(|result| result.of == number);
        words.extend(result.map(|result| result.words.clone()));
        let changed = self.changed.iter().filter(|(of, _)| *of == number).map(|(_, path)| path.as_str());
        let changed: Vec<&str> = changed.collect();
        if !changed.is_empty() {
            words.push(format!("It changed {}.", changed.join(", ")));
        }
        // A reason is about the whole set, and each of its elements has a result of its own.
        match (&self.reason, words.is_empty() && !self.is_done) {
            (Some(reason), true) => words.push(format!("Error: {written}: {reason}")),
            (reason, _) => words.extend(reason.clone()),
        }
        if words.is_empty() {
            words.push(if self.is_done {
                "no result".to_owned()
            } else {
                format!("Error: {written}: no result")
            });
        }
        if number == "1" && self.results.iter().any(|result| result.is_done) {
            words.push(format!("Change {}.", self.change));
        }
        (words.join("\n"), !result.map_or(self.is_done, |result| result.is_done))
    }

    /// Whether something of it did not happen.
    pub(crate) fn is_failure(&self) -> bool {
        !self.is_done
    }

    /// All results. `written` is the element that asked for the change, if known.
    pub(crate) fn join_results(&self, written: Option<&str>) -> String {
        let mut words = Vec::new();
        if !self.is_done {
            let whose = written.map(|written| format!(" {written}:")).unwrap_or_default();
            let reason = self.reason.as_deref().unwrap_or("not all of the change was done");
            words.push(format!("Error:{whose} {reason}"));
        } else {
            words.extend(self.reason.clone());
        }
        words.extend(self.results.iter().map(|result| format!("{}. {}", result.of, result.words)));
        let changed: Vec<&str> = self.changed.iter().map(|(_, path)| path.as_str()).collect();
        if !changed.is_empty() {
            words.push(format!("Changed by commands: {}.", changed.join(", ")));
        }
        words.push(format!(
            "Change {}: {}.",
            self.change,
            if self.is_done { "done" } else { "not all done" }
        ));
        words.join("\n")
    }
}
