//! How the gate words its refusals: the error, the value and its limit, and what to write instead.
//!
//! It decides nothing. A finding and its place come in; a fault goes out.

use quick_xml::errors::{Error, IllFormedError, SyntaxError};

use crate::codes;
use crate::place::{Fault, Place, cut_excerpt};

pub(super) fn refuse_instruction(place: Place) -> Fault {
    let message = "the document has a processing instruction";
    Fault::new(codes::FORBIDDEN_CONSTRUCT, message, place).with_fix("leave out everything between <? and ?>")
}

pub(super) fn refuse_doctype(place: Place) -> Fault {
    let message = "the document has a DOCTYPE";
    Fault::new(codes::FORBIDDEN_CONSTRUCT, message, place).with_fix("leave the DOCTYPE and its entities out")
}

pub(super) fn outside_root(source: &str, after_root: bool, place: Place) -> Fault {
    let side = if after_root { "after" } else { "before" };
    let message = format!("there is something {side} the one element of the document");
    Fault::new(codes::MALFORMED, message, place)
        .with_expected("exactly one element, with nothing but white space and comments beside it")
        .with_received(source.trim())
        .with_fix(format!("leave out everything {side} the element, or put it inside"))
}

pub(super) fn unknown_reference(written: &str, place: Place) -> Fault {
    let written = cut_excerpt(written);
    Fault::new(codes::MALFORMED, format!("&{written}; is not a reference that XML knows"), place)
        .with_expected("&lt; &gt; &amp; &quot; &apos; or the number of a legal character")
        .with_fix(format!("write &amp;{written}; to mean the text itself"))
}

pub(super) fn too_deep(most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_DEEP, format!("elements are nested {} deep, the limit is {most}", most + 1), place)
        .with_expected(format!("at most {most} elements inside one another"))
        .with_fix("put the innermost elements beside one another, or send them in messages of their own")
}

pub(super) fn too_many(what: &str, most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_LARGE, format!("an element has more than {most} {what}"), place)
        .with_expected(format!("at most {most} {what}"))
        .with_fix(format!("leave {what} out until {most} are left"))
}

pub(super) fn long_name(written: &str, most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_LARGE, format!("a name has {} bytes, the limit is {most}", written.len()), place)
        .with_expected(format!("at most {most} bytes"))
        .with_received(written)
        .with_fix(format!("write a name of at most {most} bytes"))
}

pub(super) fn illegal_name(written: &str, place: Place) -> Fault {
    if written.is_empty() {
        return Fault::new(codes::MALFORMED, "a < begins no tag", place).with_fix("write &lt; for <");
    }
    let message = format!("\"{}\" is not a name", cut_excerpt(written));
    Fault::new(codes::MALFORMED, message, place)
        .with_expected("a letter or _, then letters, digits, - _ . and at most one colon after a prefix")
        .with_fix("if no tag was meant, write &lt; for <")
}

pub(super) fn refuse_duplicate(name: &str, place: Place) -> Fault {
    let message = format!("attribute {} appears twice in one tag", cut_excerpt(name));
    Fault::new(codes::MALFORMED, message, place).with_fix("leave one of them out")
}

pub(super) fn same_expanded_name(local: &str, place: Place) -> Fault {
    let local = cut_excerpt(local);
    let message = format!("attribute {local} appears twice in one tag, under two prefixes of one namespace");
    Fault::new(codes::MALFORMED, message, place).with_fix("leave one of them out")
}

/// The attribute that declares `prefix`.
pub(super) fn declared_as(prefix: &str) -> String {
    if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") }
}

pub(super) fn forbidden_binding(prefix: &str, uri: &str, place: Place) -> Fault {
    let declared = cut_excerpt(&declared_as(prefix));
    let message = if uri.is_empty() {
        format!("{declared} binds its prefix to nothing")
    } else {
        format!("{declared} may not be bound to \"{}\"", cut_excerpt(uri))
    };
    Fault::new(codes::MALFORMED, message, place)
        .with_expected("a prefix other than xml and xmlns, bound to a namespace other than theirs")
        .with_fix(format!("leave {declared} out"))
}

pub(super) fn refuse_undeclared(prefix: &str, place: Place) -> Fault {
    let prefix = cut_excerpt(prefix);
    Fault::new(codes::UNDECLARED, format!("prefix {prefix} is not declared"), place)
        .with_fix(format!("add xmlns:{prefix}=\"…\" with the namespace meant, or leave the prefix out"))
}

/// The fault for markup that the tokeniser could not read.
pub(super) fn explain_syntax(error: &Error, innermost: Option<&str>, place: Place) -> Fault {
    let fault = |message: String| Fault::new(codes::MALFORMED, message, place);
    match error {
        Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
            let (expected, found) = (cut_excerpt(expected), cut_excerpt(found));
            fault(format!("</{found}> is used where <{expected}> is open"))
                .with_expected(format!("</{expected}>"))
                .with_received(&format!("</{found}>"))
                .with_fix(format!("close <{expected}> before closing anything around it"))
        }
        Error::IllFormed(IllFormedError::UnmatchedEndTag(found)) => {
            let found = cut_excerpt(found);
            fault(format!("</{found}> closes nothing that is open")).with_fix("leave it out")
        }
        Error::IllFormed(IllFormedError::UnclosedReference) => {
            fault("an & begins no reference".to_owned()).with_fix("write &amp; for &")
        }
        Error::IllFormed(IllFormedError::DoubleHyphenInComment) => {
            fault("-- is inside a comment".to_owned()).with_fix("leave the comment out")
        }
        Error::Syntax(SyntaxError::UnclosedDoctype) => refuse_doctype(place),
        Error::Syntax(SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl) => refuse_instruction(place),
        Error::Syntax(syntax) => {
            let fault = fault(syntax.to_string()).with_fix("close what begins here, or write &lt; for <");
            match innermost {
                Some(innermost) => fault.with_expected(format!("</{}> in the end", cut_excerpt(innermost))),
                None => fault,
            }
        }
        other => fault(other.to_string()).with_fix("write &lt; for < and &amp; for & where text is meant"),
    }
}
