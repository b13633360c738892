//! One file takes the place of another in its folder, and back again.
//!
//! An open folder and names come in. Each step is one change of names, so a reader sees the old file or the new one,
//! whole. A link is never followed and never replaced: what was in the place is looked at before it is let go.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use systole_folder::FolderRoot;

use crate::hash::hash_bytes;

/// A file's folder, opened below the root, and the file's name in it.
pub(crate) struct SwapPlace<'p> {
    pub(crate) folder: OwnedFd,
    pub(crate) name: &'p str,
}

impl<'p> SwapPlace<'p> {
    pub(crate) fn open(root: &FolderRoot, path: &'p str) -> Result<SwapPlace<'p>, Errno> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        Ok(SwapPlace { folder: root.open_folder(folder)?, name })
    }

    /// Writes a new file beside it, on disk before this returns.
    pub(crate) fn write_beside(
        &self,
        beside: &str,
        bytes: &[u8],
        mode: u32,
        is_new: bool,
    ) -> std::io::Result<()> {
        self.remove_file(beside)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, beside, flags, Mode::from_raw_mode(mode))?;
        // The mask of the process holds for new files only.
        if !is_new {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        let mut file = std::fs::File::from(file);
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// The hash of a regular file in the folder. `None` if there is no such name; an error for anything else.
    pub(crate) fn hash_file(&self, name: &str) -> std::io::Result<Option<String>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(&self.folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => file?,
        };
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(std::io::Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        let most = systole_folder::limits::FILE_BYTES as u64 + 1;
        std::fs::File::from(file).take(most).read_to_end(&mut bytes)?;
        Ok(Some(hash_bytes(&bytes)))
    }

    /// Whether the name holds exactly that: a regular file of that hash, or nothing.
    pub(crate) fn holds(&self, name: &str, hash: Option<&str>) -> bool {
        self.hash_file(name).is_ok_and(|found| found.as_deref() == hash)
    }

    pub(crate) fn remove_file(&self, name: &str) -> Result<(), Errno> {
        match unlinkat(&self.folder, name, AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Puts the file beside it, which has the hash `after`, into its place. `before` is what the place must hold; it
    /// is beside it afterwards, if the file system can exchange names. Returns whether the place held that.
    pub(crate) fn put_file(&self, beside: &str, before: Option<&str>, after: &str) -> Result<bool, Errno> {
        let flags = if before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match renameat_with(&self.folder, beside, &self.folder, self.name, flags) {
            Ok(()) if before.is_none() || self.holds(beside, before) => Ok(true),
            Ok(()) => self.give_back(beside, after).map(|()| false),
            Err(Errno::EXIST | Errno::NOENT) => Ok(false),
            Err(error) if lacks_rename(error) => {
                let is_there = self.holds(self.name, before);
                if is_there {
                    renameat(&self.folder, beside, &self.folder, self.name)?;
                }
                Ok(is_there)
            }
            Err(error) => Err(error),
        }
    }

    /// Puts back what another process wrote. If it writes once more meanwhile, its latest file gets the place.
    fn give_back(&self, beside: &str, after: &str) -> Result<(), Errno> {
        let mut placed = Some(after.to_owned());
        for _ in 0..crate::limits::SWAP_TRIES {
            let next = self.hash_file(beside).unwrap_or_default();
            renameat_with(&self.folder, beside, &self.folder, self.name, RenameFlags::EXCHANGE)?;
            // What came out is what was put in before, so no one else wrote.
            if self.hash_file(beside).unwrap_or_default() == placed {
                return Ok(());
            }
            placed = next;
        }
        Err(Errno::BUSY)
    }

    /// Takes the file out of its place, which must hold `before`. It is beside it afterwards.
    pub(crate) fn take_file(&self, beside: &str, before: &str) -> Result<bool, Errno> {
        match self.rename_file(self.name, beside) {
            Ok(()) if self.holds(beside, Some(before)) => Ok(true),
            Ok(()) => match self.rename_file(beside, self.name) {
                // There is a newer file in the place by now.
                Ok(()) | Err(Errno::EXIST) => Ok(false),
                Err(error) => Err(error),
            },
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives a file another name that is free.
    pub(crate) fn rename_file(&self, from: &str, to: &str) -> Result<(), Errno> {
        match renameat_with(&self.folder, from, &self.folder, to, RenameFlags::NOREPLACE) {
            Err(error) if lacks_rename(error) => renameat(&self.folder, from, &self.folder, to),
            other => other,
        }
    }

    /// Replaces the file by the one beside it.
    pub(crate) fn replace_file(&self, beside: &str) -> Result<(), Errno> {
        renameat(&self.folder, beside, &self.folder, self.name)
    }

    pub(crate) fn sync_folder(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.folder)
    }
}

/// Whether the file system does not know the kind of rename.
fn lacks_rename(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}
