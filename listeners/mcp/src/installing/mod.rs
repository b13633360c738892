//! The installation of a server that is a package: exactly what is pinned, or the newest that the file allows.
//!
//! In: what the file asks for, the pin, and what runs the programs of an installation. Out: the packages that are on this
//! machine. It fills a new folder beside the old one, and leaves to its caller when that takes its place.

mod fault;
mod folder;
mod npm;
mod python;
mod step;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::package::{
    InstallRecord, InstallRequest, PackageKind, PackageLock, RECORD, compare_packages, install_folder,
    lock_file, pin_file,
};
use crate::schema::{PinFile, PinnedPackage};

pub use fault::InstallFault;
pub use folder::NewFolder;
use npm::NpmInstaller;
use python::PipInstaller;
use step::StepRunner;
pub use step::{InstallRunner, InstallStep, read_net_address};

/// Which packages are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PackageChoice {
    /// Those of the pin, if there is one that fits.
    Pinned,
    /// The newest that the file allows.
    Newest,
    /// Nothing is installed: only what is there is looked at.
    Present,
}

/// The packages of a server that are on this machine.
pub struct InstalledPackages {
    /// The packages.
    pub packages: Vec<PinnedPackage>,
    /// How they differ from the pinned ones.
    pub changes: Vec<String>,
    /// Packages with install scripts, which were not run.
    pub with_scripts: Vec<String>,
    /// What was installed, in a sentence. None if it was there.
    pub installed: Option<String>,
    /// The folder that has to take its place.
    pub new: Option<NewFolder>,
    /// The lock that has to be written.
    pub lock: String,
}

/// What installs a kind of package.
enum PackageInstaller<'r> {
    Npm(NpmInstaller<'r>),
    Pip(PipInstaller<'r>),
}

impl<'r> PackageInstaller<'r> {
    fn find(
        kind: PackageKind,
        runner: &'r StepRunner<'r>,
        new: &NewFolder,
    ) -> Result<PackageInstaller<'r>, InstallFault> {
        match kind {
            PackageKind::Npm => NpmInstaller::find(runner, new).map(PackageInstaller::Npm),
            PackageKind::Python => PipInstaller::find(runner).map(PackageInstaller::Pip),
        }
    }

    fn resolve(&self, request: &InstallRequest, new: &NewFolder) -> Result<PackageLock, InstallFault> {
        match self {
            PackageInstaller::Npm(npm) => npm.resolve(request, new),
            PackageInstaller::Pip(pip) => pip.resolve(request),
        }
    }

    fn install(
        &self,
        request: &InstallRequest,
        lock: &PackageLock,
        new: &NewFolder,
    ) -> Result<(), InstallFault> {
        match self {
            PackageInstaller::Npm(npm) => npm.install(request, lock, new),
            PackageInstaller::Pip(pip) => pip.install(request, lock, new),
        }
    }
}

/// What an installation goes by.
pub struct ServerToInstall<'s> {
    /// The listener of the server.
    pub name: &'s str,
    /// The package that the file asks for.
    pub request: &'s InstallRequest,
    /// The organism's folder.
    pub directory: &'s Path,
    /// The pin, if there is one.
    pub pin: Option<&'s PinFile>,
    /// The variables of this process.
    pub around: &'s BTreeMap<OsString, OsString>,
    /// What runs the programs of the installation.
    pub runner: &'s dyn InstallRunner,
    /// Takes what the installation does next, in words for a person.
    pub report: &'s dyn Fn(String),
}

impl ServerToInstall<'_> {
    /// Sees to it that the wanted packages are on this machine.
    ///
    /// # Errors
    /// If they are not, and cannot be installed.
    pub fn prepare(&self, choice: PackageChoice) -> Result<InstalledPackages, InstallFault> {
        // A lock that was damaged is replaced by an upgrade.
        let known = if choice == PackageChoice::Newest { None } else { self.read_lock()? };
        let here = self.read_record();
        if choice == PackageChoice::Present {
            return self.use_present(known, here);
        }
        let is_here = |lock: &PackageLock| {
            here.as_ref().is_some_and(|here| here.find_difference(self.request, &lock.packages).is_none())
        };
        if let Some(lock) = known.as_ref().filter(|lock| is_here(lock)) {
            return Ok(self.use_installed(lock, None));
        }
        self.runner.check_sandbox()?;
        let new = NewFolder::make(self.directory, self.name)?;
        let runner = StepRunner { runner: self.runner, folder: &new.path, around: self.around };
        let installer = PackageInstaller::find(self.request.kind, &runner, &new)?;
        let lock = match known {
            Some(lock) => lock,
            None => {
                (self.report)(format!("asking the registry for {}", self.request.name));
                installer.resolve(self.request, &new)?
            }
        };
        if is_here(&lock) {
            return Ok(self.use_installed(&lock, None));
        }
        (self.report)(format!("installing {} {}", self.request.name, lock.version));
        installer.install(self.request, &lock, &new)?;
        new.finish_record(&InstallRecord::from_request(self.request, &lock.packages).to_text())?;
        Ok(self.use_installed(&lock, Some(new)))
    }

    /// The lock, if the pin is one of the same package. A pin without packages and a lock that does not belong to its
    /// pin are refused.
    fn read_lock(&self) -> Result<Option<PackageLock>, InstallFault> {
        let Some(pin) = self.pin else { return Ok(None) };
        let before = InstallRequest::from_command(&pin.command).and_then(Result::ok);
        if !before.is_some_and(|before| before.has_package_of(self.request)) {
            return Ok(None);
        }
        let file = lock_file(self.name, self.request.kind);
        let fix = format!(
            "take the pin and its lock from version control; or run systole mcp pin {} --upgrade, which writes new ones",
            self.name
        );
        if pin.packages.is_empty() {
            let words = format!("{} names no packages", pin_file(self.name));
            return Err(InstallFault::new_unusable(words, fix));
        }
        let text = fs::read_to_string(self.directory.join(&file)).map_err(|error| InstallFault::Unread {
            path: PathBuf::from(&file),
            error,
            fix: fix.clone(),
        })?;
        let lock = PackageLock::from_stored(self.request, &text)
            .map_err(|fault| InstallFault::new_unusable(format!("{file}: {fault}"), &fix))?;
        match compare_packages(&pin.packages, &lock.packages).first() {
            None => Ok(Some(lock)),
            Some(line) => {
                let words = format!("{file} does not agree with the pin, which has other packages: {line}");
                Err(InstallFault::new_unusable(words, fix))
            }
        }
    }

    /// What is installed here.
    fn read_record(&self) -> Option<InstallRecord> {
        let folder = self.directory.join(install_folder(self.name));
        let run = self.request.build_command(&folder.display().to_string());
        let mut files = run.iter().take(2).filter(|word| word.contains('/'));
        let is_whole = files.all(|file| Path::new(file).is_file());
        let text = fs::read(folder.join(RECORD)).ok().filter(|_| is_whole)?;
        InstallRecord::from_text(&text)
    }

    /// Compares what is installed with what is pinned, and changes nothing.
    fn use_present(
        &self,
        pinned: Option<PackageLock>,
        here: Option<InstallRecord>,
    ) -> Result<InstalledPackages, InstallFault> {
        let fix = format!("systole mcp pin {}", self.name);
        let failed = |words: &str| InstallFault::new_unusable(words, &fix);
        let lock = pinned.ok_or_else(|| failed("no packages are pinned for this command"))?;
        let folder = install_folder(self.name);
        let here = here.ok_or_else(|| failed(&format!("the server is not installed in {folder}")))?;
        match here.find_difference(self.request, &lock.packages) {
            None => Ok(self.use_installed(&lock, None)),
            Some(lines) => {
                let lines = lines.join("\n  ");
                Err(failed(&format!("what is installed in {folder} is not what was pinned\n  {lines}")))
            }
        }
    }

    fn use_installed(&self, lock: &PackageLock, new: Option<NewFolder>) -> InstalledPackages {
        let final_folder = install_folder(self.name);
        let before = self.pin.map_or(&[][..], |pin| &pin.packages);
        let changes = if before.is_empty() { Vec::new() } else { compare_packages(before, &lock.packages) };
        let sentence = || {
            let others = lock.packages.len().saturating_sub(1);
            let noun = if others == 1 { "package" } else { "packages" };
            let and = if others == 0 { String::new() } else { format!(" and {others} other {noun}") };
            format!(
                "installed: {} {}{and}, without install scripts, in {final_folder}",
                self.request.name, lock.version
            )
        };
        let with_scripts = || match lock.with_scripts.as_slice() {
            [] => String::new(),
            some => format!("\n  note: not run: the install scripts of {}", some.join(", ")),
        };
        InstalledPackages {
            packages: lock.packages.clone(),
            changes,
            with_scripts: lock.with_scripts.clone(),
            installed: new.as_ref().map(|_| format!("{}{}", sentence(), with_scripts())),
            new,
            lock: lock.text.clone(),
        }
    }
}
