//! The file of a key that signs checkpoints: made once, readable only by its owner, never overwritten. Its secret goes
//! into no message.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use systole_proof::key::{SignatureKind, SignerKey};
use systole_proof::limits::KEY_BYTES;

use super::clock::draw_random_bytes;
use super::system::{self, FileFault};

const WHAT: &str = "a signing key";

/// Makes a key of that name. A file that is there stays.
pub fn make_key(path: &Path, name: &str, kind: SignatureKind) -> Result<SignerKey, FileFault> {
    let hindered = |error: std::io::Error| system::report_unwritten(path, WHAT, &error);
    let random = draw_random_bytes().map_err(hindered)?;
    let key = SignerKey::generate(name, kind, &random).map_err(|fault| FileFault {
        words: format!("{name:?}: {fault}"),
        fix: "--origin with a name of your own, as example.org/acme",
    })?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(hindered)?;
    let written =
        file.write_all(format!("{}\n", key.secret_text()).as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a key would be in the way of the next try. If it cannot be removed, the message names it.
        let _removed = std::fs::remove_file(path);
        return Err(hindered(error));
    }
    Ok(key)
}

/// Reads a key. One that others may read is refused.
pub fn read_key(path: &Path) -> Result<SignerKey, FileFault> {
    let hindered = |error: std::io::Error| system::report_unread(path, WHAT, &error);
    let file = File::open(path).map_err(hindered)?;
    let mode = file.metadata().map_err(hindered)?.permissions().mode();
    if mode & 0o077 != 0 {
        let words =
            format!("{}: other users may read this signing key (mode {:04o})", path.display(), mode & 0o7777);
        return Err(FileFault { words, fix: "chmod 600; make a new key if another user may have read it" });
    }
    let mut text = String::new();
    file.take(KEY_BYTES as u64 + 2).read_to_string(&mut text).map_err(hindered)?;
    SignerKey::parse(text.trim_end()).map_err(|fault| FileFault {
        words: format!("{}: {fault}", path.display()),
        fix: "the file that systole keygen made",
    })
}
