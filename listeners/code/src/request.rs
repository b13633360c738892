//! The requests: `<search>`, `<extract>` and `<query>`.
//!
//! A payload that its schema has judged comes in; a request goes out.

use systole_kit::{Payload, namespaces};

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodeRequest {
    Search(SearchRequest),
    Extract(ExtractRequest),
    Query(PatternRequest),
}

/// Ranked blocks for a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchRequest {
    pub(crate) query: String,
    pub(crate) path: Option<String>,
    pub(crate) allow_tests: bool,
}

/// A file, some lines of it, or a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtractRequest {
    pub(crate) path: String,
    pub(crate) symbol: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) end_line: Option<usize>,
}

/// All places that fit a syntax pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternRequest {
    pub(crate) pattern: String,
    pub(crate) language: Option<String>,
    pub(crate) path: Option<String>,
}

impl CodeRequest {
    /// Reads a request. `None` for another payload.
    pub(crate) fn from_payload(payload: &Payload) -> Option<CodeRequest> {
        if *payload.name().ns != *namespaces::CODE {
            return None;
        }
        let field = |name: &str| payload.text_of(name).filter(|text| !text.trim().is_empty());
        let number = |name: &str| field(name).and_then(|text| text.trim().parse::<usize>().ok());
        Some(match &*payload.name().local {
            "search" => CodeRequest::Search(SearchRequest {
                query: field("query").unwrap_or_default(),
                path: field("path"),
                allow_tests: field("allow_tests").is_some_and(|text| text.trim() == "true"),
            }),
            "extract" => {
                let written = field("file_path").unwrap_or_default();
                CodeRequest::Extract(ExtractRequest::from_path(
                    written.trim(),
                    number("line"),
                    number("end_line"),
                ))
            }
            "query" => CodeRequest::Query(PatternRequest {
                pattern: field("pattern").unwrap_or_default(),
                language: field("language"),
                path: field("path"),
            }),
            _ => return None,
        })
    }

    /// The name of its element.
    pub(crate) fn element(&self) -> &'static str {
        match self {
            CodeRequest::Search(_) => "search",
            CodeRequest::Extract(_) => "extract",
            CodeRequest::Query(_) => "query",
        }
    }
}

impl ExtractRequest {
    /// Takes a path apart: `src/a.rs#name`, `src/a.rs:12` and `src/a.rs:12-30`.
    fn from_path(written: &str, line: Option<usize>, end_line: Option<usize>) -> ExtractRequest {
        if let Some((path, symbol)) =
            written.rsplit_once('#').filter(|(path, symbol)| !path.is_empty() && !symbol.is_empty())
        {
            let (path, symbol) = (path.to_owned(), Some(symbol.to_owned()));
            return ExtractRequest { path, symbol, line, end_line };
        }
        if line.is_none()
            && let Some((path, lines)) = written.rsplit_once(':').filter(|(path, _)| !path.is_empty())
        {
            let (first, last) =
                lines.split_once('-').map_or((lines, None), |(first, last)| (first, Some(last)));
            let number = |text: &str| text.parse::<usize>().ok();
            if let (Some(first), Some(last)) =
                (number(first), last.map_or(Some(None), |last| number(last).map(Some)))
            {
                let end_line = end_line.or(last);
                return ExtractRequest { path: path.to_owned(), symbol: None, line: Some(first), end_line };
            }
        }
        ExtractRequest { path: written.to_owned(), symbol: None, line, end_line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_apart() {
        let read = |written: &str| {
            let read = ExtractRequest::from_path(written, None, None);
            (read.path, read.symbol, read.line, read.end_line)
        };
        assert_eq!(read("src/a.rs"), ("src/a.rs".into(), None, None, None));
        assert_eq!(read("src/a.rs#run"), ("src/a.rs".into(), Some("run".into()), None, None));
        assert_eq!(read("src/a.rs:12"), ("src/a.rs".into(), None, Some(12), None));
        assert_eq!(read("src/a.rs:12-30"), ("src/a.rs".into(), None, Some(12), Some(30)));
        assert_eq!(read("a:b"), ("a:b".into(), None, None, None));
        assert_eq!(read("#x"), ("#x".into(), None, None, None));
    }
}
