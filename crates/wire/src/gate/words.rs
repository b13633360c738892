//! How the gate words its refusals: the error, the value and its limit, and what to write instead.
//!
//! It decides nothing. A finding and its place come in; a fault goes out.

use quick_xml::errors::{Error, IllFormedError, SyntaxError};

use crate::codes;
use crate::place::{Fault, Place, excerpt};

pub(super) fn instruction(place: Place) -> Fault {
    let message = "the document has a processing instruction";
    Fault::new(codes::FORBIDDEN_CONSTRUCT, message, place).fix("leave out everything between <? and ?>")
}

pub(super) fn doctype(place: Place) -> Fault {
    let message = "the document has a DOCTYPE";
    Fault::new(codes::FORBIDDEN_CONSTRUCT, message, place).fix("leave the DOCTYPE and its entities out")
}

pub(super) fn outside_root(source: &str, after_root: bool, place: Place) -> Fault {
    let side = if after_root { "after" } else { "before" };
    let message = format!("there is something {side} the one element of the document");
    Fault::new(codes::MALFORMED, message, place)
        .expected("exactly one element, with nothing but white space and comments beside it")
        .received(source.trim())
        .fix(format!("leave out everything {side} the element, or put it inside"))
}

pub(super) fn unknown_reference(written: &str, place: Place) -> Fault {
    let written = excerpt(written);
    Fault::new(codes::MALFORMED, format!("&{written}; is not a reference that XML knows"), place)
        .expected("&lt; &gt; &amp; &quot; &apos; or the number of a legal character")
        .fix(format!("write &amp;{written}; to mean the text itself"))
}

pub(super) fn too_deep(most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_DEEP, format!("elements are nested {} deep, the limit is {most}", most + 1), place)
        .expected(format!("at most {most} elements inside one another"))
        .fix("put the innermost elements beside one another, or send them in messages of their own")
}

pub(super) fn too_many(what: &str, most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_LARGE, format!("an element has more than {most} {what}"), place)
        .expected(format!("at most {most} {what}"))
        .fix(format!("leave {what} out until {most} are left"))
}

pub(super) fn long_name(written: &str, most: usize, place: Place) -> Fault {
    Fault::new(codes::TOO_LARGE, format!("a name has {} bytes, the limit is {most}", written.len()), place)
        .expected(format!("at most {most} bytes"))
        .received(written)
        .fix(format!("write a name of at most {most} bytes"))
}

pub(super) fn illegal_name(written: &str, place: Place) -> Fault {
    if written.is_empty() {
        return Fault::new(codes::MALFORMED, "a < begins no tag", place).fix("write &lt; for <");
    }
    let message = format!("\"{}\" is not a name", excerpt(written));
    Fault::new(codes::MALFORMED, message, place)
        .expected("a letter or _, then letters, digits, - _ . and at most one colon after a prefix")
        .fix("if no tag was meant, write &lt; for <")
}

pub(super) fn duplicate(name: &str, place: Place) -> Fault {
    let message = format!("attribute {} appears twice in one tag", excerpt(name));
    Fault::new(codes::MALFORMED, message, place).fix("leave one of them out")
}

pub(super) fn same_expanded_name(local: &str, place: Place) -> Fault {
    let local = excerpt(local);
    let message = format!("attribute {local} appears twice in one tag, under two prefixes of one namespace");
    Fault::new(codes::MALFORMED, message, place).fix("leave one of them out")
}

/// The attribute that declares `prefix`.
pub(super) fn declared_as(prefix: &str) -> String {
    if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") }
}

pub(super) fn forbidden_binding(prefix: &str, uri: &str, place: Place) -> Fault {
    let declared = excerpt(&declared_as(prefix));
    let message = if uri.is_empty() {
        format!("{declared} binds its prefix to nothing")
    } else {
        format!("{declared} may not be bound to \"{}\"", excerpt(uri))
    };
    Fault::new(codes::MALFORMED, message, place)
        .expected("a prefix other than xml and xmlns, bound to a namespace other than theirs")
        .fix(format!("leave {declared} out"))
}

pub(super) fn undeclared(prefix: &str, place: Place) -> Fault {
    let prefix = excerpt(prefix);
    Fault::new(codes::UNDECLARED, format!("prefix {prefix} is not declared"), place)
        .fix(format!("add xmlns:{prefix}=\"…\" with the namespace meant, or leave the prefix out"))
}

/// The fault for markup that the tokeniser could not read.
pub(super) fn syntax(error: &Error, innermost: Option<&str>, place: Place) -> Fault {
    let fault = |message: String| Fault::new(codes::MALFORMED, message, place);
    match error {
        Error::IllFormed(IllFormedError::MismatchedEndTag { expected, found }) => {
            let (expected, found) = (excerpt(expected), excerpt(found));
            fault(format!("</{found}> is used where <{expected}> is open"))
                .expected(format!("</{expected}>"))
                .received(&format!("</{found}>"))
                .fix(format!("close <{expected}> before closing anything around it"))
        }
        Error::IllFormed(IllFormedError::UnmatchedEndTag(found)) => {
            let found = excerpt(found);
            fault(format!("</{found}> closes nothing that is open")).fix("leave it out")
        }
        Error::IllFormed(IllFormedError::UnclosedReference) => {
            fault("an & begins no reference".to_owned()).fix("write &amp; for &")
        }
        Error::IllFormed(IllFormedError::DoubleHyphenInComment) => {
            fault("-- is inside a comment".to_owned()).fix("leave the comment out")
        }
        Error::Syntax(SyntaxError::UnclosedDoctype) => doctype(place),
        Error::Syntax(SyntaxError::UnclosedPI | SyntaxError::UnclosedXmlDecl) => instruction(place),
        Error::Syntax(syntax) => {
            let fault = fault(syntax.to_string()).fix("close what begins here, or write &lt; for <");
            match innermost {
                Some(innermost) => fault.expected(format!("</{}> in the end", excerpt(innermost))),
                None => fault,
            }
        }
        other => fault(other.to_string()).fix("write &lt; for < and &amp; for & where text is meant"),
    }
}
