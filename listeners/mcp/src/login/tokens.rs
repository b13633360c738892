//! The token that goes with a request: it is read from the file each time, so a new login counts at once, and renewed
//! shortly before it expires, or when the server does not take it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use rmcp::transport::auth::OAuthClientConfig;

use super::kept::{KeptLogin, LoginStore, TokenFile};
use super::steps::LoginSteps;
use super::words::FailedLogin;
use crate::client::ServerAddress;
use crate::limits::EXPIRES_SOON;

/// The tokens for one server.
pub(crate) struct LoginTokens {
    listener: String,
    file: TokenFile,
    /// What was read last, whose secrets no words may hold.
    seen: Mutex<Option<KeptLogin>>,
    /// Held by the request that renews the token: others wait, and find the new one.
    renewing: tokio::sync::Mutex<()>,
}

impl fmt::Debug for LoginTokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("LoginTokens").field(&self.listener).finish()
    }
}

impl LoginTokens {
    pub(crate) fn new(listener: &str, file: TokenFile) -> LoginTokens {
        let listener = listener.to_owned();
        LoginTokens { listener, file, seen: Mutex::default(), renewing: tokio::sync::Mutex::default() }
    }

    /// What makes a login.
    pub(crate) fn command(&self) -> String {
        format!("systole mcp login {}", self.listener)
    }

    /// What makes a login with these rights in addition to those that it has.
    pub(crate) fn wider_command(&self, missing: &str) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scopes: Vec<&str> = Vec::new();
        let granted = seen.iter().flat_map(|kept| &kept.credentials.granted_scopes).map(String::as_str);
        for scope in granted.chain(missing.split_whitespace()) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        format!("{} --scope {:?}", self.command(), scopes.join(" "))
    }

    /// The words without anything secret.
    pub(crate) fn hide_secrets(&self, words: &str) -> String {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.as_ref().map_or_else(|| words.to_owned(), |kept| kept.hide_secrets(words))
    }

    /// The token for a request to the server, if there was a login. `refused` is one that the server did not take.
    ///
    /// # Errors
    /// If the file cannot be read, or the token cannot be renewed: why.
    pub(crate) async fn find_token(
        &self,
        at: &ServerAddress,
        refused: Option<&str>,
    ) -> Result<Option<String>, String> {
        let _alone = self.renewing.lock().await;
        let Some(kept) = self.read(at)? else { return Ok(None) };
        match choose_token(&kept, refused) {
            Some(token) => Ok(Some(token)),
            None => match renew_token(at, &self.file, &kept).await {
                // However short it lasts, there is no better one.
                Ok(()) => Ok(self.read(at)?.and_then(|kept| read_token(&kept))),
                Err(FailedLogin::Refused(words)) if refused.is_none() => {
                    let words = kept.hide_secrets(&words);
                    Err(format!("the login has expired ({words}); try: {}", self.command()))
                }
                // The answer of the server itself says the same.
                Err(FailedLogin::Refused(_)) => Ok(None),
                Err(fault) => {
                    let words = kept.hide_secrets(&fault.to_string());
                    Err(format!("the login cannot be renewed: {words}"))
                }
            },
        }
    }

    fn read(&self, at: &ServerAddress) -> Result<Option<KeptLogin>, String> {
        let kept = self.file.read_for(at.url());
        let kept = kept.map_err(|words| format!("{words}; try: {}", self.command()))?;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&kept);
        Ok(kept)
    }
}

/// The kept token, unless it expires soon or was refused.
fn choose_token(kept: &KeptLogin, refused: Option<&str>) -> Option<String> {
    let token = read_token(kept).filter(|token| refused != Some(token))?;
    let lasts = kept.credentials.token_response.as_ref()?.expires_in();
    if let (Some(lasts), Some(since)) = (lasts, kept.credentials.token_received_at) {
        // Since a clock that was set back it counts as new: the server says if it is not.
        let age = (UNIX_EPOCH + Duration::from_secs(since)).elapsed().unwrap_or_default();
        if lasts.saturating_sub(age) < EXPIRES_SOON {
            return None;
        }
    }
    Some(token)
}

fn read_token(kept: &KeptLogin) -> Option<String> {
    kept.credentials.token_response.as_ref().map(|tokens| tokens.access_token().secret().clone())
}

/// Renews the token, and keeps the new one.
async fn renew_token(at: &ServerAddress, file: &TokenFile, kept: &KeptLogin) -> Result<(), FailedLogin> {
    let mut steps = LoginSteps::new(at).await?;
    steps.manager.set_credential_store(LoginStore::new(at, file, kept.client_secret.clone()));
    let is_kept = steps.manager.initialize_from_store().await;
    if !is_kept.map_err(|fault| steps.describe(&fault))? {
        let words = "the server names another authorization server than at the login";
        return Err(FailedLogin::Refused(words.to_owned()));
    }
    if let Some(secret) = &kept.client_secret {
        let client = OAuthClientConfig::new(&kept.credentials.client_id, at.url()).with_client_secret(secret);
        steps.manager.configure_client(client).map_err(|fault| steps.describe(&fault))?;
    }
    steps.manager.refresh_token().await.map(drop).map_err(|fault| steps.describe(&fault))
}
