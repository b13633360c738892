//! Turns what the reader of bytes reports into a refusal for the sender.

use systole_wire::Fault;

use crate::types::codes::Code;
use crate::types::refusal::Refusal;

/// Turns the kit's fault into a refusal.
pub fn refusal_of(fault: &Fault) -> Refusal {
    let code = Code::parse(fault.code).unwrap_or(Code::Malformed);
    let mut refusal = Refusal::new(code, fault.message.to_string());
    refusal.at = Some((fault.place.line, fault.place.column));
    refusal.path = fault.path.as_deref().map(str::to_owned);
    refusal.expected = fault.expected.as_deref().map(str::to_owned);
    refusal.received = fault.received.as_deref().map(str::to_owned);
    refusal.fix = fault.fix.as_deref().map(str::to_owned).or(refusal.fix);
    refusal
}
