//! A login at a server: OAuth 2.1 with PKCE, as MCP says it. The steps of the protocol are those of the official library;
//! here are the file that keeps the tokens, the bounded client for each of its requests, the way back from the browser,
//! and the token that goes with a call.

mod beginning;
mod browser_return;
mod kept;
mod oauth_http;
mod steps;
mod tokens;
mod words;

pub use beginning::{BegunLogin, LoginOrder, begin_login};
pub use browser_return::{BrowserReturn, LoginAnswer};
pub use kept::TokenFile;
pub(crate) use tokens::LoginTokens;
pub use words::FailedLogin;
