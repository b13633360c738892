//! Which payloads an XPath expression holds for. Another process evaluates it, with caps on memory, processor time and
//! wall-clock time: an expression can take longer than the age of the world, and payloads of a log come from anywhere.

use std::io::{Read as _, Seek as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::trial::{TrialLimits, TrialOutcome, find_outcome, make_memory, wait_for_end, write_fields};
use systole_system::system;

/// The argument that makes the program evaluate expressions. No help page lists it.
pub const WORD: &str = "-evaluate-xpath";

/// What the other process may use for one batch of payloads.
const LIMITS: TrialLimits = TrialLimits { memory_bytes: 512 << 20, processor_s: 5, wall_ms: 20_000 };

/// Why payloads were not judged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum XpathFault {
    /// The expression is wrong, in libxml2's words.
    Wrong(String),
    /// The expression took too much for the payload at this place of the batch.
    Costly(usize, TrialOutcome),
    /// The other process could not be used.
    Machine(String),
}

/// An XPath 1.0 expression. Names in it have no prefix: namespaces are removed from the payloads.
#[derive(Clone, Debug)]
pub struct XpathFilter {
    program: PathBuf,
    expression: String,
}

impl XpathFilter {
    /// A filter. It is an error if the expression is wrong.
    pub fn new(expression: &str) -> Result<XpathFilter, XpathFault> {
        let program = system::find_own_program();
        let program =
            program.ok_or_else(|| XpathFault::Machine("the program systole was not found".to_owned()))?;
        let filter = XpathFilter { program, expression: expression.to_owned() };
        match filter.filter_payloads(&[]) {
            // There was no payload yet that could have been at fault.
            Err(XpathFault::Costly(..)) => Err(XpathFault::Wrong("it is too long or too deep".to_owned())),
            tried => tried.map(|_| filter),
        }
    }

    /// For each payload, whether the expression is true or finds a node. It is false for bytes that are no payload.
    pub fn filter_payloads(&self, payloads: &[&[u8]]) -> Result<Vec<bool>, XpathFault> {
        let failed = |error: std::io::Error| XpathFault::Machine(system::describe_error(&error));
        let input = write_fields([self.expression.as_bytes()].into_iter().chain(payloads.iter().copied()));
        let (input, mut output) = (make_memory(&input).map_err(failed)?, make_memory(&[]).map_err(failed)?);
        let mut child = Command::new(&self.program)
            .arg(WORD)
            .args([LIMITS.memory_bytes, LIMITS.processor_s].map(|cap| cap.to_string()))
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone().map_err(failed)?))
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let waited = || XpathFault::Machine("the wait for another process failed".to_owned());
        let (status, in_time) = wait_for_end(&mut child, LIMITS.wall_ms).ok_or_else(waited)?;
        let mut said = String::new();
        output.rewind().and_then(|()| output.read_to_string(&mut said)).map_err(failed)?;
        let mut held = Vec::with_capacity(payloads.len());
        for line in said.lines() {
            match line.split_at_checked(1) {
                Some(("t", "")) => held.push(true),
                Some(("f", "")) => held.push(false),
                Some(("?", words)) => return Err(XpathFault::Wrong(words.to_owned())),
                _ => {}
            }
        }
        if held.len() == payloads.len() && status.success() {
            return Ok(held);
        }
        Err(XpathFault::Costly(held.len(), find_outcome(status, in_time)))
    }
}
