//! Whether a program only chooses another one, as the `python3` of pyenv does. Such a program cannot run in a sandbox: what
//! it chooses is in a folder that the sandbox cannot read.
//!
//! It looks at names and at the text of a script, and starts nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::limits;

/// Programs that only choose another one, by a name under which they are started.
const CHOOSERS: [&str; 5] = ["asdf", "mise", "proto-shim", "rustup", "volta-shim"];
/// Managers of versions that keep programs which only choose another one in a folder `shims`.
const MANAGERS: [&str; 12] = [
    "asdf", "goenv", "jenv", "luaenv", "mise", "nodenv", "phpenv", "plenv", "proto", "pyenv", "rbenv", "rtx",
];
/// The name of that folder. It is in the folder of the manager.
const SHIMS: &str = "shims";

/// Whether a program seems to be only a chooser of another program.
pub(crate) fn is_shim(executable: &Path) -> bool {
    is_chooser(executable) || is_among_shims(executable) || has_chooser(executable)
}

fn is_chooser(executable: &Path) -> bool {
    let Some(folder) = executable.parent() else { return false };
    let own = executable.canonicalize().ok();
    CHOOSERS.iter().any(|name| {
        let is_named = own.as_deref().and_then(Path::file_name) == Some(OsStr::new(name));
        is_named || is_same_file(&folder.join(name), executable)
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let number = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
    number(one).is_some_and(|one| number(other) == Some(one))
}

/// Whether a program is in a manager's folder for such programs, for example `~/.pyenv/shims`.
fn is_among_shims(executable: &Path) -> bool {
    let name = |folder: Option<&Path>| folder?.file_name()?.to_str().map(str::to_owned);
    let folder = executable.parent();
    let manager = name(folder.and_then(Path::parent)).unwrap_or_default();
    name(folder).as_deref() == Some(SHIMS) && MANAGERS.contains(&manager.trim_start_matches('.'))
}

/// Whether a file is a script that becomes a manager, for example with `exec "/opt/pyenv/libexec/pyenv" exec "$program"`.
fn has_chooser(path: &Path) -> bool {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(limits::SCRIPT_BYTES).read_to_string(&mut text));
    let becomes_manager = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let is_exec = |word: Option<&str>| word == Some("exec");
        let runs = is_exec(words.next()).then(|| words.next()).flatten().unwrap_or_default();
        let program = Path::new(runs.trim_matches('"')).file_name().and_then(OsStr::to_str);
        program.is_some_and(|program| MANAGERS.contains(&program)) && is_exec(words.next())
    };
    read.is_ok() && text.starts_with("#!") && text.lines().any(becomes_manager)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_only_chooses_another_one_is_known() {
        let place = tempfile::tempdir().unwrap();
        let of = |path: &str| place.path().join(path);
        for folder in [".pyenv/shims", "bin", "cargo/bin", "other", "shims"] {
            std::fs::create_dir_all(of(folder)).unwrap();
        }
        for file in [".pyenv/shims/python3", "bin/mise", "cargo/bin/rustup", "other/tool", "shims/tool"] {
            std::fs::copy("/bin/sh", of(file)).unwrap();
        }
        std::os::unix::fs::symlink(of("bin/mise"), of("other/node")).unwrap();
        std::fs::hard_link(of("cargo/bin/rustup"), of("cargo/bin/cargo")).unwrap();
        let is_shim = |path: &str| is_shim(&of(path));
        assert!(is_shim(".pyenv/shims/python3") && is_shim("other/node") && is_shim("cargo/bin/cargo"));
        assert!(!is_shim("other/tool") && !is_shim("shims/tool"));
    }

    #[test]
    fn a_script_that_becomes_a_chooser_is_known_wherever_the_chooser_is() {
        let place = tempfile::tempdir().unwrap();
        let is_shim = |text: &str| {
            let script = place.path().join("script");
            std::fs::write(&script, text).unwrap();
            is_shim(&script)
        };
        let pyenv =
            "#!/usr/bin/env bash\nset -e\nexec \"/opt/python/libexec/pyenv\" exec \"$program\" \"$@\"\n";
        assert!(is_shim(pyenv));
        assert!(is_shim(
            "#!/usr/bin/env bash\n# asdf-plugin: nodejs 22.1.0\nexec asdf exec \"node\" \"$@\"\n"
        ));
        for other in [
            "#!/bin/sh\nexec /bin/sh \"$@\"\n",
            "#!/bin/sh\n# as in: exec pyenv exec python3\nexec pyenv --version\n",
            "exec pyenv exec python3\n",
        ] {
            assert!(!is_shim(other), "{other}");
        }
    }
}
