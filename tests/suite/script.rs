//! The shell script that most tests of programs run, and the reports of its answers.

use crate::stage::{Cast, shell};

/// A shell script: reads a line, takes the delivery from it, and runs CASE with it.
pub(crate) const LOOP: &str = r#"
say() { printf '<%s xmlns="urn:systole:listener:v1" delivery="%s">%s</%s>\n' "$1" "$2" "$3" "$1"; }
answer() { say reply "$1" '<pong xmlns="urn:t"/>'; }
while IFS= read -r line; do
  d=${line#*delivery=\"}; d=${d%%\"*}
  CASE
done
"#;

/// A shell script that does this for every line, with the delivery in `$d`.
pub(crate) fn each(case: &str) -> Cast {
    shell(&LOOP.replace("CASE", case))
}

/// The report of a document with that inside.
pub(crate) fn said(what: &str, delivery: &str, inside: &str) -> String {
    let start = format!("said <{what} xmlns=\"urn:systole:listener:v1\" delivery=\"{delivery}\">");
    format!("{start}{inside}</{what}>")
}

/// The report of the loop's answer.
pub(crate) fn pong(delivery: &str) -> String {
    said("reply", delivery, "<pong xmlns=\"urn:t\"/>")
}
