//! The number of the protocol: what a program has to know before it takes a delivery.
//!
//! A program that another protocol is spoken to answers nothing and ends with exit code 2, because it would answer
//! wrongly. Variables and headers come in; nothing, or words for the person who runs the program, go out.

use std::io::{IsTerminal as _, Write as _};

/// The protocol that this version speaks: the digit at the end of `urn:systole:listener:v1`.
pub const PROTOCOL: &str = "1";
/// The header of a delivery over NATS that names its protocol.
pub const PROTOCOL_HEADER: &str = "Systole-Protocol";

const KIT: &str = concat!("systole-kit ", env!("CARGO_PKG_VERSION"));

/// Whether the pump speaks this protocol. A pump that names none is older than the number, and speaks the first.
///
/// # Errors
/// If it names another one.
pub fn check_protocol(named: Option<&str>) -> Result<(), String> {
    match named {
        None | Some(PROTOCOL) => Ok(()),
        Some(other) => Err(format!(
            "this organism speaks protocol {other}, {KIT} speaks {PROTOCOL}; try: build it with a systole-kit of the organism's version"
        )),
    }
}

/// Says that a document was skipped: a newer pump may say more than this version knows.
pub(crate) fn report_skipped(name: &str) {
    // If stderr is gone, no one can read the message.
    let _gone = writeln!(std::io::stderr(), "skipped {name}, which {KIT} does not know");
}

/// Whether a program on stdin can work as it was started.
pub(crate) fn check_program() -> Result<(), String> {
    check_protocol(std::env::var("SYSTOLE_PROTOCOL").ok().as_deref())?;
    if std::env::var("SYSTOLE_MODE").is_ok_and(|mode| mode == "once") {
        return Err(
            "the organism's file says mode: once, and this program stays; try: leave mode out".to_owned()
        );
    }
    if std::io::stdin().is_terminal() {
        return Err(
            "stdin is a terminal, and deliveries come from an organism; try: systole listener try NAME"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g7_a_pump_of_another_protocol_is_refused_and_an_older_one_is_not() {
        assert_eq!(check_protocol(None), Ok(()));
        assert_eq!(check_protocol(Some("1")), Ok(()));
        let words = check_protocol(Some("2")).unwrap_err();
        assert!(
            words.starts_with("this organism speaks protocol 2, systole-kit 0.1.0 speaks 1; try: "),
            "{words}"
        );
    }
}
