//! The other side of `xpath_filter`: a process that caps itself, reads an expression and payloads from stdin, and says
//! for each payload whether the expression holds. It has no other use and starts nothing.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use super::trial_process::{next_number, set_cap, take_field};
use super::xpath;

/// Evaluates what the arguments after `WORD` and stdin describe.
pub fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let caps = (next_number(&mut arguments), next_number(&mut arguments));
    let (Some(memory_bytes), Some(processor_s)) = caps else { return ExitCode::from(2) };
    let mut input = Vec::new();
    if set_cap(memory_bytes, processor_s).is_none()
        || std::io::stdin().lock().read_to_end(&mut input).is_err()
    {
        return ExitCode::from(2);
    }
    match filter_payloads(&input) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::from(2),
    }
}

fn filter_payloads(mut rest: &[u8]) -> Option<()> {
    let expression = std::str::from_utf8(take_field(&mut rest)?).ok()?;
    if let Some(words) = xpath::find_mistake(expression) {
        return write_line(&format!("?{}", words.replace('\n', " ")));
    }
    // Some errors are only found by evaluating, as a function that does not exist.
    if let Err(words) = xpath::is_true("<none/>", expression) {
        return write_line(&format!("?{}", words.replace('\n', " ")));
    }
    while !rest.is_empty() {
        let payload = std::str::from_utf8(take_field(&mut rest)?).ok();
        let holds = payload.is_some_and(|payload| xpath::is_true(payload, expression).unwrap_or(false));
        write_line(if holds { "t" } else { "f" })?;
    }
    Some(())
}

/// Writes a line at once: if the process dies of a payload, the lines show of which one.
fn write_line(line: &str) -> Option<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).ok()?;
    stdout.write_all(b"\n").ok()?;
    stdout.flush().ok()
}
