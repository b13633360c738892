//! The way back from the browser: a listener on this machine takes the one request with the answer. What else comes there is
//! answered and changes nothing.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::words::make_line;
use crate::limits::{BROWSER_BYTES, BROWSER_CONNECTIONS, BROWSER_REQUEST, IN_BROWSER};

/// The path of the answer.
const PATH: &str = "/callback";
/// The page for an answer, and the one for anything else.
const CAME: (&str, &str) =
    ("200 OK", "The answer has come. The terminal says the rest; this page can be closed.");
const OTHER: (&str, &str) = ("400 Bad Request", "This is the answer to another login. Nothing was changed.");
const NOTHING: (&str, &str) = ("404 Not Found", "There is nothing here.");

/// What the browser brought.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginAnswer {
    /// The code for the tokens, or why there is none.
    pub(super) code: Result<String, String>,
    /// The login that it answers; none in what a person typed without it.
    pub(super) state: Option<String>,
    /// Who says that it answers.
    pub(super) issuer: Option<String>,
}

impl LoginAnswer {
    /// Whether it answers that login. A code that a person typed has no state: it came by her own hand.
    #[must_use]
    pub fn is_to(&self, state: &str) -> bool {
        self.state.as_deref().is_none_or(|of| of == state)
    }

    /// Reads what a person copied: the address that the browser was led to, or the code alone.
    #[must_use]
    pub fn from_line(line: &str) -> Option<LoginAnswer> {
        let line = line.trim();
        if let Some((_, query)) = line.split_once('?') {
            return LoginAnswer::from_query(query);
        }
        let is_code = !line.is_empty() && line.chars().all(|sign| sign.is_ascii_graphic());
        is_code.then(|| LoginAnswer { code: Ok(line.to_owned()), state: None, issuer: None })
    }

    /// Reads the query of the address that the browser was led to. One without a state is no answer.
    fn from_query(query: &str) -> Option<LoginAnswer> {
        let query = query.split('#').next().unwrap_or_default();
        let find = |wanted: &str| {
            let mut pairs = form_urlencoded::parse(query.as_bytes());
            pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        let code = match (find("error"), find("code")) {
            (Some(error), _) => Err(describe_error(&error, find("error_description").as_deref())),
            (None, Some(code)) => Ok(code),
            (None, None) => return None,
        };
        Some(LoginAnswer { code, state: Some(find("state")?), issuer: find("iss") })
    }
}

fn describe_error(error: &str, description: Option<&str>) -> String {
    let more = description.map(|words| format!(": {words}")).unwrap_or_default();
    make_line(&format!("the authorization server answers {error}{more}"))
}

/// The listener for the browser.
pub struct BrowserReturn {
    listener: TcpListener,
    port: u16,
}

impl BrowserReturn {
    /// Listens on this machine alone.
    ///
    /// # Errors
    /// If the port is not free.
    pub async fn listen(port: Option<u16>) -> io::Result<BrowserReturn> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(BrowserReturn { listener, port })
    }

    /// The address to which the browser comes back.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer to the login of that state. Others change nothing.
    ///
    /// # Errors
    /// If none comes in time.
    pub async fn wait(self, state: &str) -> io::Result<LoginAnswer> {
        let (found, mut answers) = mpsc::channel(1);
        let accepting = async {
            let (mut open, mut oldest) = (JoinSet::new(), VecDeque::new());
            loop {
                let stream = match self.listener.accept().await {
                    Ok((stream, _)) => stream,
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                    Err(error) => return error,
                };
                while open.try_join_next().is_some() {}
                oldest.retain(|one: &AbortHandle| !one.is_finished());
                // Who opens many and says nothing holds up no one.
                if oldest.len() >= BROWSER_CONNECTIONS
                    && let Some(first) = oldest.pop_front()
                {
                    first.abort();
                }
                let (found, state) = (found.clone(), state.to_owned());
                let answering = async move { answer_browser(stream, &state, &found).await };
                oldest.push_back(open.spawn(timeout(BROWSER_REQUEST, answering)));
            }
        };
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no answer came from the browser");
        tokio::select! {
            error = accepting => Err(error),
            answer = timeout(IN_BROWSER, answers.recv()) => answer.ok().flatten().ok_or_else(late),
        }
    }
}

/// Answers one request of a browser.
async fn answer_browser(
    mut stream: TcpStream,
    state: &str,
    found: &mpsc::Sender<LoginAnswer>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > BROWSER_BYTES || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let answer = read_answer(&head);
    let (status, words) = match &answer {
        Some(answer) if answer.is_to(state) => CAME,
        Some(_) => OTHER,
        None => NOTHING,
    };
    let page = format!("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Systole</title>\n<p>{words}</p>\n");
    let length = page.len();
    let whole = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n{page}"
    );
    stream.write_all(whole.as_bytes()).await?;
    stream.shutdown().await?;
    if let Some(answer) = answer.filter(|answer| answer.is_to(state)) {
        // The login has ended: no one waits for a second answer.
        let _ended = found.send(answer).await;
    }
    Ok(())
}

/// The answer in the first line of a request.
fn read_answer(head: &[u8]) -> Option<LoginAnswer> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let target = std::str::from_utf8(line).ok()?.strip_prefix("GET ")?.split(' ').next()?;
    let (path, query) = target.split_once('?')?;
    (path == PATH).then(|| LoginAnswer::from_query(query)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g12_an_answer_is_read_from_the_request_the_address_and_the_code() {
        let request =
            |target: &str| read_answer(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        let whole = request("/callback?code=a%2Fb&state=s&iss=https%3A%2F%2Fa.example").unwrap();
        assert_eq!(whole.code, Ok("a/b".to_owned()));
        assert_eq!((whole.state.as_deref(), whole.issuer.as_deref()), (Some("s"), Some("https://a.example")));
        let refused = request("/callback?error=access_denied&error_description=no%0A&state=s").unwrap();
        let words = "the authorization server answers access_denied: no ";
        assert_eq!(refused.code, Err(words.to_owned()));
        for nothing in
            ["/favicon.ico", "/callback", "/callback?code=a", "/callback?state=s", "/other?code=a&state=s"]
        {
            assert!(request(nothing).is_none(), "{nothing}");
        }
        assert!(read_answer(b"POST /callback?code=a&state=s HTTP/1.1\r\n\r\n").is_none());
        let line = |line: &str| LoginAnswer::from_line(line).map(|found| (found.code, found.state));
        let code = || Ok("abc".to_owned());
        assert_eq!(
            line("http://127.0.0.1:9/callback?code=abc&state=s#x\n"),
            Some((code(), Some("s".to_owned())))
        );
        assert_eq!(line(" abc \n"), Some((code(), None)));
        assert_eq!(line("two words"), None);
        assert_eq!(line("\n"), None);
    }
}
