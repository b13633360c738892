//! Commands of the real program about an organism that they reach by its address: from a folder with nothing in it,
//! with the token of a client.

mod choices;
mod follow;
mod hostile;
mod look;
mod orders;
mod refusals;
pub(crate) mod tls;

use std::path::Path;

use crate::program::{Ran, run_file, systole, systole_with};
use crate::reading::ReadStage;

/// An organism, and a folder elsewhere.
struct FarStage {
    stage: ReadStage,
    away: tempfile::TempDir,
}

impl FarStage {
    fn start() -> FarStage {
        FarStage { stage: ReadStage::start(), away: tempfile::tempdir().unwrap() }
    }

    fn url(&self) -> String {
        format!("http://{}", run_file(self.stage.path()).address)
    }

    /// A command from elsewhere.
    fn far(&self, token: &str, arguments: &[&str]) -> Ran {
        from(self.away.path(), &self.url(), token, arguments)
    }

    /// The same beside the log.
    fn near(&self, arguments: &[&str]) -> Ran {
        systole(self.stage.path(), arguments)
    }
}

/// A command about the organism at an address.
fn from(folder: &Path, url: &str, token: &str, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &[("SYSTOLE_URL", url), ("SYSTOLE_TOKEN", token)])
}

/// Exit and stderr of a command that failed and printed no data.
fn failed(ran: &Ran) -> (Option<i32>, &str) {
    assert_eq!(ran.stdout, "", "{ran:?}");
    (ran.code, &ran.stderr)
}
