//! A login begins: what the server says about it, the client at the authorization server, and the address for the browser.
//! It ends with the answer that the browser brings.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use rmcp::transport::auth::{AuthorizationMetadataSource, OAuthClientConfig};
use systole_http::{HttpAddress, HttpClient};

use super::browser_return::LoginAnswer;
use super::kept::{LoginStore, TokenFile};
use super::steps::LoginSteps;
use super::words::{FailedLogin, make_line};
use crate::client::{ServerAddress, is_here};
use crate::limits::{CONNECT, STEP};

/// The name of the client at an authorization server.
const CLIENT: &str = "Systole";
/// A request that needs the rights of a login. A server that wants one refuses it before it reads it.
const FIRST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// A login that is wanted.
pub struct LoginOrder {
    /// The server.
    pub at: ServerAddress,
    /// Where the tokens are kept.
    pub file: TokenFile,
    /// The client that was made at the authorization server before, and its secret.
    pub client: Option<(String, Option<String>)>,
    /// The rights to ask for; if there are none, those that the server names.
    pub scopes: Vec<String>,
}

/// A login that waits for the browser.
pub struct BegunLogin {
    steps: LoginSteps,
    /// The address for the browser.
    pub address: String,
    /// The host that is asked for the login.
    pub host: String,
    /// The rights that are asked for.
    pub scopes: Vec<String>,
    state: String,
}

/// Begins a login. The browser will come back to `back_to`.
///
/// # Errors
/// If there is nothing to log in to, or a server does not answer as OAuth says.
pub async fn begin_login(order: LoginOrder, back_to: &str) -> Result<BegunLogin, FailedLogin> {
    let challenge = ask_for_challenge(&order.at).await?;
    let mut steps = LoginSteps::new(&order.at).await?;
    let (is_asked, challenge) = (challenge.is_some(), challenge.flatten());
    let found = steps.manager.resolve_metadata_from_challenge(challenge.as_deref()).await;
    let found = found.map_err(|fault| steps.describe(&fault))?;
    let is_guess = found.source == AuthorizationMetadataSource::LegacyEndpointFallback;
    if is_guess && !is_asked {
        let words = "the server answers without a login, and says nothing about one".to_owned();
        return Err(FailedLogin::NoLogin(words));
    }
    let host = read_browser_host(&found.metadata.authorization_endpoint)?;
    let registers = found.metadata.registration_endpoint.is_some();
    steps.manager.set_metadata(found.metadata);
    let scopes = match order.scopes.is_empty() {
        true => steps.manager.select_initial_scopes(&[]).await,
        false => order.scopes,
    };
    let named: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = match order.client {
        Some((id, secret)) => {
            let client = OAuthClientConfig::new(id, back_to);
            secret.into_iter().fold(client, OAuthClientConfig::with_client_secret)
        }
        None if !registers => {
            let words = "the authorization server registers no clients by itself".to_owned();
            return Err(FailedLogin::NoClient(words));
        }
        None => {
            let made = steps.manager.register_client(CLIENT, back_to, &named).await;
            made.map_err(|fault| match (steps.describe(&fault), is_guess) {
                (FailedLogin::Refused(words), true) => {
                    FailedLogin::NoLogin(format!("the server says nothing about a login ({words})"))
                }
                (fault, _) => fault,
            })?
        }
    };
    steps.manager.set_credential_store(LoginStore::new(&order.at, &order.file, client.client_secret.clone()));
    steps.manager.configure_client(client).map_err(|fault| steps.describe(&fault))?;
    let address = steps.manager.get_authorization_url(&named).await;
    let address = address.map_err(|fault| steps.describe(&fault))?;
    let state =
        find_state(&address).ok_or_else(|| FailedLogin::NoAnswer("the address has no state".into()))?;
    Ok(BegunLogin { steps, address, host, scopes, state })
}

impl BegunLogin {
    /// Ends the login with what the browser brought, and keeps the tokens.
    ///
    /// # Errors
    /// If the login was refused, or the answer is to another login.
    pub async fn finish(self, answer: &LoginAnswer) -> Result<(), FailedLogin> {
        let LoginAnswer { code, state, issuer } = answer;
        // A code that a person typed has no state: it came by her own hand.
        if state.as_ref().is_some_and(|state| *state != self.state) {
            return Err(FailedLogin::Refused("the answer is to another login".to_owned()));
        }
        let code = code.as_ref().map_err(|words| FailedLogin::Refused(words.clone()))?;
        let manager = &self.steps.manager;
        let ended = manager.exchange_code_for_token_with_issuer(code, &self.state, issuer.as_deref());
        ended.await.map(drop).map_err(|fault| self.steps.describe(&fault))
    }

    /// Whether an answer is to this login.
    #[must_use]
    pub fn is_meant(&self, answer: &LoginAnswer) -> bool {
        answer.state.as_ref() == Some(&self.state)
    }
}

/// Asks the server something, and gives what it says about a login: `Some` if it wants one, perhaps with a challenge.
async fn ask_for_challenge(at: &ServerAddress) -> Result<Option<Option<String>>, FailedLogin> {
    let client = HttpClient::new(at.roots.clone(), None);
    let client = client.map_err(|fault| FailedLogin::NoAnswer(format!("no TLS: {fault}")))?;
    let mut request = Request::new(Full::new(Bytes::from_static(FIRST.as_bytes())));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    let answer = client.send_request(&at.to, request, CONNECT, STEP).await;
    let answer = answer.map_err(|fault| FailedLogin::NoAnswer(fault.describe(&at.to)))?;
    let challenge = answer.headers.get(WWW_AUTHENTICATE).and_then(|header| header.to_str().ok());
    Ok((answer.status == StatusCode::UNAUTHORIZED).then(|| challenge.map(str::to_owned)))
}

/// The host of the address that a browser is to open. A server that names no page of the web is refused, because the
/// address goes to a program of this machine.
fn read_browser_host(address: &str) -> Result<String, FailedLogin> {
    let found = HttpAddress::parse(address).ok().filter(|found| found.tls() || is_here(found.host()));
    let found = found.ok_or_else(|| {
        FailedLogin::NoAnswer(make_line(&format!(
            "the page for the login has no https address, but {address:?}"
        )))
    })?;
    // An IPv6 address has its brackets here, and a port is shown only if it is written.
    let named = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = named.find(['/', '?']).unwrap_or(named.len());
    Ok(named.get(..end).unwrap_or(found.host()).to_owned())
}

/// The word by which the answer to this login is known.
fn find_state(address: &str) -> Option<String> {
    let query = address.split_once('?')?.1;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
}
