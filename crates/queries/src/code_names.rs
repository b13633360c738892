//! The codes that a record can have.

use systole_core::types::codes::Code;
use systole_core::types::record::RecordCode;

/// Whether a record may have this code: the pump's are in its table, and a listener calls its own as it likes, such as
/// `search.offline`.
pub(crate) fn may_be_code(text: &str) -> bool {
    let Some((family, _)) = text.split_once('.') else { return RecordCode::parse(text).is_some() };
    // Listeners have codes of this family too.
    let is_of_pump = family != "model" && Code::ALL.iter().any(|code| code.family() == family);
    RecordCode::parse(text).is_some() || !is_of_pump && !text.contains(char::is_whitespace)
}
