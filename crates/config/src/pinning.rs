//! The MCP servers of a file whose pins may not be there yet, so that the file is not whole.
//!
//! Input: the path of the file. Output: how the organism would start each server. Nothing is started here.

use std::path::Path;

use systole_mcp::package::InstallRequest;

use super::diagnostic::FileMistakes;
use super::diagnostics::{Diagnostics, Given};
use super::keys;
use super::party::Party;
use super::{file_sections, folder, organism_parts, programs, sandbox_paths, yaml};
use systole_core::types::composition::{ListenerProgram, Reach};
use systole_core::types::ids::Name;

/// A listener in front of a server, as far as a pin needs it.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// Its name.
    pub name: Name,
    /// The program of the server, as the organism would start it.
    pub program: ListenerProgram,
    /// The command line or the address of the file.
    pub command: Vec<String>,
    /// What must be installed before it can start.
    pub installs: Option<InstallRequest>,
}

/// The servers of a file that may name pins which are not there yet, and the organism's name.
pub fn mcp_servers(path: &Path) -> Result<(Name, Vec<McpServer>), FileMistakes> {
    let text = folder::organism_text(path)?;
    let file = path.display().to_string();
    let mut diagnostics = Diagnostics::new(&file, &text, &[], Given::These(Vec::new()), keys::is_required);
    let stretch = diagnostics.file();
    let root = yaml::read(&mut diagnostics, stretch);
    if root.is_none() && diagnostics.is_clean() {
        return Err(super::empty(&file));
    }
    let declared = root.and_then(|root| file_sections::read(&mut diagnostics, &root));
    let (Some(declared), true) = (declared, diagnostics.is_clean()) else {
        return Err(diagnostics.into_mistakes());
    };
    let directory = path.parent().unwrap_or(Path::new("")).join(".");
    let directory = std::path::absolute(&directory).unwrap_or(directory);
    let place = organism_parts::OrganismPlace { file: path, directory: &directory, schemas: &[] };
    let (outside, _warnings_of_check) = sandbox_paths::check(&mut diagnostics, &declared, place);
    let (Some(organism), true) = (declared.name().cloned(), diagnostics.is_clean()) else {
        return Err(diagnostics.into_mistakes());
    };
    let server = |party: &Party| {
        let server = party.built_in.as_ref()?.part.server.as_ref()?;
        let (command, installs) = (server.command.clone(), server.installs.clone());
        let Reach::Process(mut program) = programs::reach(party, &directory, declared.log()) else {
            return None;
        };
        if let Some(sandbox) = &mut program.sandbox {
            outside.keep_from(sandbox);
        }
        Some(McpServer { name: party.name.clone()?, program, command, installs })
    };
    Ok((organism, declared.parties.iter().filter_map(server).collect()))
}
