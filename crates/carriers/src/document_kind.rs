//! What kind of document a listener sent, as far as its carrier must know: which delivery it is about, whether it
//! ends that delivery, and whether its sender waits for an answer. It judges nothing; the door does. Bytes come in; a
//! kind goes out.

use systole_kit::DocumentLimits;
use systole_kit::reply::ListenerDocument;

use super::process::{ProgramRoot, root_of};

/// The kind of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DocumentKind {
    /// A reply, which ends its delivery.
    Reply {
        /// The delivery it names.
        delivery: String,
    },
    /// A journal entry or a question. The answer has the same number.
    Waits {
        /// The delivery it names.
        delivery: String,
        /// Its number.
        id: u64,
    },
    /// It reports progress.
    Progress {
        /// The delivery it names.
        delivery: String,
    },
    /// A notice.
    Notice {
        /// The delivery it names.
        delivery: String,
    },
    /// A document that the door has to refuse.
    Other,
}

impl DocumentKind {
    /// The delivery that the document names, if it names one.
    pub fn delivery(&self) -> Option<&str> {
        match self {
            DocumentKind::Reply { delivery }
            | DocumentKind::Waits { delivery, .. }
            | DocumentKind::Progress { delivery }
            | DocumentKind::Notice { delivery } => Some(delivery),
            DocumentKind::Other => None,
        }
    }
}

/// The kind of a document.
pub fn document_kind(word: &[u8]) -> DocumentKind {
    match root_of(word) {
        ProgramRoot::Reply { delivery } => DocumentKind::Reply { delivery },
        ProgramRoot::Stray => DocumentKind::Other,
        // An unreadable document counts as nothing: the door might find a reply in it, which would then end no
        // delivery.
        ProgramRoot::Other => match ListenerDocument::parse(word, &DocumentLimits::default()) {
            Ok(ListenerDocument::Reply { delivery, .. }) => DocumentKind::Reply { delivery },
            Ok(
                ListenerDocument::Journal { delivery, id, .. } | ListenerDocument::Ask { delivery, id, .. },
            ) => DocumentKind::Waits { delivery, id },
            Ok(ListenerDocument::Progress { delivery, .. }) => DocumentKind::Progress { delivery },
            Ok(ListenerDocument::Notice { delivery, .. }) => DocumentKind::Notice { delivery },
            Err(_) => DocumentKind::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_sorted_by_what_its_carrier_has_to_do_with_it() {
        let sorted = |inside: &str| {
            let document = inside.replace(" d", " xmlns=\"urn:systole:listener:v1\" delivery=\"d1\"");
            document_kind(document.as_bytes())
        };
        let delivery = || "d1".to_owned();
        assert_eq!(sorted("<reply d/>"), DocumentKind::Reply { delivery: delivery() });
        assert_eq!(sorted("<reply d><broken"), DocumentKind::Reply { delivery: delivery() });
        assert_eq!(sorted("<notice d code=\"x\">y</notice>"), DocumentKind::Notice { delivery: delivery() });
        assert_eq!(sorted("<progress d>y</progress>"), DocumentKind::Progress { delivery: delivery() });
        assert_eq!(
            sorted("<ask d id=\"7\"><nonsense/></ask>"),
            DocumentKind::Waits { delivery: delivery(), id: 7 }
        );
        assert_eq!(sorted("<notice code=\"x\">y</notice>"), DocumentKind::Other);
        assert_eq!(sorted("starting up"), DocumentKind::Other);
        assert_eq!(sorted("<progress d>y</progress>").delivery(), Some("d1"));
        assert_eq!(DocumentKind::Other.delivery(), None);
    }
}
