//! The file with the tokens of one server. Only its owner can read it, it is replaced as a whole, and it holds for one
//! address alone. What reads and then writes it holds its lock.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use oauth2::TokenResponse as _;
use rmcp::transport::auth::StoredCredentials;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::limits::{LOCK_PAUSE, LOGIN_STEPS, WHOLE_BYTES};
use crate::package::install_folder;
use crate::servers_folder::make_servers_folder;

/// The file of the tokens of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFile {
    /// Its path from the organism's folder.
    name: String,
    path: PathBuf,
    directory: PathBuf,
}

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct KeptLogin {
    /// The address that the tokens are for.
    pub(super) address: String,
    /// Who gave them, and alone gets what renews them.
    pub(super) giver: TokenGiver,
    /// The secret of a client that has one.
    pub(super) client_secret: Option<String>,
    pub(super) credentials: StoredCredentials,
}

/// An authorization server, and how it was found.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TokenGiver {
    pub(super) issuer: Option<String>,
    pub(super) token_endpoint: String,
    /// What the server said when it was asked without a token.
    pub(super) challenge: Option<String>,
    /// Whether the MCP server is in a private network.
    pub(super) is_private: bool,
}

impl KeptLogin {
    /// The words without anything secret.
    pub(super) fn hide_secrets(&self, words: &str) -> String {
        let tokens = self.credentials.token_response.as_ref();
        let access = tokens.map(|tokens| tokens.access_token().secret().as_str());
        let refresh = tokens.and_then(|tokens| Some(tokens.refresh_token()?.secret().as_str()));
        let secrets = [access, refresh, self.client_secret.as_deref()];
        let secrets = secrets.into_iter().flatten().filter(|secret| !secret.is_empty());
        secrets.fold(words.to_owned(), |words, secret| words.replace(secret, "[key]"))
    }
}

impl TokenFile {
    /// The file of a listener below the organism's folder.
    #[must_use]
    pub fn of_listener(directory: &Path, listener: &str) -> TokenFile {
        let name = format!("{}/token", install_folder(listener));
        TokenFile { path: directory.join(&name), directory: directory.to_owned(), name }
    }

    /// Its path from the organism's folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path of the page that leads a browser to the login, beside the tokens.
    #[must_use]
    pub fn find_page(&self) -> PathBuf {
        self.path.with_file_name("login.html")
    }

    /// What it holds for that address.
    pub(super) fn read_for(&self, address: &str) -> Result<Option<KeptLogin>, String> {
        let size = match fs::metadata(&self.path) {
            Ok(there) => there.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", self.name)),
        };
        if size > WHOLE_BYTES as u64 {
            return Err(format!("{} is no file of tokens: it has {size} bytes", self.name));
        }
        let text = fs::read(&self.path).map_err(|error| format!("{}: {error}", self.name))?;
        let kept: KeptLogin =
            serde_json::from_slice(&text).map_err(|_| format!("{} is damaged", self.name))?;
        Ok((kept.address == address).then_some(kept))
    }

    /// Waits for the lock, and opens the file that will take the place of this one: what cannot be kept is not asked for.
    ///
    /// # Errors
    /// If it cannot be written, or another process has it for too long: in words.
    pub async fn open_staged(&self) -> Result<StagedTokens, String> {
        let describe = |error: io::Error| format!("{}: {error}", self.name);
        make_servers_folder(&self.directory)
            .map_err(|(path, error)| format!("{}: {error}", path.display()))?;
        let folder = self.path.parent().unwrap_or(&self.directory);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(describe)?;
        let lock = open_private(&self.path.with_extension("lock"), false).map_err(describe)?;
        let until = Instant::now() + 2 * LOGIN_STEPS;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(format!("{}.lock is held by another process", self.name));
                }
                Err(TryLockError::Error(error)) => return Err(describe(error)),
            }
        }
        let path = self.path.with_extension("new");
        // What a killed process left there was never used.
        let _none = fs::remove_file(&path);
        let file = open_private(&path, true).map_err(describe)?;
        Ok(StagedTokens { file, path, target: self.path.clone(), name: self.name.clone(), _lock: lock })
    }
}

/// A file that will take the place of the tokens, with the lock. If it does not, it is removed.
pub struct StagedTokens {
    file: File,
    path: PathBuf,
    target: PathBuf,
    name: String,
    _lock: File,
}

impl StagedTokens {
    /// Writes the tokens, and puts them in their place.
    pub(super) fn keep(mut self, kept: &KeptLogin) -> Result<(), String> {
        let written = serde_json::to_vec(kept).map_err(io::Error::from).and_then(|text| {
            self.file.write_all(&text)?;
            self.file.sync_all()?;
            fs::rename(&self.path, &self.target)?;
            self.target.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        });
        written.map_err(|error| format!("{}: {error}", self.name))
    }
}

impl Drop for StagedTokens {
    fn drop(&mut self) {
        // It is gone if it took its place.
        let _gone = fs::remove_file(&self.path);
    }
}

/// Opens a file of the owner alone, through no link.
fn open_private(path: &Path, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).create_new(is_new).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}
