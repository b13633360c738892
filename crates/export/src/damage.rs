//! What does not fit in an export: a sentence, and the position of the record that shows it.

/// What does not fit in an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportDamage {
    /// The position of the record that shows it; 0 if it is no record.
    pub position: u64,
    /// What is wrong.
    pub why: String,
}

impl ExportDamage {
    /// Damage that no record shows.
    pub fn without_place(why: impl Into<String>) -> ExportDamage {
        ExportDamage { position: 0, why: why.into() }
    }
}
