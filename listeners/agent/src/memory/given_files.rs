//! Files that a model passes on: it writes their numbers, and the references take their places.
//!
//! What an answer holds comes in; the same goes out with references, or with the reason why it has no effect.

use systole_kit::Payload;
use systole_kit::file_reference::{FileReference, FileSource, list_files};

use super::files::{FileNumbers, replace_elements, write_element};
use crate::contracts::AgentContracts;
use crate::dialect::ReadAnswer;
use crate::show::quote_attribute;

impl FileNumbers {
    /// Puts references in the place of numbers. A number that no file has makes the whole answer unusable: its other
    /// actions may need the one that has it.
    pub(crate) fn fill_in(&self, contracts: &AgentContracts, taken: &mut ReadAnswer) {
        let payloads = taken.acts.iter_mut().map(|act| &mut act.payload).chain(&mut taken.ending);
        let failed = payloads.map(|payload| self.fill_payload(contracts, payload)).find_map(Result::err);
        if let Some(words) = failed {
            taken.clear_acts();
            taken.plans.clear();
            taken.ending = None;
            taken.add_failure("tool-payload-invalid", words);
        }
    }

    fn fill_payload(&self, contracts: &AgentContracts, payload: &mut Payload) -> Result<(), String> {
        let model = contracts.find_written(payload.name());
        let found = model.map(|model| model.find_files(payload.bytes())).unwrap_or_default();
        if !found.is_empty() {
            let mut places = Vec::with_capacity(found.len());
            for element in found {
                let number = element.number.as_deref().unwrap_or_default();
                let file =
                    self.find_file(number).ok_or_else(|| self.describe_unknown(&element.name, number))?;
                let whole = payload.bytes().get(element.span.clone()).unwrap_or_default();
                let written = std::str::from_utf8(whole)
                    .ok()
                    .and_then(|whole| write_element(whole, &write_attributes(file), None));
                places.extend(written.map(|written| (element.span, written)));
            }
            *payload =
                replace_elements(payload, places).ok_or_else(|| "Its files cannot be read.".to_owned())?;
        }
        // Whatever else a model writes, it shows no file that it was not shown: it may know a hash from somewhere.
        let is_foreign =
            |file: &FileReference| file.source == FileSource::Field && !self.has_hash(&file.hash);
        match list_files(payload.bytes()).into_iter().find(is_foreign) {
            Some(file) => Err(self.describe_unknown(&file.element, "")),
            None => Ok(()),
        }
    }

    fn describe_unknown(&self, element: &str, number: &str) -> String {
        let lines = self.list_lines();
        let known = match lines.is_empty() {
            true => "You were shown no file.".to_owned(),
            false => format!("Write the number of one of these: {}.", lines.join(", ")),
        };
        match number {
            "" => format!("<{element}> has no number of a file, as file=\"1\". {known}"),
            number => format!("<{element} file=\"{number}\"/>: no file has this number. {known}"),
        }
    }
}

fn write_attributes(file: &FileReference) -> String {
    let (hash, bytes) = (&file.hash, file.bytes.unwrap_or_default());
    let (media_type, name) = (quote_attribute(&file.media_type), file.name.as_deref().map(quote_attribute));
    let name = name.map(|name| format!(" name=\"{name}\"")).unwrap_or_default();
    format!("sha256=\"{hash}\" type=\"{media_type}\" bytes=\"{bytes}\"{name}")
}
