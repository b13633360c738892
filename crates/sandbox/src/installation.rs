//! Which files a program needs to run: its executable, the libraries beside it, and the files that its command line
//! names.
//!
//! It only looks. In: a command line, the folder it runs in, and the `PATH` it is looked up in. Out: paths.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::shim::is_shim;

/// Where a program is, and what it needs beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstalledProgram {
    /// The executable, as it was found: not resolved.
    pub executable: PathBuf,
    /// Files and folders that it must be able to read, the executable included.
    pub read: Vec<PathBuf>,
    /// Whether the command line names a file of the folder it runs in.
    is_own: bool,
}

impl InstalledProgram {
    /// Whether it seems to be only a chooser of another program, which is in a folder of its own.
    pub fn is_shim(&self) -> bool {
        !self.is_own && is_shim(&self.executable)
    }
}

/// Finds a program. `None` if there is none that this user may run.
pub fn find_installed(run: &[String], folder: &Path, search: &OsStr) -> Option<InstalledProgram> {
    let (name, arguments) = run.split_first()?;
    let may_run =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let executable = if name.contains('/') {
        Some(folder.join(name)).filter(may_run)
    } else {
        std::env::split_paths(search).map(|place| folder.join(place).join(name)).find(may_run)
    }?;
    let mut read = vec![executable.clone()];
    // A program that is reached by a link has its libraries at the link (a virtual environment) or at its target.
    let resolved = executable.canonicalize().ok();
    for one in std::iter::once(&executable).chain(&resolved) {
        read.extend(list_beside(one));
    }
    read.extend(resolved);
    let named = arguments.iter().map(|argument| folder.join(argument)).filter(|path| path.is_file());
    read.extend(named.flat_map(|path| list_packages(&path).into_iter().chain([path])));
    let is_own = name.contains('/') && is_in(&executable, folder);
    Some(InstalledProgram { executable, read, is_own })
}

/// Whether a file is really in a folder: a link to a file elsewhere is not.
fn is_in(file: &Path, folder: &Path) -> bool {
    let folder = folder.canonicalize();
    file.canonicalize().is_ok_and(|file| folder.is_ok_and(|folder| file.starts_with(folder)))
}

/// What belongs to an executable in a folder `bin`: the folders beside it, but not the whole prefix, which may be a
/// person's home.
fn list_beside(executable: &Path) -> Vec<PathBuf> {
    let Some(bin) = executable.parent().filter(|folder| folder.file_name() == Some(OsStr::new("bin"))) else {
        return Vec::new();
    };
    let Some(prefix) = bin.parent() else { return Vec::new() };
    let names = ["bin", "lib", "lib64", "libexec", "pyvenv.cfg"];
    names.iter().map(|name| prefix.join(name)).filter(|path| path.exists()).collect()
}

/// The packages that a script of an npm package may load: those installed with it, and the file that names them.
fn list_packages(script: &Path) -> Vec<PathBuf> {
    let is_packages = |folder: &&Path| folder.file_name() == Some(OsStr::new("node_modules"));
    let Some(packages) = script.ancestors().filter(is_packages).last() else { return Vec::new() };
    let manifest = packages.with_file_name("package.json");
    let manifest = Some(manifest).filter(|path| path.is_file());
    [packages.to_owned()].into_iter().chain(manifest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_a_package_comes_with_the_packages_installed_with_it() {
        let place = tempfile::tempdir().unwrap();
        let of = |path: &str| place.path().join(path);
        std::fs::create_dir_all(of("node_modules/a/node_modules/b/dist")).unwrap();
        for file in ["node_modules/a/node_modules/b/dist/index.js", "package.json", "plain.js"] {
            std::fs::write(of(file), "").unwrap();
        }
        let run = ["sh", "node_modules/a/node_modules/b/dist/index.js"].map(str::to_owned);
        let found = find_installed(&run, place.path(), OsStr::new("/bin")).unwrap();
        assert!(
            found.read.contains(&of("node_modules")) && found.read.contains(&of("package.json")),
            "{found:?}"
        );
        let found =
            find_installed(&["sh", "plain.js"].map(str::to_owned), place.path(), OsStr::new("/bin")).unwrap();
        assert!(!found.read.contains(&of("package.json")), "{found:?}");
    }

    #[test]
    fn a_program_of_the_folder_it_runs_in_is_no_chooser() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("pyenv");
        std::fs::create_dir_all(folder.join("shims")).unwrap();
        std::fs::copy("/bin/sh", folder.join("shims/x")).unwrap();
        let is_shim = |run: &str, folder: &Path| {
            find_installed(&[run.to_owned()], folder, folder.join("shims").as_os_str()).unwrap().is_shim()
        };
        assert!(!is_shim("./shims/x", &folder) && !is_shim("pyenv/shims/x", place.path()));
        // A person may have named the folder of a manager in the search path.
        assert!(is_shim("x", &folder));
        std::os::unix::fs::symlink(folder.join("shims/x"), place.path().join("link")).unwrap();
        assert!(!is_shim("../link", &folder));
    }

    #[test]
    fn a_program_comes_with_its_libraries_and_the_files_it_is_given() {
        let place = tempfile::tempdir().unwrap();
        let of = |path: &str| place.path().join(path);
        for folder in ["tool/bin", "tool/lib", "tool/share"] {
            std::fs::create_dir_all(of(folder)).unwrap();
        }
        std::fs::copy("/bin/sh", of("tool/bin/run")).unwrap();
        std::fs::write(of("x.sh"), "").unwrap();
        let run = ["tool/bin/run".to_owned(), "x.sh".to_owned(), "-v".to_owned(), "tool".to_owned()];
        let found = find_installed(&run, place.path(), OsStr::new("")).unwrap();
        assert_eq!(found.executable, of("tool/bin/run"));
        let has = |path: &str| found.read.contains(&of(path));
        assert!(has("tool/bin/run") && has("tool/lib") && has("x.sh"), "{found:?}");
        assert!(!has("tool/share") && !has("tool"), "{found:?}");
        let sh = find_installed(&["sh".to_owned()], place.path(), OsStr::new("/nowhere:/bin")).unwrap();
        assert_eq!(sh.executable, Path::new("/bin/sh"));
        assert_eq!(find_installed(&["x.sh".to_owned()], place.path(), OsStr::new("/bin")), None);
    }
}
