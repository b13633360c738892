//! What became of the forms of one call: which of them a person left, and why answers did not count.

use std::collections::{BTreeMap, BTreeSet};

use super::form_answers::FormEnd;
use crate::limits;

/// The forms of one call, by their names.
#[derive(Default)]
pub struct FormLedger {
    /// The forms that the person left: they are not shown again in this call.
    left: BTreeSet<String>,
    /// Why answers did not count, until the person was told.
    remarks: Vec<String>,
    /// How many did not, by their forms.
    faults: BTreeMap<String, usize>,
}

impl FormLedger {
    /// Notes what an answer did.
    pub fn note_end(&mut self, name: &str, end: Result<FormEnd, String>) {
        match end {
            // What names no form here may mean something to another server.
            Ok(FormEnd::Taken | FormEnd::Unknown) => {}
            Ok(FormEnd::Left) => drop(self.left.insert(name.to_owned())),
            // A client that cannot show it is not asked again.
            Ok(FormEnd::NotShown(words)) => {
                let words: String = words.chars().take(limits::HOST_WORDS).collect();
                self.remarks.push(format!("the host did not show the form {name}: {words}"));
                self.left.insert(name.to_owned());
            }
            Err(why) => {
                self.remarks.push(why);
                let faults = self.faults.entry(name.to_owned()).or_default();
                *faults += 1;
                // A program that answers for the person would never end.
                if *faults >= limits::FORM_FAULTS {
                    self.left.insert(name.to_owned());
                }
            }
        }
    }

    /// Whether a form is not shown again.
    pub fn has_left(&self, name: &str) -> bool {
        self.left.contains(name)
    }

    /// Why answers did not count, for the form that is shown next.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// The same, for a result that shows no more forms.
    pub fn list_remarks(&self) -> impl Iterator<Item = &str> {
        self.remarks.iter().map(String::as_str)
    }
}
