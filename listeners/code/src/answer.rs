//! The answers: hits with their files and lines, or why there are none.
//!
//! Results come in; payloads of the vocabulary go out.

use systole_kit::writer::{StartTag, XmlWriter};
use systole_kit::{Payload, namespaces};

use crate::failure::CodeFault;
use crate::text::merge::LineRange;

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeHit {
    pub(crate) file: String,
    pub(crate) range: LineRange,
    pub(crate) text: String,
    /// The hash of the whole file, in hex.
    pub(crate) sha256: String,
}

/// How hits were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitKind {
    /// By words, best first.
    Ranked,
    /// As plain text, in the order of files.
    Plain,
}

/// The answer to a search.
#[derive(Debug)]
pub(crate) struct SearchAnswer {
    pub(crate) kind: HitKind,
    /// The number of all hits.
    pub(crate) found: usize,
    /// The number of searched files.
    pub(crate) files: usize,
    /// Whether a bound ended the search.
    pub(crate) is_partial: bool,
    pub(crate) hits: Vec<CodeHit>,
}

/// The answer to an extract.
#[derive(Debug)]
pub(crate) struct ExtractAnswer {
    pub(crate) hit: CodeHit,
    /// The number of lines of the file.
    pub(crate) lines: usize,
    /// Other places of the same symbol.
    pub(crate) also: Vec<LineRange>,
}

/// The answer to a pattern.
#[derive(Debug)]
pub(crate) struct PatternAnswer {
    pub(crate) found: usize,
    pub(crate) files: usize,
    pub(crate) is_partial: bool,
    pub(crate) hits: Vec<CodeHit>,
}

impl SearchAnswer {
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let tag = writer.open("search-result").xmlns(namespaces::CODE);
        let kind = if self.kind == HitKind::Plain { "plain" } else { "ranked" };
        let tag = tag.attr("kind", kind).attr("found", &self.found.to_string());
        let tag =
            tag.attr("files", &self.files.to_string()).attr_if("partial", self.is_partial.then_some("true"));
        tag.content(|inside| self.hits.iter().for_each(|hit| hit.write_hit(inside)));
        read_payload(writer)
    }
}

impl PatternAnswer {
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let tag = writer.open("query-result").xmlns(namespaces::CODE);
        let tag = tag.attr("found", &self.found.to_string()).attr("files", &self.files.to_string());
        let tag = tag.attr_if("partial", self.is_partial.then_some("true"));
        tag.content(|inside| self.hits.iter().for_each(|hit| hit.write_hit(inside)));
        read_payload(writer)
    }
}

impl ExtractAnswer {
    pub(crate) fn to_payload(&self) -> Option<Payload> {
        let also: Vec<String> =
            self.also.iter().map(|range| format!("{}-{}", range.first, range.last)).collect();
        let also = also.join(" ");
        let mut writer = XmlWriter::new();
        let tag = self.hit.add_place(writer.open("extract-result").xmlns(namespaces::CODE));
        let tag = tag.attr("lines", &self.lines.to_string());
        tag.attr_if("also", (!also.is_empty()).then_some(also.as_str())).text(&self.hit.text);
        read_payload(writer)
    }
}

impl CodeHit {
    fn write_hit(&self, inside: &mut XmlWriter) {
        self.add_place(inside.open("hit")).text(&self.text);
    }

    fn add_place<'w, 'n>(&self, tag: StartTag<'w, 'n>) -> StartTag<'w, 'n> {
        let tag = tag.attr("file", &self.file).attr("first", &self.range.first.to_string());
        tag.attr("last", &self.range.last.to_string()).attr("sha256", &self.sha256)
    }
}

impl CodeFault {
    /// The answer that says why there is no result. `element` is that of the request.
    pub(crate) fn to_payload(&self, element: &str) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let tag = writer
            .open("code-error")
            .xmlns(namespaces::CODE)
            .attr("code", self.code)
            .attr("element", element);
        tag.content(|inside| {
            inside.open("message").text(&self.message);
            self.nearest.iter().for_each(|name| inside.open("nearest").text(name));
            if let Some(fix) = &self.fix {
                inside.open("fix").text(fix);
            }
        });
        read_payload(writer)
    }
}

fn read_payload(writer: XmlWriter) -> Option<Payload> {
    Payload::from_trusted(writer.finish().into()).ok()
}
