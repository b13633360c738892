//! The file system of a sandbox at level `full`: a new root with the sandbox's places in it and nothing else.
//!
//! It needs mount and process namespaces of its own. Nothing is written to a folder outside: paths are made only in
//! the new root's own memory, and never below a folder that is already bound there.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::places::BoundPlace;
use super::{EntryOrder, explain_failure};
use crate::limits;
use crate::policy::{DEVICES, PRIVATE};

/// Where the old root and the new one are while the new one is made.
const OLD: &str = "/old";
const NEW: &str = "/new";
/// A folder that every system has, to mount on for a moment.
const SPOT: &str = "/proc";

/// Makes the new root and enters it. The working directory is the program's afterwards.
pub(super) fn enter_root(order: &EntryOrder, places: &[BoundPlace]) -> Result<(), String> {
    let told = |error| explain_failure("make the file system of the sandbox", error);
    let own = MountFlags::NOSUID | MountFlags::NODEV;
    // The helper was started there. Its path has no symlinks.
    let folder =
        std::env::current_dir().map_err(|error| explain_failure("find the program's folder", error))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(told)?;
    mount("tmpfs", SPOT, "tmpfs", own, Some(c"mode=0755,size=1m")).map_err(told)?;
    for folder in [OLD, NEW] {
        fs::create_dir(format!("{SPOT}{folder}")).map_err(|error| explain_failure("make a folder", error))?;
    }
    pivot_root(SPOT, format!("{SPOT}{OLD}")).map_err(told)?;
    chdir("/").map_err(told)?;
    mount("tmpfs", NEW, "tmpfs", own, Some(c"mode=0755,size=4m")).map_err(told)?;
    let mut root = NewRoot { bound: Vec::new(), folder };
    for place in places {
        root.bind_place(place)?;
    }
    root.fill_root(order)?;
    root.close_root(places)?;
    chdir(NEW).map_err(told)?;
    pivot_root(".", ".").map_err(told)?;
    unmount(".", UnmountFlags::DETACH).map_err(told)?;
    chdir("/").map_err(told)?;
    chdir(&order.folder).map_err(|error| explain_failure("enter the program's folder", error))
}

/// The new root while it is made.
struct NewRoot {
    /// Real paths that are bound.
    bound: Vec<PathBuf>,
    /// The real path of the working directory.
    folder: PathBuf,
}

/// The path in the old root or the new one.
fn join_below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

impl NewRoot {
    fn is_bound(&self, path: &Path) -> bool {
        self.bound.iter().any(|bound| path.starts_with(bound))
    }

    /// Binds a place at its real path, and makes the symlinks through which it was named.
    fn bind_place(&mut self, place: &BoundPlace) -> Result<(), String> {
        self.lay_path(&place.path)?;
        let within = self.is_bound(&place.real);
        if within && !place.is_writable {
            return Ok(());
        }
        let target = join_below(NEW, &place.real);
        if !within {
            self.make_path(&place.real, place.is_folder)?;
        }
        let source = format!("{OLD}/proc/self/fd/{}", place.file.as_raw_fd());
        mount_bind_recursive(source, &target).map_err(|error| {
            explain_failure(&format!("show {} in the sandbox", place.path.display()), error)
        })?;
        self.bound.push(place.real.clone());
        Ok(())
    }

    /// Makes the symlinks on the way to a path.
    fn lay_path(&self, path: &Path) -> Result<(), String> {
        let mut path = path.to_owned();
        'paths: for _ in 0..limits::SYMLINKS {
            let mut walked = PathBuf::from("/");
            let mut rest = path.components();
            while let Some(part) = rest.next() {
                match part {
                    Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
                    Component::ParentDir => {
                        walked.pop();
                        continue;
                    }
                    Component::Normal(name) => walked.push(name),
                }
                let Ok(to) = fs::read_link(join_below(OLD, &walked)) else { continue };
                if !self.is_bound(&walked) {
                    self.make_parents(&walked)?;
                    match symlink(&to, join_below(NEW, &walked)) {
                        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                            return Err(explain_failure("make a link in the sandbox", error));
                        }
                        _ => {}
                    }
                }
                walked.pop();
                path = walked.join(to).join(rest.as_path());
                continue 'paths;
            }
            return Ok(());
        }
        Err(format!("{} has too many links", path.display()))
    }

    /// Makes an empty folder or file to mount on. `path` has no symlinks.
    fn make_path(&self, path: &Path, is_folder: bool) -> Result<(), String> {
        self.make_parents(path)?;
        let target = join_below(NEW, path);
        let made = match is_folder {
            true => fs::create_dir_all(target),
            false => File::options().create(true).append(true).open(target).map(drop),
        };
        made.map_err(|error| explain_failure(&format!("make room for {}", path.display()), error))
    }

    fn make_parents(&self, path: &Path) -> Result<(), String> {
        let Some(parent) = path.parent().filter(|parent| !self.is_bound(parent)) else { return Ok(()) };
        fs::create_dir_all(join_below(NEW, parent))
            .map_err(|error| explain_failure(&format!("make room for {}", path.display()), error))
    }

    /// Adds what belongs to no place outside: `/proc`, devices, the private folder and the working directory.
    fn fill_root(&self, order: &EntryOrder) -> Result<(), String> {
        let told = |error| explain_failure("make the file system of the sandbox", error);
        let own = MountFlags::NOSUID | MountFlags::NODEV;
        for folder in ["/proc", PRIVATE] {
            self.make_path(Path::new(folder), true)?;
        }
        let closed = own | MountFlags::NOEXEC | MountFlags::RDONLY;
        mount("proc", join_below(NEW, Path::new("/proc")), "proc", closed, None).map_err(told)?;
        for device in DEVICES.iter().map(Path::new).filter(|device| join_below(OLD, device).exists()) {
            self.make_path(device, false)?;
            mount_bind_recursive(join_below(OLD, device), join_below(NEW, device)).map_err(told)?;
        }
        let private = join_below(NEW, Path::new(PRIVATE));
        mount("tmpfs", &private, "tmpfs", own, Some(c"mode=0700,size=256m")).map_err(told)?;
        for inner in ["home", "tmp"] {
            fs::create_dir(private.join(inner))
                .map_err(|error| explain_failure("make a private folder", error))?;
        }
        // Before the links: the working directory may be below one of them.
        self.make_working_directory(order)?;
        for link in ["/tmp", "/dev/shm"].map(Path::new) {
            // A folder of the sandbox may be there.
            if fs::symlink_metadata(join_below(NEW, link)).is_err() {
                self.make_parents(link)?;
                symlink(format!("{PRIVATE}/tmp"), join_below(NEW, link))
                    .map_err(|error| explain_failure("make a link in the sandbox", error))?;
            }
        }
        Ok(())
    }

    /// The program's working directory. It is empty, except for places of the sandbox that are in it.
    fn make_working_directory(&self, order: &EntryOrder) -> Result<(), String> {
        self.lay_path(&order.folder)?;
        if self.is_bound(&self.folder) {
            return Ok(());
        }
        self.make_path(&self.folder, true)
    }

    /// Makes everything read-only that is not in a writable place.
    fn close_root(&self, places: &[BoundPlace]) -> Result<(), String> {
        let table = fs::read_to_string(format!("{NEW}/proc/self/mountinfo"))
            .map_err(|error| explain_failure("read the mounts", error))?;
        for line in table.lines() {
            let mut fields = line.split(' ').skip(4);
            let (Some(point), Some(options)) = (fields.next(), fields.next()) else { continue };
            let point = PathBuf::from(unescape_path(point));
            let Ok(inner) = point.strip_prefix(NEW) else { continue };
            let inner = Path::new("/").join(inner);
            if inner.starts_with("/proc") || inner.starts_with(PRIVATE) {
                continue;
            }
            let nearest = places
                .iter()
                .filter(|place| inner.starts_with(&place.real))
                .max_by_key(|place| (place.real.components().count(), place.is_writable));
            let mut flags = parse_flags(options) | MountFlags::BIND | MountFlags::NOSUID;
            if !inner.starts_with("/dev") {
                flags |= MountFlags::NODEV;
            }
            if !nearest.is_some_and(|place| place.is_writable) {
                flags |= MountFlags::RDONLY;
            }
            mount_remount(&point, flags, c"")
                .map_err(|error| explain_failure(&format!("make {} read-only", inner.display()), error))?;
        }
        Ok(())
    }
}

/// The flags of a mount, which a new mount may not drop.
fn parse_flags(options: &str) -> MountFlags {
    options.split(',').fold(MountFlags::empty(), |flags, option| {
        flags
            | match option {
                "ro" => MountFlags::RDONLY,
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            }
    })
}

/// A path as `/proc` writes it: blanks and the like are octal numbers.
fn unescape_path(text: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt as _;
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| byte == b'\\') {
            Some(octal) => {
                out.push(octal);
                at += 4;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    std::ffi::OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_table_of_mounts_is_read() {
        assert_eq!(unescape_path("/new/a\\040b\\134c"), "/new/a b\\c");
        assert_eq!(unescape_path("/new/x\\"), "/new/x\\");
    }
}
