//! Turns what the reader of bytes and the builder of payloads report into a refusal for the sender.

use systole_schema::ValueSlip;
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

/// All slips of the arguments as one refusal: its place is that of the first one.
pub fn refuse_slips(element: &str, slips: Vec<ValueSlip>) -> Refusal {
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let joined = |part: fn(&ValueSlip) -> &str| {
        let parts: Vec<&str> = slips.iter().map(part).filter(|part| !part.is_empty()).collect();
        parts.join("; ")
    };
    let refusal = Refusal::new(Code::Invalid, joined(|slip| &slip.message));
    let mut refusal = refusal.with_expected(joined(|slip| &slip.expected)).fixed_by(joined(|slip| &slip.fix));
    refusal.element = Some(element.to_owned());
    if let Some(first) = slips.into_iter().next() {
        refusal.path = Some(first.path);
        refusal.at = first.place.map(|(line, column)| (number(line), number(column)));
        refusal.received = Some(first.received);
    }
    refusal
}
