//! A file of a record: a picture is shown in place, and everything else is a download.
//!
//! A thread, a number in it and the number of a file come in; its bytes go out. A browser runs nothing of them.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::page_request::PageRequest;
use super::record::{no_record, read_seq};
use super::shorten::encode_part;
use systole_core::types::refusal::Refusal;
use systole_hall::reading::ReadRefusal;
use systole_hall::record_files::{find_file, is_picture};
use systole_queries::causes;

/// What a file may do if a browser opens it by itself: nothing.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

/// Sends a file of a record.
pub(super) async fn send_file(asked: &PageRequest) -> Result<Response, Refusal> {
    let (id, seq, number) = (asked.thread()?, read_seq(asked)?, asked.part("number").to_owned());
    let name = format!("{}-{seq}-{}", encode_part(id.as_str()), encode_part(&number));
    let found = asked.look(&[], move |moment, _| {
        let placed = causes::at(&*moment.reader, &id, seq)?;
        let (_, record) = placed.ok_or_else(|| ReadRefusal::from(no_record(&id, seq)))?;
        find_file(moment, &record, &number)
    });
    let file = found.await?;
    let (media_type, shown) = match file.media_type.filter(|_| is_picture(file.media_type)) {
        Some(media_type) => (media_type, "inline"),
        None => ("application/octet-stream", "attachment"),
    };
    let end = file.media_type.and_then(|media_type| media_type.split('/').nth(1)).unwrap_or("bin");
    let headers = [
        (header::CONTENT_TYPE, media_type.to_owned()),
        (header::CONTENT_DISPOSITION, format!("{shown}; filename=\"{name}.{end}\"")),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
    ];
    Ok((headers, file.bytes).into_response())
}
