//! Compression of answers, for clients that take gzip.
//!
//! A request and its whole answer come in; the answer goes out, compressed if it is text of some length. Streams are
//! left alone, because each of their events has to arrive at once, and so are answers that open a session, so that the
//! length of an answer tells nothing of a secret.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::limits;

/// Kinds of text, besides those that begin with `text/`.
const TEXTS: [&str; 3] = ["application/json", "application/xml", "image/svg+xml"];

/// Compresses the answer if the client takes it, and it is worth it.
pub async fn compress(request: Request, next: Next) -> Response {
    let takes_gzip = can_take_gzip(request.headers());
    let mut response = next.run(request).await;
    if !is_worth_it(&response) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if !takes_gzip {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // Its length is known, so it is in memory already and reading it cannot fail.
    let whole = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let bytes = whole.clone();
    // A panic of the other thread leaves the answer as it is.
    let Ok(Ok(small)) = tokio::task::spawn_blocking(move || compress_bytes(&bytes)).await else {
        return Response::from_parts(head, Body::from(whole));
    };
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(small))
}

/// Whether an answer is text, long enough, of a known length, and without a secret.
fn is_worth_it(response: &Response) -> bool {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    (kind.starts_with("text/") || TEXTS.contains(&kind))
        && response.body().size_hint().exact().is_some_and(|bytes| bytes >= limits::COMPRESSED_BYTES)
        && !headers.contains_key(header::SET_COOKIE)
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// Whether the client takes gzip: it names it, or everything, and not with `q=0`.
fn can_take_gzip(headers: &HeaderMap) -> bool {
    let weight = |wanted: &str| {
        let all = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(',')).find_map(|one| {
            let (coding, weight) = one.split_once(';').unwrap_or((one, "q=1"));
            let weight = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
            coding.trim().eq_ignore_ascii_case(wanted).then(|| weight.unwrap_or_default())
        })
    };
    weight("gzip").or_else(|| weight("*")).is_some_and(|weight| weight > 0.0)
}

fn compress_bytes(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_only_by_those_who_say_so() {
        for (said, takes) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("*", true),
            ("br", false),
            ("", false),
            ("gzip;q=0", false),
            ("gzip; q=0.0, *", false),
            ("*;q=0", false),
            ("gzip;q=much", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(said))]);
            assert_eq!(can_take_gzip(&headers), takes, "{said:?}");
        }
        assert!(!can_take_gzip(&HeaderMap::new()));
    }
}
