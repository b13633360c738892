//! Starts programs in a sandbox, and says what the sandbox keeps out on this kernel.
//!
//! ```no_run
//! use std::path::Path;
//! use systole_sandbox::{SandboxPolicy, SandboxStart, make_private_folder, probe_sandbox};
//!
//! let helper = Path::new("/usr/bin/systole");
//! let level = probe_sandbox(helper).find_level().expect("no Landlock on this kernel");
//! let policy = SandboxPolicy { write: vec!["/srv/out".into()], ..SandboxPolicy::default() };
//! let run = ["python3".to_owned(), "tool.py".to_owned()];
//! let private = make_private_folder(level).expect("no room for a private folder");
//! let environment = [("PATH".into(), "/usr/bin".into())].into();
//! let start = SandboxStart { helper, level, policy: &policy, run: &run, folder: Path::new("/srv") };
//! let command = start.make_command(&environment, private.as_ref()).expect("the program is not there");
//! # drop(command);
//! ```
//!
//! The program `systole` is the helper: its first argument is `WORD`, and its `main` calls [`enter_sandbox`] before any
//! thread exists. The helper restricts itself and then becomes or starts the program. It never starts anything that
//! was not named to it, and it starts nothing if it cannot restrict itself.
//!
//! In reading order: [`policy`](SandboxPolicy) is the data, `start` makes the command, `entering` is the other side of
//! it, `probe` tries what the kernel refuses.

mod entering;
mod installation;
mod limits;
mod policy;
mod private;
mod probe;
mod shim;
mod start;

pub use entering::{WORD, enter_sandbox};
pub use installation::{InstalledProgram, find_installed};
pub use policy::{SandboxLevel, SandboxPolicy};
pub use private::{PrivateFolder, make_private_folder};
pub use probe::{ProbeAttempt, SandboxProbe, probe_sandbox, try_everything};
pub use start::{SandboxStart, SandboxStartFault};
