//! The installation of a server: the runner that its programs get, and what became of it.
//!
//! In: a server of the organism's file and its pin. Out: the installed packages, the program that starts the server, or
//! a report. Each program of an installation runs to its end, in a sandbox of its own that may write the new folder alone.

use std::path::Path;

use systole_mcp::installing::{
    InstallFault, InstallRunner, InstallStep, InstalledPackages, PackageChoice, ServerToInstall,
};
use systole_mcp::package::InstallRequest;
use systole_mcp::schema::PinFile;

use crate::cli::exit::CommandExit;
use crate::cli::screen::Screen;
use crate::limits;
use systole_carriers::{InheritedVariables, output_of, sandbox_level};
use systole_config::{McpServer, install_folder};
use systole_core::types::composition::{ListenerProgram, ProgramSandbox};
use systole_core::types::ids::Name;
use systole_system::system::{self, describe_error};

/// The fix if there is no sandbox.
const WITHOUT: &str = "set sandbox: none for this listener, which then installs and runs without one";

/// Runs the programs that install one server.
struct SandboxRunner<'r> {
    organism: &'r Name,
    server: &'r McpServer,
    around: &'r InheritedVariables,
}

impl InstallRunner for SandboxRunner<'_> {
    fn check_sandbox(&self) -> Result<(), InstallFault> {
        if self.server.program.sandbox.is_none() {
            return Ok(());
        }
        match sandbox_level() {
            Err(why) => {
                let words = format!("there is no sandbox on this machine: {why}");
                Err(InstallFault::new_unavailable(words, WITHOUT))
            }
            Ok(level) if level.as_str() != "full" => {
                let words = "the sandboxes of this machine have the level landlock, which cannot limit an installation \
                             to the registry; systole doctor says why";
                Err(InstallFault::new_unavailable(words, WITHOUT))
            }
            Ok(_full) => Ok(()),
        }
    }

    fn ask_program(&self, folder: &Path, step: InstallStep) -> Result<Vec<u8>, String> {
        self.run_step(folder, step, None)
    }

    fn run_sandboxed(&self, folder: &Path, step: InstallStep) -> Result<Vec<u8>, String> {
        let sandbox = self.server.program.sandbox.as_ref().map(|of_server| {
            Box::new(ProgramSandbox {
                read: step.read.iter().filter(|path| path.exists()).cloned().collect(),
                write: vec![folder.to_owned()],
                keep_out: of_server.keep_out.clone(),
                protect: of_server.protect.clone(),
                net: step.net.iter().cloned().collect(),
                processes: limits::INSTALL_PROCESSES,
                memory_bytes: limits::INSTALL_MEMORY_BYTES,
                ..ProgramSandbox::default()
            })
        });
        self.run_step(folder, step, sandbox)
    }
}

impl SandboxRunner<'_> {
    fn run_step(
        &self,
        folder: &Path,
        step: InstallStep,
        sandbox: Option<Box<ProgramSandbox>>,
    ) -> Result<Vec<u8>, String> {
        let program = ListenerProgram {
            run: step.run,
            adapter: Vec::new(),
            directory: folder.to_owned(),
            env: step.env,
            pass: step.pass,
            stays: true,
            by_length: false,
            sandbox,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| describe_error(&error))?;
        let names = (self.organism, &self.server.name);
        runtime.block_on(output_of(&program, names, self.around, limits::INSTALL_STEP))
    }
}

/// Sees to it that the packages of a server are on this machine, and says what it does.
pub(super) fn install_packages(
    (organism, server): (&Name, &McpServer),
    (request, choice): (&InstallRequest, PackageChoice),
    directory: &Path,
    pin: Option<&PinFile>,
    screen: Screen,
) -> Result<InstalledPackages, InstallFault> {
    let around: InheritedVariables = std::env::vars_os().collect();
    let runner = SandboxRunner { organism, server, around: &around };
    let (name, report) = (server.name.as_str(), |words: String| screen.say(words));
    let task =
        ServerToInstall { name, request, directory, pin, around: &around, runner: &runner, report: &report };
    task.prepare(choice)
}

/// How a server is started: from its new folder as long as that has not taken its place.
pub(super) fn find_program(
    server: &McpServer,
    installed: Option<&InstalledPackages>,
    directory: &Path,
) -> ListenerProgram {
    let mut program = server.program.clone();
    let new = installed.and_then(|installed| installed.new.as_ref());
    if let (Some(new), Some(request)) = (new, &server.installs) {
        program.run = request.build_command(&new.name);
        let place = directory.join(install_folder(server.name.as_str()));
        for read in program.sandbox.iter_mut().flat_map(|sandbox| &mut sandbox.read) {
            if *read == place {
                *read = directory.join(&new.name);
            }
        }
    }
    program
}

/// Reports why a server was not installed.
pub(super) fn report_fault(screen: Screen, server: &str, fault: InstallFault) -> CommandExit {
    let (exit, words, fix) = match fault {
        InstallFault::Unavailable { words, fix } => (CommandExit::Unavailable, words, fix),
        InstallFault::Unusable { words, fix } => (CommandExit::Failed, words, fix),
        InstallFault::Unread { path, error, fix } => {
            (CommandExit::Failed, format!("{}: {}", path.display(), describe_error(&error)), fix)
        }
        InstallFault::Unwritten { path, error } => {
            let fault = system::report_unwritten(&path, "the installation", &error);
            (CommandExit::Unavailable, fault.words, fault.fix.to_owned())
        }
    };
    screen.fail_with(exit, format!("listeners.{server}.mcp: {words}"), fix.replace("NAME", server))
}
