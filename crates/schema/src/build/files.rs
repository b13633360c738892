//! Takes a file that is given in place of a reference to it: its path on a command line, or its bytes in JSON.
//!
//! A value of an element that refers to a file comes in; the attributes of the reference go out. Who asks for the
//! payload reads and keeps the bytes.

use crate::build::given::{GivenPart, GivenValue, ValueManner};
use crate::build::{PayloadBuilder, field_path};
use crate::files::DATA;
use crate::form::{JsonRecord, OWN};
use crate::shape::Declaration;

/// A file as it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenFile<'g> {
    /// The file at this path.
    Path(&'g str),
    /// These bytes, as base64.
    Data(&'g str),
}

/// What a reference says of a file that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFile {
    /// SHA-256 of its bytes, in hex digits.
    pub hash: String,
    /// Its media type, from its first bytes.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// Its name, if it has one and none is given.
    pub name: Option<String>,
}

/// Why a file is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFile {
    /// What is wrong.
    pub message: String,
    /// What to give instead.
    pub fix: String,
}

/// Reads a file and keeps its bytes for the payload.
pub type TakeFile<'t> = &'t dyn Fn(GivenFile<'_>) -> Result<TakenFile, RefusedFile>;

/// A file that was refused; the reason is reported.
pub(super) struct ReportedFile;

/// The attribute that has the hash.
const HASH: &str = "sha256";

type FileEntries = Vec<(String, GivenPart)>;

impl PayloadBuilder<'_> {
    /// The entries of the reference to a file that is given itself. `None` if the entries are of another element, or are
    /// those of a reference.
    pub(super) fn take_file(
        &mut self,
        (declaration, record): (&Declaration, &JsonRecord<'_>),
        entries: &[(String, GivenPart)],
        part: &GivenPart,
        path: &str,
    ) -> Result<Option<FileEntries>, ReportedFile> {
        let is_reference = || record.attributes.iter().any(|attribute| attribute.name == HASH);
        // A form gives the attributes without values.
        let is_blank = |(_, part): &(String, GivenPart)| part.given == GivenValue::Text(String::new());
        if declaration.marks.file && entries.iter().all(is_blank) && is_reference() {
            let name = &declaration.name;
            let fix = match self.manner {
                ValueManner::Json => format!("\"{}\": {{\"{DATA}\": BASE64}}", declaration.key()),
                ValueManner::Fields => format!("{}=@PATH", field_path(path)),
            };
            self.report_slip(
                path,
                part,
                format!("{name}: the file is missing"),
                format!("{name}: a file"),
                fix,
            );
            return Err(ReportedFile);
        }
        let key = if self.manner == ValueManner::Json { DATA } else { OWN };
        let Some((_, given)) = entries.iter().find(|(known, _)| declaration.marks.file && known == key)
        else {
            return Ok(None);
        };
        let (Some(take), GivenValue::Text(text)) = (self.files, &given.given) else { return Ok(None) };
        let file = match self.manner {
            ValueManner::Json => GivenFile::Data(text),
            ValueManner::Fields => GivenFile::Path(text.strip_prefix('@').unwrap_or(text)),
        };
        let name = &declaration.name;
        let taken = match take(file) {
            Ok(taken) => taken,
            Err(RefusedFile { message, fix }) => {
                let expected = format!("{name}: a file");
                self.report_slip(path, given, format!("{name}: {message}"), expected, fix);
                return Err(ReportedFile);
            }
        };
        // What is said beside the bytes counts, and the type has to be theirs.
        let said = |key: &str| entries.iter().find(|(known, _)| known == key).map(|(_, part)| &part.given);
        if said("type").is_some_and(|said| *said != GivenValue::Text(taken.media_type.clone())) {
            let message = format!("{name}: the first bytes of the file are those of {}", taken.media_type);
            let expected = format!("{name}: a file of the type that is given");
            let fix = format!("\"type\": \"{}\", or another file", taken.media_type);
            self.report_slip(path, part, message, expected, fix);
            return Err(ReportedFile);
        }
        let text = |key: &str, text: String| {
            (key.to_owned(), GivenPart { given: GivenValue::Text(text), offset: given.offset })
        };
        let length = GivenPart { given: self.spell_length(taken.bytes), offset: given.offset };
        let mut made =
            vec![text(HASH, taken.hash), text("type", taken.media_type), ("bytes".to_owned(), length)];
        let beside = entries.iter().filter(|(known, _)| known != key && known != "type");
        made.extend(beside.cloned());
        if said("name").is_none() {
            made.extend(taken.name.map(|name| text("name", name)));
        }
        Ok(Some(made))
    }

    fn spell_length(&self, bytes: usize) -> GivenValue {
        match self.manner {
            ValueManner::Json => GivenValue::Number(bytes.to_string()),
            ValueManner::Fields => GivenValue::Text(bytes.to_string()),
        }
    }
}
