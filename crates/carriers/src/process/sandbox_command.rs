//! Programs that run in a sandbox: the level that this machine has, and the command that starts the helper.
//!
//! It never starts a program with less than the file asks for. In: a `ListenerProgram` with a sandbox. Out: a command,
//! or why there is none.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use systole_sandbox::{
    PrivateFolder, SandboxLevel, SandboxPolicy, SandboxProbe, SandboxStart, SandboxStartFault,
    find_installed, make_private_folder, probe_sandbox,
};

use systole_core::types::composition::{ListenerProgram, ProgramSandbox};
use systole_system::system;

/// A command that starts a program in its sandbox.
pub(super) struct SandboxedCommand {
    pub(super) command: std::process::Command,
    pub(super) level: SandboxLevel,
    /// The program's own folder, if it has one on disk. It must live as long as the program.
    pub(super) private: Option<PrivateFolder>,
}

/// Why there is no such command.
pub(super) enum NoSandbox {
    /// The program is not there: the usual words apply.
    NoProgram,
    /// In these words.
    Because(String),
}

/// The level of this machine's sandboxes, or why there is none. The best level is tried once; a worse one is tried again
/// at each start, because the reason may have been a passing shortage.
///
/// # Errors
/// Why there is none, in words.
pub fn sandbox_level() -> Result<SandboxLevel, String> {
    static BEST: Mutex<bool> = Mutex::new(false);
    let mut is_best = BEST.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_best {
        return Ok(SandboxLevel::Full);
    }
    let helper =
        system::find_own_program().ok_or_else(|| "the program systole is not beside this one".to_owned())?;
    let found: SandboxProbe = probe_sandbox(&helper);
    *is_best = found.find_level() == Some(SandboxLevel::Full);
    found.find_level().ok_or_else(|| found.why_not().unwrap_or("this kernel has no Landlock").to_owned())
}

/// The level at which a program starts. `None` if it has no sandbox, or there is none.
pub(super) fn level_of(program: &ListenerProgram) -> Option<&'static str> {
    program.sandbox.as_ref().and_then(|_| sandbox_level().ok()).map(SandboxLevel::as_str)
}

/// Why a sandboxed program cannot be started on this machine. `None` if it can, or has no sandbox.
pub(super) fn find_missing(
    program: &ListenerProgram,
    environment: &BTreeMap<OsString, OsString>,
) -> Option<String> {
    let sandbox = program.sandbox.as_ref()?;
    if let Some(words) = find_shim(program, sandbox, environment) {
        return Some(words);
    }
    match sandbox_level() {
        Err(why) => Some(in_words(&why)),
        Ok(SandboxLevel::Landlock) if !sandbox.net.is_empty() => Some(
            "the addresses under sandbox.net need level full, and this machine has level landlock; \
             systole doctor says why"
                .to_owned(),
        ),
        Ok(_) => None,
    }
}

/// Why a program that only chooses another one cannot run in its sandbox: what it chooses is outside. If the sandbox
/// may read folders elsewhere, only a start can tell.
fn find_shim(
    program: &ListenerProgram,
    sandbox: &ProgramSandbox,
    environment: &BTreeMap<OsString, OsString>,
) -> Option<String> {
    let found = find_installed(&program.run, &program.directory, find_search_path(environment))?;
    let is_elsewhere = |path: &PathBuf| !path.starts_with(&program.directory);
    let reads_elsewhere = sandbox.read.iter().chain(&sandbox.write).any(is_elsewhere);
    (found.is_shim() && !reads_elsewhere).then(|| {
        let (name, path) = (program.run.first().map_or("", String::as_str), found.executable.display());
        format!(
            "{name} is {path}, which only chooses another program, and the sandbox cannot read that one; name the real \
             program instead"
        )
    })
}

fn find_search_path(environment: &BTreeMap<OsString, OsString>) -> &OsStr {
    environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default()
}

fn in_words(why: &str) -> String {
    format!("there is no sandbox on this machine: {why}; `sandbox: none` starts the program without one")
}

/// The sandbox as plain data for the helper.
pub(super) fn make_policy(sandbox: &ProgramSandbox) -> SandboxPolicy {
    SandboxPolicy {
        read: sandbox.read.clone(),
        write: sandbox.write.clone(),
        own: None,
        hidden: sandbox.hidden.clone(),
        keep_out: sandbox.keep_out.clone(),
        protect: sandbox.protect.clone(),
        net: sandbox.net.clone(),
        processes: sandbox.processes,
        memory_bytes: sandbox.memory_bytes,
        output_bytes: sandbox.output_bytes,
        opens_below: sandbox.opens_below,
    }
}

/// The command of a program with this path, these arguments, this sandbox and this environment.
pub(super) fn make_command(
    program: &ListenerProgram,
    (path, arguments): (&Path, &[&str]),
    sandbox: &ProgramSandbox,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<SandboxedCommand, NoSandbox> {
    if let Some(words) = find_shim(program, sandbox, environment) {
        return Err(NoSandbox::Because(words));
    }
    let because = |why: String| NoSandbox::Because(in_words(&why));
    let level = sandbox_level().map_err(because)?;
    let helper = system::find_own_program().ok_or_else(|| because("there is no helper".to_owned()))?;
    let private = make_private_folder(level).map_err(|error| because(system::describe_error(&error)))?;
    let mut policy = make_policy(sandbox);
    if !program.adapter.is_empty() && !program.run.is_empty() {
        // This program starts another one in the sandbox.
        let found = find_installed(&program.run, &program.directory, find_search_path(environment))
            .ok_or(NoSandbox::NoProgram)?;
        policy.read.extend(found.read);
    }
    let path = path.to_str().ok_or_else(|| because("the path of the program is not UTF-8".to_owned()))?;
    let run: Vec<String> = [path].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
    let start =
        SandboxStart { helper: &helper, level, policy: &policy, run: &run, folder: &program.directory };
    match start.make_command(environment, private.as_ref()) {
        Ok(command) => Ok(SandboxedCommand { command, level, private }),
        Err(SandboxStartFault::NoProgram) => Err(NoSandbox::NoProgram),
        Err(SandboxStartFault::BadPaths(why)) => Err(NoSandbox::Because(why)),
    }
}
