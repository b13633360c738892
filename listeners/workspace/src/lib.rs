//! A listener that changes files below one folder and runs commands there.
//!
//! A request is first worked out against the files: into an order that says each line and each command. The workspace
//! sends the order to itself, so the pump records it and holds it for a person if it is dangerous. Only an order from
//! the workspace itself is carried out, and only if every file is still as the order says.
//!
//! `text` knows lines and opens no file. `request` reads every spelling of an element. `resolve` works out edits and
//! writes nothing. `disk` writes files, all or none. `command` runs commands. The workspace stands above them.

mod applying;
mod command;
mod disk;
mod fault;
mod hash;
mod limits;
mod order;
mod outcome;
mod program;
mod request;
mod resolve;
mod resolving;
mod spec;
mod text;
mod turn_gate;
mod workspace;

pub use command::pattern::{ShellPatternFault, check_shell_pattern};
pub use program::serve;
pub use spec::{CommandOrder, CommandStart, OpenFault, PreparedCommand, WorkspaceSpec};
pub use systole_folder::{DenyFault, check_pattern};
pub use workspace::Workspace;

/// The vocabulary of change sets and their results.
pub const WORKSPACE_XSD: &[u8] = include_bytes!("../../../schemas/workspace.xsd");
/// The vocabulary of commands.
pub const COMMANDS_XSD: &[u8] = include_bytes!("../../../schemas/commands.xsd");
/// The vocabulary of proposals.
pub const PROPOSALS_XSD: &[u8] = include_bytes!("../../../schemas/proposals.xsd");
