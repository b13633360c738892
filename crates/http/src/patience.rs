//! How long an answer asks us to wait before the next request. It reads no clock: a date is compared with the date
//! of the same answer.

use std::time::Duration;

use hyper::header::{DATE, HeaderMap, RETRY_AFTER};

/// Milliseconds to wait, from the head of an answer: in seconds, as a date, or in milliseconds in a separate
/// header. A value that is not understood is ignored.
pub fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = said("retry-after-ms").and_then(|ms| ms.parse::<u64>().ok()) {
        return Some(ms);
    }
    let wait = said(RETRY_AFTER.as_str())?;
    if let Some(ms) = parse_seconds(wait) {
        return Some(ms);
    }
    let (then, now) = (httpdate::parse_http_date(wait).ok()?, said(DATE.as_str())?);
    let now = httpdate::parse_http_date(now).ok()?;
    let wait = then.duration_since(now).unwrap_or(Duration::ZERO);
    Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

/// Reads seconds, possibly with decimals. A fraction of a millisecond counts as a whole one.
pub fn parse_seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) {
        return None;
    }
    let thousandths: u64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    let finer = part.bytes().skip(3).any(|digit| digit != b'0');
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(thousandths + u64::from(finer))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_wait_is_read_in_every_form() {
        for (headers, ms) in [
            (&[("retry-after", "2")][..], Some(2_000)),
            (&[("retry-after", " 0.25 ")], Some(250)),
            (&[("retry-after", "0")], Some(0)),
            (&[("retry-after", "2"), ("retry-after-ms", "1700")], Some(1_700)),
            (
                &[
                    ("date", "Fri, 20 Nov 2026 07:00:00 GMT"),
                    ("retry-after", "Fri, 20 Nov 2026 07:01:30 GMT"),
                ],
                Some(90_000),
            ),
            (
                &[
                    ("date", "Fri, 20 Nov 2026 07:00:00 GMT"),
                    ("retry-after", "Fri, 20 Nov 2026 06:00:00 GMT"),
                ],
                Some(0),
            ),
            (&[("retry-after", "Fri, 20 Nov 2026 07:01:30 GMT")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[], None),
        ] {
            let map: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            assert_eq!(retry_after_ms(&map), ms, "{headers:?}");
        }
        assert_eq!(parse_seconds("30.0001"), Some(30_001));
        assert_eq!(parse_seconds("99999999999999999999"), None);
    }
}
