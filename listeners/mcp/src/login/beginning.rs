//! A login begins: what the server says about it, the client at the authorization server, and the address for the browser.
//! It ends with the answer that the browser brings.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode};
use rmcp::transport::auth::OAuthClientConfig;
use systole_http::{ConnectFault, FailedRequest, HttpAddress, HttpAnswer, HttpClient};

use super::browser_return::LoginAnswer;
use super::kept::{KeptLogin, TokenFile, TokenGiver};
use super::steps::LoginSteps;
use super::words::{FailedLogin, is_scope, make_line};
use crate::client::{ServerAddress, is_here};
use crate::limits::{CONNECT, SCOPES, STEP};

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
    order: LoginOrder,
    giver: TokenGiver,
    client_secret: Option<String>,
    /// The address for the browser.
    pub address: String,
    /// The host that is asked for the login.
    pub host: String,
    /// The host that gets the code and gives the tokens, if it is another one.
    pub token_host: Option<String>,
    /// The rights that are asked for.
    pub scopes: Vec<String>,
    /// The word by which the answer to this login is known.
    pub state: String,
}

/// What a server says without a token.
struct FirstAnswer {
    status: StatusCode,
    challenge: Option<String>,
    /// Whether the server is in a private network.
    is_private: bool,
}

/// Begins a login. The browser will come back to `back_to`.
///
/// # Errors
/// If there is nothing to log in to, or a server does not answer as OAuth says.
pub async fn begin_login(order: LoginOrder, back_to: &str) -> Result<BegunLogin, FailedLogin> {
    // What could not be kept is not asked for.
    drop(order.file.open_staged().await.map_err(FailedLogin::NoFile)?);
    let FirstAnswer { status, challenge, is_private } = ask_first(&order.at).await?;
    let mut steps = LoginSteps::new(&order.at, is_private).await?;
    let found = steps.find_giver(challenge, is_private).await?;
    if found.is_guess && status != StatusCode::UNAUTHORIZED {
        let what =
            if status.is_success() { "without a login".to_owned() } else { status.as_u16().to_string() };
        let words = format!("the server answers {what}, and says nothing about a login");
        return Err(FailedLogin::NoLogin(words));
    }
    let metadata = found.metadata;
    let host = read_browser_host(&metadata.authorization_endpoint, &order.at)?;
    let token_host = Some(read_host(&metadata.token_endpoint)).filter(|token_host| *token_host != host);
    let registers = metadata.registration_endpoint.is_some();
    steps.manager.set_metadata(metadata);
    let scopes = match order.scopes.is_empty() {
        true => steps.manager.select_initial_scopes(&[]).await,
        false => order.scopes.clone(),
    };
    let scopes: Vec<String> = scopes.into_iter().filter(|scope| is_scope(scope)).take(SCOPES).collect();
    let named: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let client = match &order.client {
        Some((id, secret)) => {
            let client = OAuthClientConfig::new(id, back_to);
            secret.iter().fold(client, |client, secret| client.with_client_secret(secret))
        }
        None if !registers => {
            let words = "the authorization server registers no clients by itself".to_owned();
            return Err(FailedLogin::NoClient(words));
        }
        None => {
            let made = steps.manager.register_client(CLIENT, back_to, &named).await;
            made.map_err(|fault| match (steps.describe(&fault), found.is_guess) {
                (FailedLogin::Refused(words), true) => {
                    FailedLogin::NoLogin(format!("the server says nothing about a login ({words})"))
                }
                (fault, _) => fault,
            })?
        }
    };
    let client_secret = client.client_secret.clone();
    steps.manager.configure_client(client).map_err(|fault| steps.describe(&fault))?;
    let address = steps.manager.get_authorization_url(&named).await;
    let address = address.map_err(|fault| steps.describe(&fault))?;
    let state =
        find_state(&address).ok_or_else(|| FailedLogin::NoAnswer("the address has no state".into()))?;
    let giver = found.giver;
    Ok(BegunLogin { steps, order, giver, client_secret, address, host, token_host, scopes, state })
}

impl BegunLogin {
    /// Ends the login with what the browser brought, and keeps the tokens.
    ///
    /// # Errors
    /// If the login was refused, or the answer is to another login.
    pub async fn finish(self, answer: &LoginAnswer) -> Result<(), FailedLogin> {
        let LoginAnswer { code, issuer, .. } = answer;
        if !answer.is_to(&self.state) {
            return Err(FailedLogin::Refused("the answer is to another login".to_owned()));
        }
        let code = code.as_ref().map_err(|words| FailedLogin::Refused(words.clone()))?;
        let staged = self.order.file.open_staged().await.map_err(FailedLogin::NoFile)?;
        self.steps.http.begin_steps();
        let manager = &self.steps.manager;
        let ended = manager.exchange_code_for_token_with_issuer(code, &self.state, issuer.as_deref()).await;
        // A server may send back what it got.
        let hide = |words: &str| {
            let secrets = [Some(code.as_str()), self.client_secret.as_deref()];
            let secrets = secrets.into_iter().flatten().filter(|secret| !secret.is_empty());
            secrets.fold(words.to_owned(), |words, secret| words.replace(secret, "[key]"))
        };
        ended.map_err(|fault| self.steps.describe(&fault).map_words(hide))?;
        let credentials = self.steps.take().await?;
        let address = self.order.at.url().to_owned();
        let kept = KeptLogin { address, giver: self.giver, client_secret: self.client_secret, credentials };
        staged.keep(&kept).map_err(FailedLogin::NoFile)
    }
}

/// Asks the server something without a token.
async fn ask_first(at: &ServerAddress) -> Result<FirstAnswer, FailedLogin> {
    let client = HttpClient::new(at.roots.clone(), None);
    let client = client.map_err(|fault| FailedLogin::NoAnswer(format!("no TLS: {fault}")))?;
    let mut request = Request::new(Full::new(Bytes::from_static(FIRST.as_bytes())));
    *request.method_mut() = Method::POST;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    // Whether it is in a private network is known by the connection that is made, and by no other look at its name.
    let public = client.clone().with_public_only();
    let (answer, is_private) = match public.send_request(&at.to, request.clone(), CONNECT, STEP).await {
        Err(FailedRequest::NoConnection(ConnectFault::Private(_))) => {
            (client.send_request(&at.to, request, CONNECT, STEP).await, true)
        }
        answer => (answer, false),
    };
    let answer = answer.map_err(|fault| FailedLogin::NoAnswer(fault.describe(&at.to)))?;
    let status = StatusCode::from_u16(answer.status).unwrap_or_default();
    if status.is_redirection() {
        let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
        let words = format!("the server redirects to {to:?}, which is not followed; write that address");
        return Err(FailedLogin::NoLogin(make_line(&words)));
    }
    Ok(FirstAnswer { status, challenge: find_challenge(&answer), is_private })
}

/// The challenge of an answer that is about tokens, of several.
fn find_challenge(answer: &HttpAnswer) -> Option<String> {
    let all = answer.headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|header| header.to_str().ok());
    let all: Vec<&str> = all.collect();
    let named = all.iter().find(|challenge| challenge.contains("resource_metadata"));
    let bearer = || all.iter().find(|challenge| challenge.to_ascii_lowercase().starts_with("bearer"));
    named.or_else(bearer).or(all.first()).map(|challenge| (*challenge).to_owned())
}

/// The host of the address that a browser is to open. A server that names no page of the web is refused, because the
/// address goes to a program of this machine; so is a page of this machine, unless the server is here too.
fn read_browser_host(address: &str, at: &ServerAddress) -> Result<String, FailedLogin> {
    let is_page = |found: &HttpAddress| match is_here(found.host()) {
        true => is_here(at.to.host()),
        false => found.tls(),
    };
    if HttpAddress::parse(address).ok().is_some_and(|found| is_page(&found)) {
        return Ok(read_host(address));
    }
    let words = format!("the page for the login has no https address, but {address:?}");
    Err(FailedLogin::NoAnswer(make_line(&words)))
}

/// The host in an address. An IPv6 address has its brackets, and a port is shown only if it is written.
fn read_host(address: &str) -> String {
    let named = address.split_once("://").map_or(address, |(_, rest)| rest);
    make_line(named.split(['/', '?']).next().unwrap_or_default())
}

/// The word by which the answer to this login is known.
fn find_state(address: &str) -> Option<String> {
    let query = address.split_once('?')?.1;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
}
