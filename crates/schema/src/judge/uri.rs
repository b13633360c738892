//! The spelling of `xs:anyURI`: RFC 3986, with the characters that XSD escapes treated as letters.
//!
//! A value comes in; yes or no goes out. It follows the judge: a port has digits, brackets surround a
//! host or appear in a fragment, a relative reference has no colon in its first part.

pub(crate) fn is_uri(value: &str) -> bool {
    let plain: Vec<u8> = value.bytes().map(escape_byte).collect();
    let Ok(text) = std::str::from_utf8(&plain) else { return false };
    if let Some((scheme, rest)) = text.split_once(':')
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && is_reference(rest)
    {
        return true;
    }
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    (text.starts_with('/') || !first.contains(':')) && is_reference(text)
}

/// A character that XSD leaves unescaped counts as one harmless character per byte.
fn escape_byte(byte: u8) -> u8 {
    let odd = !(32..127).contains(&byte) || b" <>\"{}|\\^`'".contains(&byte);
    if odd { b'_' } else { byte }
}

/// Everything after the scheme: `//authority/path?query#fragment`, all of it optional.
fn is_reference(text: &str) -> bool {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (text, query) = text.split_once('?').unwrap_or((text, ""));
    let (authority, path) = match text.strip_prefix("//") {
        Some(rest) => rest.split_at_checked(rest.find('/').unwrap_or(rest.len())).unwrap_or((rest, "")),
        None => ("", text),
    };
    is_authority(authority)
        && are_chars(path, b":@/")
        && are_chars(query, b":@/?")
        && are_chars(fragment, b":@/?[]")
}

fn is_authority(text: &str) -> bool {
    let rest = match text.split_once('@') {
        Some((user, rest)) if are_chars(user, b":") => rest,
        _ => text,
    };
    let (host_fits, after) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, after)) => (true, after),
        None => {
            let end = rest.find(':').unwrap_or(rest.len());
            let (host, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            (are_chars(host, b""), after)
        }
    };
    let port = after.strip_prefix(':');
    let port_fits = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    host_fits && port_fits && (port.is_some() || after.is_empty())
}

/// Whether all characters are whole percent escapes, allowed everywhere by RFC 3986, or in `more`.
fn are_chars(text: &str, more: &[u8]) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let fits = match byte {
            b'%' => (0..2).all(|_| bytes.next().is_some_and(|b| b.is_ascii_hexdigit())),
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte) || more.contains(&byte),
        };
        if !fits {
            return false;
        }
    }
    true
}
