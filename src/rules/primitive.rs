//! Reads the primitives: the door has a payload of the core read here once the core's schema has found
//! it valid, and the fold reads the recorded bytes again. What a schema cannot say is refused here. It
//! knows no thread and no call: whether a named thread is the sender's own is decided by the pump.
//! Bytes go in; a `Primitive`, or what is wrong with it, comes out.

use systole_kit::Limits;
use systole_kit::gate::{Gate, Step};

use crate::rules::admit::refusal_of;
use crate::words::codes::Code;
use crate::words::ids::ThreadId;
use crate::words::primitive::{Await, Mode};
use crate::words::refusal::Refusal;

/// What an `<await-threads>` says.
pub fn read_await(body: &[u8]) -> Result<Await, Refusal> {
    let mut mode = None;
    let mut threads = Vec::new();
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    loop {
        match gate.step().map_err(|fault| refusal_of(&fault))? {
            Step::Open(_) if mode.is_none() => {
                let written = gate.attribute("mode").unwrap_or_default();
                mode = Some(read_mode(&written)?);
            }
            Step::Open(_) => {
                let written = gate.attribute("id").unwrap_or_default();
                let id = ThreadId::parse(&written)
                    .map_err(|words| Refusal::new(Code::Invalid, words.to_string()))?;
                if !threads.contains(&id) {
                    threads.push(id);
                }
            }
            Step::Done => break,
            _ => {}
        }
    }
    Ok(Await { mode: mode.unwrap_or(Mode::All), threads })
}

fn read_mode(written: &str) -> Result<Mode, Refusal> {
    match written {
        "all" => Ok(Mode::All),
        "any" => Ok(Mode::Any),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(Mode::Count(count)),
            _ => Err(Refusal::new(Code::Invalid, "mode: a wait for no thread is none")
                .expecting("all, any, or a whole number from 1")
                .receiving(number)),
        },
    }
}
