//! The file with the tokens of one server. Only its owner can read it, it is replaced as a whole, and it holds for one
//! address alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use oauth2::TokenResponse as _;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

use crate::client::ServerAddress;
use crate::limits::WHOLE_BYTES;
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
    /// The secret of a client that has one.
    pub(super) client_secret: Option<String>,
    pub(super) credentials: StoredCredentials,
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

    /// Writes it anew.
    fn write(&self, kept: &KeptLogin) -> io::Result<()> {
        self.make_folder()?;
        let staged = self.path.with_extension(format!("{}.new", std::process::id()));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        file.write_all(&serde_json::to_vec(kept)?)?;
        file.sync_all()?;
        fs::rename(&staged, &self.path)
    }

    /// The path of the page that leads a browser to the login, beside the tokens.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn make_page_place(&self) -> io::Result<PathBuf> {
        self.make_folder()?;
        Ok(self.path.with_file_name("login.html"))
    }

    fn make_folder(&self) -> io::Result<()> {
        make_servers_folder(&self.directory).map_err(|(_, error)| error)?;
        self.path.parent().map_or(Ok(()), fs::create_dir_all)
    }

    /// Waits until no other process renews the tokens.
    fn lock(&self) -> io::Result<File> {
        self.make_folder()?;
        let lock = File::create(self.path.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }
}

/// The file as the library sees it.
pub(super) struct LoginStore {
    file: TokenFile,
    address: String,
    client_secret: Option<String>,
}

impl LoginStore {
    pub(super) fn new(at: &ServerAddress, file: &TokenFile, client_secret: Option<String>) -> LoginStore {
        LoginStore { file: file.clone(), address: at.url().to_owned(), client_secret }
    }

    fn describe(&self, error: &dyn std::fmt::Display) -> AuthError {
        AuthError::CredentialStoreError(format!("{}: {error}", self.file.name))
    }
}

#[async_trait::async_trait]
impl CredentialStore for LoginStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.file.read_for(&self.address).map_err(AuthError::CredentialStoreError)?;
        Ok(kept.map(|kept| kept.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let (address, client_secret) = (self.address.clone(), self.client_secret.clone());
        let kept = KeptLogin { address, client_secret, credentials };
        self.file.write(&kept).map_err(|error| self.describe(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match fs::remove_file(&self.file.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.describe(&error)),
            _ => Ok(()),
        }
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let file = self.file.clone();
        let locked = tokio::task::spawn_blocking(move || file.lock()).await;
        let locked = locked.map_err(|error| self.describe(&error))?;
        Ok(Some(CredentialRefreshGuard::new(locked.map_err(|error| self.describe(&error))?)))
    }
}
