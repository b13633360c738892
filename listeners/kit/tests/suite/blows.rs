//! Hostile documents of the largest allowed size, by the rows of the table of attacks that bytes alone
//! decide. Tests count the cost of reading them; the benchmark measures the time. Nothing here judges.
//! The number of bytes comes in; documents go out.

/// The namespace that every document claims.
const NS: &str = "https://xml-pipeline.org/ns/echo/v1";

/// A hostile document.
pub(crate) struct Blow {
    /// The row of the table.
    pub(crate) row: u8,
    /// The kind of attack.
    pub(crate) what: &'static str,
    /// Its bytes.
    pub(crate) document: Vec<u8>,
    /// Where reading must end at the latest. `None` if all of it has to be read.
    pub(crate) ends_by: Option<usize>,
}

fn say(inside: &str) -> String {
    format!("<say xmlns=\"{NS}\">{inside}</say>")
}

/// That many bytes of text, followed by `what`.
fn ending(bytes: usize, what: &str) -> String {
    say(&format!("<text>{}{what}</text>", "x".repeat(bytes)))
}

/// As many of the numbered parts as fit.
fn filled(bytes: usize, part: impl Fn(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes);
    for number in 0.. {
        let next = part(number);
        if text.len() + next.len() > bytes {
            break;
        }
        text.push_str(&next);
    }
    text
}

/// An honest document of about that size.
pub(crate) fn honest(bytes: usize) -> Vec<u8> {
    ending(bytes - 256, "").into_bytes()
}

impl Blow {
    /// A document whose fault shows at its beginning.
    fn early(row: u8, what: &'static str, document: String) -> Blow {
        Blow { row, what, document: document.into_bytes(), ends_by: Some(4 << 10) }
    }

    /// A document whose fault shows only at its end.
    fn late(row: u8, what: &'static str, document: impl Into<Vec<u8>>) -> Blow {
        Blow { row, what, document: document.into(), ends_by: None }
    }
}

/// All hostile documents, with at most that many bytes each.
pub(crate) fn blows(most: usize) -> Vec<Blow> {
    let bytes = most - 512;
    early(bytes).into_iter().chain(late(bytes)).collect()
}

fn early(bytes: usize) -> [Blow; 6] {
    let laughs = filled(bytes, |level| {
        let inner = format!("&l{level};").repeat(10);
        format!("<!ENTITY l{} '{inner}'>", (level + 1))
    });
    let laughs = format!("<!DOCTYPE say [{laughs}]>{}", say("<text>&l9;</text>"));
    let (entity, uses) = ("x".repeat(bytes / 4), "&e;".repeat(bytes / 6));
    let uses = say(&format!("<text>{uses}</text>"));
    let quadratic = format!("<!DOCTYPE say [<!ENTITY e '{entity}'>]>{uses}");
    let external = format!("<!DOCTYPE say SYSTEM 'file:///etc/passwd'>{}", ending(bytes, "&e;"));
    let attributes = filled(bytes, |n| format!(" a{n}=''"));
    let declarations = filled(bytes, |n| format!(" xmlns:a{n}='u'"));
    let nested = ["<a>".repeat(bytes / 7), "</a>".repeat(bytes / 7)].concat();
    [
        Blow::early(1, "billion laughs", laughs),
        Blow::early(2, "one entity, used everywhere", quadratic),
        Blow::early(3, "an external entity", external),
        Blow::early(11, "attributes without number", say(&format!("<text{attributes}/>"))),
        Blow::early(11, "declarations without number", say(&format!("<text{declarations}/>"))),
        Blow::early(12, "nesting without end", say(&nested)),
    ]
}

fn late(bytes: usize) -> [Blow; 10] {
    let text = format!("<text>{}</text>", "x".repeat(bytes));
    let attributes: String = (0..64).map(|n| format!(" a{n}=''")).collect();
    let crowd = filled(bytes, |_| format!("<b{attributes}/>"));
    let roots = [say(&"<i/>".repeat(bytes / 8)), say("<text>x</text>")].concat();
    let mut bad_byte = ending(bytes, "").into_bytes();
    bad_byte.insert(bytes, 0xff);
    let mut cut_off = ending(bytes, "").into_bytes();
    cut_off.pop();
    [
        Blow::late(6, "an instruction at the end", ending(bytes, "<?x?>")),
        Blow::late(7, "a forbidden prefix at the end", say(&format!("{text}<a xmlns:xml='u'/>"))),
        Blow::late(10, "an attribute twice at the end", say(&format!("{crowd}<a b='' b=''/>"))),
        Blow::late(14, "an instruction inside a value", ending(bytes, "1<?x?>2")),
        Blow::late(16, "the end of a section in text", ending(bytes, "]]>")),
        Blow::late(18, "a byte that is no UTF-8 at the end", bad_byte),
        Blow::late(19, "a character that XML forbids at the end", ending(bytes, "\u{1}")),
        Blow::late(19, "a reference to one at the end", ending(bytes, "&#0;")),
        Blow::late(22, "two roots", roots),
        Blow::late(23, "cut off before its last byte", cut_off),
    ]
}
