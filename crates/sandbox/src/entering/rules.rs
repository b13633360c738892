//! Landlock: which files this process and all that it starts may open, and whom it may signal.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, RestrictSelf,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::places::BoundPlace;
use super::{EntryOrder, explain_failure};
use crate::policy::{DEVICES, PROC, SandboxLevel};

/// The newest version whose rights we ask for. An older kernel leaves out those it does not know.
const NEWEST: ABI = ABI::V7;

/// The version of Landlock that this kernel has. `None` if it has none.
pub(crate) fn read_landlock_abi() -> Option<i32> {
    // Without a flag this only asks for the version.
    let status = RestrictSelf::default().no_new_privs(false).apply().ok()?;
    read_abi(&status.landlock)
}

fn read_abi(status: &LandlockStatus) -> Option<i32> {
    match status {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            Some(kernel_abi.unwrap_or(*effective_abi as i32))
        }
        _ => None,
    }
}

/// Restricts this process for good. Returns the version of Landlock.
pub(super) fn limit_files(
    order: &EntryOrder,
    port: Option<u16>,
    places: &[BoundPlace],
) -> Result<i32, String> {
    let told = |error: landlock::RulesetError| format!("cannot make the rules of Landlock: {error}");
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .map_err(told)?;
    for place in places {
        let rights = match place {
            BoundPlace { is_writable: true, .. } => AccessFs::from_all(NEWEST),
            BoundPlace { is_listed: true, .. } => AccessFs::ReadDir.into(),
            _ => AccessFs::from_read(NEWEST),
        };
        rules = add_rule(rules, &place.file, rights, place.is_folder)?;
    }
    for device in DEVICES {
        let rights = AccessFs::ReadFile | AccessFs::WriteFile;
        rules = with_path(rules, Path::new(device), rights)?;
    }
    let system: Vec<PathBuf> = match order.level {
        // It is this sandbox's own.
        SandboxLevel::Full => vec!["/proc".into()],
        SandboxLevel::Landlock => PROC.iter().map(PathBuf::from).collect(),
    };
    for path in system {
        rules = with_path(rules, &path, AccessFs::ReadFile | AccessFs::ReadDir)?;
    }
    if let Some(port) = port {
        // Where the kernel knows no such rule, the namespace alone keeps the program from the network.
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(told)?;
    }
    rules = with_path(rules, &order.private, AccessFs::from_all(NEWEST))?;
    let status = rules.restrict_self().map_err(told)?;
    match read_abi(&status.landlock) {
        Some(abi) if status.ruleset != RulesetStatus::NotEnforced && status.no_new_privs => Ok(abi),
        _ => Err("this kernel has no Landlock".to_owned()),
    }
}

fn with_path(
    rules: RulesetCreated,
    path: &Path,
    rights: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, String> {
    let opened = File::options().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(path);
    match opened {
        Ok(file) => {
            let is_folder = file.metadata().is_ok_and(|found| found.is_dir());
            add_rule(rules, &OwnedFd::from(file), rights.into(), is_folder)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(rules),
        Err(error) => Err(explain_failure(&format!("open {}", path.display()), error)),
    }
}

fn add_rule(
    rules: RulesetCreated,
    file: &impl AsFd,
    rights: BitFlags<AccessFs>,
    is_folder: bool,
) -> Result<RulesetCreated, String> {
    // A file takes no right that only a folder has.
    let rights = if is_folder { rights } else { rights & AccessFs::from_file(NEWEST) };
    rules
        .add_rule(PathBeneath::new(file, rights))
        .map_err(|error| format!("cannot add a rule of Landlock: {error}"))
}
