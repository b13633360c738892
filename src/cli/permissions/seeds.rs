//! The keys of who may come to the broker, one file for each. A key is made once, readable by its owner alone, and never
//! written over: who has it would be locked out. The secret half goes into the file and nowhere else.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nkeys::{KeyPair, KeyPairType};

use super::super::exit::Exit;
use super::super::hindered;
use super::super::screen::Screen;

/// More bytes than the file of a seed has.
const MOST: u64 = 256;

/// The public halves, in the order of the names, and how many keys are new.
pub(super) struct Found {
    pub(super) public: Vec<String>,
    pub(super) made: usize,
}

/// Reads the keys of that folder, and makes those that are not there. Nothing is made where one cannot be read.
pub(super) fn found_or_made(screen: Screen, folder: &Path, names: &[&str]) -> Result<Found, Exit> {
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.join([name, ".nk"].concat())).collect();
    let found = paths.iter().map(|path| read(screen, path)).collect::<Result<Vec<_>, _>>()?;
    let made = found.iter().filter(|key| key.is_none()).count();
    if made > 0 {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| hindered::no_folder(screen, folder, "the folder of the keys", &error))?;
    }
    let keys = paths.iter().zip(found).map(|(path, key)| match key {
        Some(key) => Ok(key),
        None => make(screen, path),
    });
    let public = keys.map(|key| key.map(|key| key.public_key())).collect::<Result<_, _>>()?;
    Ok(Found { public, made })
}

/// The key of a file, if the file is there.
fn read(screen: Screen, path: &Path) -> Result<Option<KeyPair>, Exit> {
    let told = |error: &std::io::Error| hindered::unread(screen, Exit::Unavailable, path, "a key", error);
    let file = match fs::File::open(path) {
        Ok(file) => file,
        // A link to nothing is not written through: making the key refuses it.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(told(&error)),
    };
    let mode = file.metadata().map_err(|error| told(&error))?.permissions().mode();
    if mode & 0o077 != 0 {
        let shown = path.display().to_string();
        screen.say([&shown, ": others than its owner may read this key; chmod 600 mends that"].concat());
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(|error| told(&error))?;
    let key = KeyPair::from_seed(text.trim()).ok().filter(|key| key.key_pair_type() == KeyPairType::User);
    key.map(Some).ok_or_else(|| {
        let shown = path.display().to_string();
        let exit = screen.fail(
            Exit::Usage,
            [&shown, ": what stands in it is no seed of a user's nkey, which begins with SU"].concat(),
        );
        screen.say("  try: another folder for --keys, or move that file away");
        exit
    })
}

/// Makes a key. What has the name of a key is whole at any moment, and what was there stays.
fn make(screen: Screen, path: &Path) -> Result<KeyPair, Exit> {
    let told = |error: std::io::Error| hindered::unwritten(screen, path, "a new key", &error);
    let key = KeyPair::new_user();
    let seed = key
        .seed()
        .map_err(|error| screen.fail(Exit::Failed, ["a new key: ", &error.to_string()].concat()))?;
    let draft = path.with_extension(["new-", &std::process::id().to_string()].concat());
    let written = write(&draft, &seed).and_then(|()| fs::hard_link(&draft, path));
    // Where it was not written there is nothing to remove.
    let _removed = fs::remove_file(&draft);
    match written {
        Ok(()) => Ok(key),
        // Another run was quicker.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            read(screen, path)?.ok_or_else(|| told(error))
        }
        Err(error) => Err(told(error)),
    }
}

fn write(path: &Path, seed: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all([seed, "\n"].concat().as_bytes())?;
    file.sync_all()
}
