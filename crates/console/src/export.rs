//! A thread and everything below it as one page in a file, without scripts: the page of `systole export --html`.
//!
//! A thread comes in; a file to keep goes out. Its size is bounded; the command has no bound.

use std::io::{self, Write};

use axum::http::header;
use axum::response::{IntoResponse as _, Response};

use super::page_request::PageRequest;
use super::shorten::encode_part;
use crate::limits::EXPORT_BYTES;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_export::documents::NamedDocuments;
use systole_export::{ExportFault, ExportScope, page};
use systole_hall::log_view::LogMoment;
use systole_hall::reading::{ReadRefusal, thread_of};
use systole_hall::request_refusals::describe_unfit_address;

/// Bytes up to the largest size of a file.
#[derive(Default)]
struct BoundedFile {
    bytes: Vec<u8>,
}

impl Write for BoundedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > EXPORT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends the file.
pub(super) async fn send_export(asked: &PageRequest) -> Result<Response, Refusal> {
    let typed = asked.part("id").to_owned();
    let (id, file) = asked
        .look(&[], move |moment, _| {
            let id = thread_of(moment, &typed)?;
            match write_export(moment, &id) {
                Ok(file) => Ok((id, file)),
                Err(ExportFault::Log(fault)) => Err(fault.into()),
                Err(
                    ExportFault::Write(_)
                    | ExportFault::Key { .. }
                    | ExportFault::Reason(_)
                    | ExportFault::EraserName(_),
                ) => {
                    let words = format!("the export of {id} has more than {} MiB", EXPORT_BYTES >> 20);
                    let refusal =
                        describe_unfit_address(words).fixed_by(format!("systole export {id} --html"));
                    Err(ReadRefusal::from(refusal).into())
                }
            }
        })
        .await?;
    let name = format!("attachment; filename=\"{}.html\"", encode_part(id.as_str()));
    // It is never shown as a page of this organism.
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, file).into_response())
}

fn write_export(moment: &LogMoment, id: &ThreadId) -> Result<Vec<u8>, ExportFault> {
    let reader = &*moment.reader;
    let scope = ExportScope::find_threads(reader, std::slice::from_ref(id))?;
    let (mut named, mut file) = (NamedDocuments::default(), BoundedFile::default());
    if !moment.sees_all {
        named = NamedDocuments::without_configurations();
    }
    scope.visit_records(reader, |_, record| {
        named.take_record(record);
        Ok(())
    })?;
    named.write_documents(reader, &scope.erased_links, &mut io::sink())?;
    page::write_page(&scope, reader, &named, &mut file)?;
    Ok(file.bytes)
}
