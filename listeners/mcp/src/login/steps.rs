//! The library's steps of a login, with our client for each request. The library forgets why a request had no answer, so
//! that is asked of the client.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager};

use super::oauth_http::LoginHttp;
use super::words::FailedLogin;
use crate::client::ServerAddress;

/// The steps at one server.
pub(super) struct LoginSteps {
    pub(super) manager: AuthorizationManager,
    http: Arc<LoginHttp>,
}

impl LoginSteps {
    pub(super) async fn new(at: &ServerAddress) -> Result<LoginSteps, FailedLogin> {
        let http = Arc::new(LoginHttp::new(at).await.map_err(FailedLogin::NoAnswer)?);
        let manager = AuthorizationManager::new_with_oauth_http_client(at.url(), http.clone()).await;
        let manager = manager.map_err(|fault| FailedLogin::from_fault(&fault, None))?;
        Ok(LoginSteps { manager, http })
    }

    /// Why a step failed.
    pub(super) fn describe(&self, fault: &AuthError) -> FailedLogin {
        FailedLogin::from_fault(fault, self.http.take_fault().as_deref())
    }
}
