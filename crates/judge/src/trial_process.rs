//! The other side of `trial`: a process that caps itself, compiles what it reads from stdin, and dies of it
//! if necessary. It has no other use and starts nothing.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use super::judge::{LibxmlJudge, SchemaSetError, SchemaSource};
use super::trial::TrialLine;

/// Runs the trial that the arguments after `WORD` describe.
pub fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let caps = (next_number(&mut arguments), next_number(&mut arguments));
    let (Some(memory_bytes), Some(processor_s)) = caps else { return ExitCode::from(2) };
    if write_line(&TrialLine::Ready).is_none() || set_cap(memory_bytes, processor_s).is_none() {
        return ExitCode::from(2);
    }
    if let Some(fault) = arguments.next().filter(|_| cfg!(debug_assertions)) {
        fail_as(&fault);
    }
    let mut input = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut input).is_ok();
    let Some(sources) = read_sources(&input).filter(|_| read) else { return ExitCode::from(2) };
    drop(input);
    let compiled = LibxmlJudge::compile_each(&sources, |at| {
        // The parent looks at the last line. If nothing can be written, nothing is lost.
        let _said = write_line(&TrialLine::Begun(at));
    });
    let last = match compiled {
        Ok(_) => TrialLine::Compiled,
        Err(SchemaSetError::Uncompiled { line, words, .. }) => TrialLine::Refused { line, words },
        Err(SchemaSetError::Unfit { .. }) => TrialLine::Unfit,
    };
    let said = write_line(&last);
    if said.is_some() { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

pub(super) fn next_number(arguments: &mut impl Iterator<Item = String>) -> Option<u64> {
    arguments.next()?.parse().ok()
}

/// The system ends a process at the limit of processor time, and refuses memory beyond the memory limit.
pub(super) fn set_cap(memory_bytes: u64, processor_s: u64) -> Option<()> {
    // A limit that is already lower, such as that of a service, stays, because it cannot be raised.
    let lowest = |of: Resource, most: u64| getrlimit(of).maximum.map_or(most, |known| known.min(most));
    let hard = |of: Resource, most: u64| {
        let most = Some(lowest(of, most));
        setrlimit(of, Rlimit { current: most, maximum: most }).ok()
    };
    // The soft limit comes a second earlier: its signal shows the cause; the hard limit only kills.
    let last = lowest(Resource::Cpu, processor_s.saturating_add(1));
    let processor = Rlimit { current: Some(processor_s.min(last)), maximum: Some(last) };
    // If the parent is gone, this process has nothing left to do.
    set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
    hard(Resource::As, memory_bytes)?;
    setrlimit(Resource::Cpu, processor).ok()?;
    hard(Resource::Core, 0)?;
    hard(Resource::Fsize, crate::limits::TRIAL_BYTES)
}

fn write_line(line: &TrialLine) -> Option<()> {
    let mut text = serde_json::to_vec(line).ok()?;
    text.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&text).ok()?;
    stdout.flush().ok()
}

fn read_sources(mut rest: &[u8]) -> Option<Vec<SchemaSource>> {
    let mut sources = Vec::new();
    while !rest.is_empty() {
        let name = String::from_utf8(take_field(&mut rest)?.to_vec()).ok()?;
        sources.push(SchemaSource { name, xsd: take_field(&mut rest)?.to_vec() });
    }
    Some(sources)
}

/// Takes a field that has its length before it.
pub(super) fn take_field<'s>(rest: &mut &'s [u8]) -> Option<&'s [u8]> {
    let colon = rest.iter().position(|byte| *byte == b':')?;
    let (digits, after) = rest.split_at_checked(colon)?;
    let length: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let (field, after) = after.get(1..)?.split_at_checked(length)?;
    *rest = after;
    Some(field)
}

/// Really fails, so that a test sees the caps end it: `hang` waits forever without using the processor,
/// `spin` uses the processor, `eat` takes memory as long as there is any.
fn fail_as(fault: &str) {
    // As in the real work, the parent knows which schema was begun.
    let _said = write_line(&TrialLine::Begun(0));
    match fault {
        "hang" => loop {
            std::thread::park();
        },
        "spin" => loop {
            std::hint::spin_loop();
        },
        "eat" => {
            let mut eaten: Vec<Vec<u8>> = Vec::new();
            loop {
                eaten.push(vec![1; 1 << 20]);
            }
        }
        _ => {}
    }
}
