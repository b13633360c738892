//! The files of a record, for programs and for pages: one by its number, and all of them as a person sees them.
//!
//! A client that may see a record gets its files. Which type a file has is shown by its first bytes, never by what the
//! payload says of it.

use systole_kit::file_reference::{self, FileReference};
use systole_queries::record_files::{KeptFile, read_file};

use super::limits;
use super::log_view::LogMoment;
use super::reading::{ReadRefusal, ReadResult};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogFault;
use systole_core::types::record::Record;
use systole_show::columns::{cut, plain};

/// A file that was found.
pub struct RecordFile {
    /// What it contains.
    pub bytes: Vec<u8>,
    /// Its type, if its first bytes show one.
    pub media_type: Option<&'static str>,
}

/// Whether a browser may draw a file of this type. It draws no SVG and no HTML of ours: those have no such first bytes.
pub fn is_picture(media_type: Option<&str>) -> bool {
    media_type.is_some_and(|media_type| media_type.starts_with("image/"))
}

/// A file of a record, by its number from 1.
pub fn find_file(moment: &LogMoment, record: &Record, typed: &str) -> ReadResult<RecordFile> {
    let (thread, seq) = (&record.header.thread, record.header.seq);
    let files = file_reference::list_files(&record.body);
    let missing = |words: String| Err(ReadRefusal::missing(words, "a file that the record names").into());
    let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let Some(file) = number.and_then(|at| files.get(at)) else {
        let words = format!("record {seq} of {thread} has no file {}", cut(&plain(typed), limits::FILE_NAME));
        return missing(format!("{words}; it names {}", files.len()));
    };
    match read_file(&*moment.reader, file)? {
        KeptFile::Erased => missing(format!("file {typed} of record {seq} was erased")),
        KeptFile::Missing => missing(format!("this log does not have file {typed} of record {seq}")),
        KeptFile::Whole(bytes) => {
            let media_type = file_reference::find_type(&bytes);
            if is_hidden(moment, media_type) {
                return Err(ReadRefusal::needs_read("files of an unknown type are").into());
            }
            Ok(RecordFile { bytes: bytes.to_vec(), media_type })
        }
    }
}

/// Whether a client may not see a file. Prompts and configurations are documents too, and a listener may name any hash.
fn is_hidden(moment: &LogMoment, media_type: Option<&str>) -> bool {
    media_type.is_none() && !moment.sees_all
}

/// A file of a record, on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
    /// Its number, name, type and size.
    pub label: String,
    /// What stands in place of the file, if it is not there.
    pub why: Option<&'static str>,
    /// Whether a browser may draw it.
    pub is_picture: bool,
    /// The thread of its record.
    pub thread: ThreadId,
    /// The number of its record there.
    pub seq: u64,
    /// Its number in the record.
    pub number: usize,
}

/// Lists the files of the records of one page. How much of them is looked at is bounded.
pub struct FileLister<'m> {
    moment: &'m LogMoment,
    lines: usize,
    bytes: usize,
}

impl<'m> FileLister<'m> {
    /// Nothing was looked at yet.
    pub fn new(moment: &'m LogMoment) -> FileLister<'m> {
        FileLister { moment, lines: 0, bytes: 0 }
    }

    /// The files that the payload of a record refers to, or a line that says how many more there are. A payload is not
    /// read after the last file for which the page has a line.
    pub fn list_files(
        &mut self,
        thread: &ThreadId,
        seq: u64,
        payload: &[u8],
    ) -> Result<Vec<FileLine>, LogFault> {
        let room = limits::PAGE_FILES.saturating_sub(self.lines);
        let more = |label: String, number: usize| {
            let why = Some("too many files for this page; the record has them");
            FileLine { label, why, is_picture: false, thread: thread.clone(), seq, number }
        };
        if room == 0 {
            let has_files = file_reference::may_have_files(payload);
            return Ok(has_files
                .then(|| more("its files, if it has any".to_owned(), 1))
                .into_iter()
                .collect());
        }
        let mut lines = Vec::new();
        let files = file_reference::list_files(payload);
        for (at, file) in files.iter().enumerate().take(room) {
            let number = at + 1;
            let (kept, why) = self.look_at(file)?;
            let is_picture = why.is_none() && is_picture(kept.and_then(|(media_type, _)| media_type));
            lines.push(FileLine {
                label: describe_file(number, file, kept),
                why,
                is_picture,
                thread: thread.clone(),
                seq,
                number,
            });
        }
        self.lines += lines.len();
        if let Some(left) = files.len().checked_sub(room).filter(|left| *left > 0) {
            lines.push(more(format!("and {left} more"), room + 1));
        }
        Ok(lines)
    }

    /// The type and size of a file that was found, and why it is not shown.
    fn look_at(
        &mut self,
        file: &FileReference,
    ) -> Result<(Option<FoundType>, Option<&'static str>), LogFault> {
        if self.bytes >= limits::PAGE_FILE_BYTES {
            return Ok((None, Some("too many files for this page; the record shows it")));
        }
        Ok(match read_file(&*self.moment.reader, file)? {
            KeptFile::Erased => (None, Some("erased")),
            KeptFile::Missing => (None, Some("this log does not have it")),
            KeptFile::Whole(bytes) => {
                self.bytes += bytes.len();
                let media_type = file_reference::find_type(&bytes);
                let why = is_hidden(self.moment, media_type).then_some("only for clients with the role read");
                (Some((media_type, bytes.len())), why)
            }
        })
    }
}

/// The type that the first bytes of a file show, if it is known, and its size.
type FoundType = (Option<&'static str>, usize);

/// `file 1: plan.png, image/png, 68 bytes`
fn describe_file(number: usize, file: &FileReference, kept: Option<FoundType>) -> String {
    let shorten = |text: &str| cut(&plain(text), limits::FILE_NAME);
    let name = file.name.as_deref().map(|name| format!("{}, ", shorten(name))).unwrap_or_default();
    let said = shorten(&file.media_type);
    let (what, bytes) = match kept {
        None => (said, file.bytes),
        Some((found, bytes)) => {
            let what = match found {
                Some(media_type) if media_type == file.media_type => said,
                Some(media_type) => format!("{media_type} (the message says {said:?})"),
                None => format!("of unknown type (the message says {said:?})"),
            };
            (what, u64::try_from(bytes).ok())
        }
    };
    let size = bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    format!("file {number}: {name}{what}{size}")
}
