//! The library's steps of a login, with our client for each request. The library forgets why a request had no answer, so
//! that is asked of the client. Tokens are kept in memory here: who takes the steps writes the file.

use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    CredentialStore as _, InMemoryCredentialStore, StoredCredentials,
};

use super::kept::TokenGiver;
use super::oauth_http::LoginHttp;
use super::words::FailedLogin;
use crate::client::ServerAddress;

/// The steps at one server.
pub(super) struct LoginSteps {
    pub(super) manager: AuthorizationManager,
    pub(super) http: Arc<LoginHttp>,
    kept: InMemoryCredentialStore,
}

/// An authorization server that was found.
pub(super) struct FoundGiver {
    pub(super) metadata: AuthorizationMetadata,
    /// Whether nothing was found, and this is where older servers have it.
    pub(super) is_guess: bool,
    pub(super) giver: TokenGiver,
}

impl LoginSteps {
    pub(super) async fn new(at: &ServerAddress, is_private: bool) -> Result<LoginSteps, FailedLogin> {
        let http = Arc::new(LoginHttp::new(at, is_private).map_err(FailedLogin::NoAnswer)?);
        let manager = AuthorizationManager::new_with_oauth_http_client(at.url(), http.clone()).await;
        let mut manager = manager.map_err(|fault| FailedLogin::from_fault(&fault, None))?;
        let kept = InMemoryCredentialStore::new();
        manager.set_credential_store(kept.clone());
        Ok(LoginSteps { manager, http, kept })
    }

    /// Why a step failed.
    pub(super) fn describe(&self, fault: &AuthError) -> FailedLogin {
        FailedLogin::from_fault(fault, self.http.take_fault().as_deref())
    }

    /// Finds the authorization server, by what the server said when it was asked without a token.
    pub(super) async fn find_giver(
        &self,
        challenge: Option<String>,
        is_private: bool,
    ) -> Result<FoundGiver, FailedLogin> {
        let found = self.manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
        let found = found.map_err(|fault| self.describe(&fault))?;
        let metadata = found.metadata;
        // The library compares the name of the server with its address only where it knows the form of the address.
        if let Some(issuer) = metadata.issuer.as_ref().filter(|issuer| !self.http.has_found_at(issuer)) {
            let words = format!("an authorization server says that it is {issuer}, and has another address");
            return Err(FailedLogin::NoAnswer(words));
        }
        let giver = TokenGiver {
            issuer: metadata.issuer.clone(),
            token_endpoint: metadata.token_endpoint.clone(),
            challenge,
            is_private,
        };
        let is_guess = found.source == AuthorizationMetadataSource::LegacyEndpointFallback;
        Ok(FoundGiver { metadata, is_guess, giver })
    }

    /// The tokens that a step needs.
    pub(super) async fn put(&self, credentials: StoredCredentials) -> Result<(), FailedLogin> {
        self.kept.save(credentials).await.map_err(|fault| self.describe(&fault))
    }

    /// The tokens that a step brought.
    pub(super) async fn take(&self) -> Result<StoredCredentials, FailedLogin> {
        let kept = self.kept.load().await.map_err(|fault| self.describe(&fault))?;
        kept.ok_or_else(|| FailedLogin::NoAnswer("no token came".to_owned()))
    }
}
