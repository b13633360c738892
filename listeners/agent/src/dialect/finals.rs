//! Finals in words, for every dialect.

use systole_kit::{Payload, namespaces};

use crate::contracts::AgentContracts;

/// A final in words: the only answer that is just text, or a report if the agent owes another answer.
pub(crate) fn write_final(contracts: &AgentContracts, text: &str, outcome: &str) -> Option<Payload> {
    let words = text.trim();
    if let Some(known) = contracts.text_final() {
        return known.wrap_text(words);
    }
    write_report("model", outcome, None, words)
}

/// A `<final-report>`.
pub(crate) fn write_report(source: &str, outcome: &str, reason: Option<&str>, text: &str) -> Option<Payload> {
    let mut writer = systole_kit::writer::XmlWriter::new();
    let start =
        writer.open("final-report").xmlns(namespaces::CORE).attr("source", source).attr("outcome", outcome);
    start.attr_if("reason", reason).text(text);
    Payload::from_trusted(writer.finish().into()).ok()
}
