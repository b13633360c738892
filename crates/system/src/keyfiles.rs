//! The keys of everyone who may come to the broker, one file for each. A key is made once, readable only by its
//! owner, and never overwritten, because that would lock its user out. The secret half goes into the file and to the
//! caller that asks for it, and into no message. The public half is in a file of its own, for clients that cannot make it
//! from the seed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nkeys::{KeyPair, KeyPairType};

use super::system::{self, FileFault};

/// The public halves, in the order of the names.
pub struct PublicKeys {
    /// Those that belong to the names.
    pub public: Vec<String>,
    /// How many are new.
    pub made: usize,
    /// The files that users other than the owner may read.
    pub open: Vec<PathBuf>,
}

/// Why there are no keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyFilesFault {
    /// A file was not read, or not written.
    Hindered(FileFault),
    /// The file contains no key. Its content is not repeated.
    NoSeed(PathBuf),
    /// No key was made.
    Unmade(String),
}

/// The file of a key in that folder.
pub fn to_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.nk"))
}

/// Reads the keys of that folder, and makes the missing ones. If a key cannot be read, none is made.
pub fn find_or_make_keys(folder: &Path, names: &[&str]) -> Result<PublicKeys, KeyFilesFault> {
    let paths: Vec<PathBuf> = names.iter().map(|name| to_path(folder, name)).collect();
    let mut open = Vec::new();
    let found = paths.iter().map(|path| read_key(path, &mut open)).collect::<Result<Vec<_>, _>>()?;
    let made = found.iter().filter(|key| key.is_none()).count();
    if made > 0 {
        let no_folder = |error| {
            KeyFilesFault::Hindered(system::report_no_folder(folder, "the folder of the keys", &error))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(no_folder)?;
    }
    let keys = paths.iter().zip(found).map(|(path, key)| match key {
        Some(key) => Ok(key),
        None => make_key(path),
    });
    let public = keys.map(|key| key.map(|key| key.public_key())).collect::<Result<Vec<_>, _>>()?;
    for (path, key) in paths.iter().zip(&public) {
        match write_public(&path.with_extension("pub"), key) {
            // Keys may be in a folder that this process only reads.
            Err(error) if made > 0 => {
                let what = "the public half of a key";
                return Err(KeyFilesFault::Hindered(system::report_unwritten(path, what, &error)));
            }
            _ => {}
        }
    }
    Ok(PublicKeys { public, made, open })
}

/// The secret half of an existing key.
pub fn read_seed(path: &Path) -> Result<String, KeyFilesFault> {
    let absent = || std::io::Error::from(ErrorKind::NotFound);
    let key = read_key(path, &mut Vec::new())?.ok_or_else(|| make_fault(path, &absent()))?;
    key.seed().map_err(|error| KeyFilesFault::Unmade(error.to_string()))
}

fn make_fault(path: &Path, error: &std::io::Error) -> KeyFilesFault {
    KeyFilesFault::Hindered(system::report_unread(path, "a key", error))
}

/// The key of a file, if the file is there.
fn read_key(path: &Path, open: &mut Vec<PathBuf>) -> Result<Option<KeyPair>, KeyFilesFault> {
    let told = |error: &std::io::Error| make_fault(path, error);
    let file = match fs::File::open(path) {
        Ok(file) => file,
        // A dangling link is not followed for writing: making the key refuses it.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(told(&error)),
    };
    let mode = file.metadata().map_err(|error| told(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        open.push(path.to_owned());
    }
    let mut text = String::new();
    file.take(crate::limits::SEED_BYTES).read_to_string(&mut text).map_err(|error| told(&error))?;
    let key = KeyPair::from_seed(text.trim()).ok().filter(|key| key.key_pair_type() == KeyPairType::User);
    key.map(Some).ok_or_else(|| KeyFilesFault::NoSeed(path.to_owned()))
}

/// Makes a key. A file with the name of a key is complete at any moment, and an existing file stays.
fn make_key(path: &Path) -> Result<KeyPair, KeyFilesFault> {
    let told =
        |error: std::io::Error| KeyFilesFault::Hindered(system::report_unwritten(path, "a new key", &error));
    let key = KeyPair::new_user();
    let seed = key.seed().map_err(|error| KeyFilesFault::Unmade(error.to_string()))?;
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let written = write_seed(&draft, &seed).and_then(|()| fs::hard_link(&draft, path));
    // If the file was not written, there is nothing to remove.
    let _removed = fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(key),
        // Another run was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read_key(path, &mut Vec::new())?.ok_or_else(|| told(error))
        }
        Err(error) => Err(told(error)),
    }
}

/// Writes the public half of a key, if it is not there.
fn write_public(path: &Path, key: &str) -> std::io::Result<()> {
    let line = format!("{key}\n");
    if fs::read_to_string(path).is_ok_and(|written| written == line) {
        return Ok(());
    }
    let draft = path.with_extension(format!("pub-{}", std::process::id()));
    let written = fs::write(&draft, line).and_then(|()| fs::rename(&draft, path));
    // After a rename there is nothing to remove.
    let _removed = fs::remove_file(&draft);
    written
}

fn write_seed(path: &Path, seed: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(format!("{seed}\n").as_bytes())?;
    file.sync_all()
}
