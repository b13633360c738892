//! The token that goes with a request: it is read from the file each time, so a new login counts at once, and renewed
//! shortly before it expires, or when the server does not take it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use oauth2::TokenResponse as _;
use rmcp::transport::auth::OAuthClientConfig;
use tokio::sync::oneshot;

use super::kept::{KeptLogin, TokenFile};
use super::steps::LoginSteps;
use super::words::{FailedLogin, is_scope_of_a_command};
use crate::client::ServerAddress;
use crate::limits::{EXPIRES_SOON, SEEN_LOGINS};

/// The tokens for one server.
pub(crate) struct LoginTokens {
    listener: String,
    file: TokenFile,
    /// What was read last, newest last, whose secrets no words may hold.
    seen: Mutex<VecDeque<KeptLogin>>,
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

    fn lock_seen(&self) -> MutexGuard<'_, VecDeque<KeptLogin>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What makes a login.
    pub(crate) fn command(&self) -> String {
        format!("systole mcp login {}", self.listener)
    }

    /// What makes a login with these rights in addition to those that it has. A person may paste it, so there is none for
    /// rights with signs that a shell reads.
    pub(crate) fn wider_command(&self, missing: &str) -> Option<String> {
        let seen = self.lock_seen();
        let granted = seen.back().into_iter().flat_map(|kept| &kept.credentials.granted_scopes);
        let mut scopes: Vec<&str> = Vec::new();
        for scope in granted.map(String::as_str).chain(missing.split_whitespace()) {
            if !is_scope_of_a_command(scope) {
                return None;
            }
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        Some(format!("{} --scope \"{}\"", self.command(), scopes.join(" ")))
    }

    /// The words without anything secret.
    pub(crate) fn hide_secrets(&self, words: &str) -> String {
        self.lock_seen().iter().fold(words.to_owned(), |words, kept| kept.hide_secrets(&words))
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
        if let Some(token) = choose_token(&kept, refused) {
            return Ok(Some(token));
        }
        let failed = match renew_apart(at, &self.file, refused).await {
            Ok(()) => return Ok(self.read(at)?.and_then(|kept| read_token(&kept))),
            Err(failed) => failed,
        };
        // A token that has not expired may be taken, and the server itself says if it is not.
        match (refused, read_token(&kept).filter(|_| count_left(&kept).is_none_or(|left| !left.is_zero()))) {
            (None, Some(token)) => return Ok(Some(token)),
            (Some(_), _) if matches!(failed, FailedLogin::Refused(_)) => return Ok(None),
            _ => {}
        }
        let words = self.hide_secrets(&failed.to_string());
        Err(match failed {
            FailedLogin::Refused(_) => format!("the login has expired ({words}); try: {}", self.command()),
            _ => format!("the login cannot be renewed: {words}; later, or try: {}", self.command()),
        })
    }

    fn read(&self, at: &ServerAddress) -> Result<Option<KeptLogin>, String> {
        let kept = self.file.read_for(at.url());
        let kept = kept.map_err(|words| format!("{words}; try: {}", self.command()))?;
        if let Some(kept) = &kept {
            let mut seen = self.lock_seen();
            if seen.back().is_none_or(|last| read_token(last) != read_token(kept)) {
                seen.push_back(kept.clone());
            }
            if seen.len() > SEEN_LOGINS {
                seen.pop_front();
            }
        }
        Ok(kept)
    }
}

/// The kept token, unless it can be renewed and expires soon, or was refused.
fn choose_token(kept: &KeptLogin, refused: Option<&str>) -> Option<String> {
    let token = read_token(kept).filter(|token| refused != Some(token))?;
    let can_renew = kept.credentials.token_response.as_ref()?.refresh_token().is_some();
    let expires_soon = can_renew && count_left(kept).is_some_and(|left| left < EXPIRES_SOON);
    (!expires_soon).then_some(token)
}

/// How long the kept token lasts, if it is known.
fn count_left(kept: &KeptLogin) -> Option<Duration> {
    let lasts = kept.credentials.token_response.as_ref()?.expires_in()?;
    // Since a clock that was set back it counts as new: the server says if it is not.
    let since = UNIX_EPOCH + Duration::from_secs(kept.credentials.token_received_at?);
    Some(lasts.saturating_sub(since.elapsed().unwrap_or_default()))
}

fn read_token(kept: &KeptLogin) -> Option<String> {
    kept.credentials.token_response.as_ref().map(|tokens| tokens.access_token().secret().clone())
}

/// Renews the token on a thread of its own: a call that ends meanwhile does not end it, because the authorization server
/// may have taken the token that renews already, and takes it once.
async fn renew_apart(at: &ServerAddress, file: &TokenFile, refused: Option<&str>) -> Result<(), FailedLogin> {
    let (at, file, refused) = (at.clone(), file.clone(), refused.map(str::to_owned));
    let (done, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let renewed = match runtime {
            Ok(runtime) => runtime.block_on(renew_token(&at, &file, refused.as_deref())),
            Err(error) => Err(FailedLogin::NoAnswer(error.to_string())),
        };
        // If the call has ended, the next one finds the new token.
        let _gone = done.send(renewed);
    });
    ended.await.unwrap_or_else(|_| Err(FailedLogin::NoAnswer("the renewal broke off".to_owned())))
}

/// Renews the token, and keeps the new one, unless another process has done it.
async fn renew_token(at: &ServerAddress, file: &TokenFile, refused: Option<&str>) -> Result<(), FailedLogin> {
    let staged = file.open_staged().await.map_err(FailedLogin::NoFile)?;
    let kept = file.read_for(at.url()).map_err(FailedLogin::NoFile)?;
    let kept = kept.ok_or_else(|| FailedLogin::Refused("the tokens were removed".to_owned()))?;
    if choose_token(&kept, refused).is_some() {
        return Ok(());
    }
    if kept.credentials.token_response.as_ref().is_none_or(|tokens| tokens.refresh_token().is_none()) {
        return Err(FailedLogin::Refused("it cannot be renewed".to_owned()));
    }
    let mut steps = LoginSteps::new(at, kept.giver.is_private).await?;
    let found = steps.find_giver(kept.giver.challenge.clone(), kept.giver.is_private).await?;
    if found.giver != kept.giver {
        let words = "the server names another authorization server than at the login";
        return Err(FailedLogin::Refused(words.to_owned()));
    }
    steps.manager.set_metadata(found.metadata);
    let client = OAuthClientConfig::new(&kept.credentials.client_id, at.url());
    let client = kept.client_secret.iter().fold(client, |client, secret| client.with_client_secret(secret));
    steps.manager.configure_client(client).map_err(|fault| steps.describe(&fault))?;
    steps.put(kept.credentials.clone()).await?;
    steps.manager.refresh_token().await.map_err(|fault| steps.describe(&fault))?;
    let credentials = steps.take().await?;
    staged.keep(&KeptLogin { credentials, ..kept }).map_err(FailedLogin::NoFile)
}
