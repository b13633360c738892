//! The limits of the processes in a sandbox: memory, files and their size, no core dumps.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::explain_failure;
use crate::limits;
use crate::policy::SandboxPolicy;

/// Sets the limits for this process and all that it starts.
pub(super) fn set_limits(policy: &SandboxPolicy) -> Result<(), String> {
    // A program that asks for too much by itself gets an error, and is not ended. Not the address space: Node and Java
    // reserve far more than they use.
    set_limit(Resource::Data, policy.memory_bytes)?;
    set_limit(Resource::Fsize, policy.output_bytes)?;
    set_limit(Resource::Nofile, limits::OPEN_FILES)?;
    set_limit(Resource::Core, 0)
}

fn set_limit(resource: Resource, most: u64) -> Result<(), String> {
    // A limit that is already lower stays.
    let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| explain_failure("limit what the program may use", error))
}
