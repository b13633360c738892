//! Hostile documents, each as large as it may be, by the rows of the table of attacks that bytes alone
//! decide. Tests count what reading them takes; the benchmark measures how long it takes. Nothing here
//! judges. How many bytes there may be comes in; documents go out.

/// The namespace that every document pretends to be of.
const NS: &str = "https://xml-pipeline.org/ns/echo/v1";

/// A hostile document.
pub(crate) struct Blow {
    /// The row of the table.
    pub(crate) row: u8,
    /// What is hostile about it.
    pub(crate) what: &'static str,
    /// Its bytes.
    pub(crate) document: Vec<u8>,
    /// Where reading has to end at the latest; none where all of it has to be read.
    pub(crate) ends_by: Option<usize>,
}

fn say(inside: &str) -> String {
    ["<say xmlns=\"", NS, "\">", inside, "</say>"].concat()
}

/// So many bytes of text, and then that.
fn late(bytes: usize, what: &str) -> String {
    say(&["<text>", &"x".repeat(bytes), what, "</text>"].concat())
}

/// As many of the parts that a number gives as find room.
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
    late(bytes - 256, "").into_bytes()
}

/// Every blow, of at most so many bytes.
pub(crate) fn blows(most: usize) -> Vec<Blow> {
    let bytes = most - 512;
    let early = |row, what, document: String| Blow {
        row,
        what,
        document: document.into_bytes(),
        ends_by: Some(4 << 10),
    };
    let whole =
        |row, what, document: String| Blow { row, what, document: document.into_bytes(), ends_by: None };
    let laughs = filled(bytes, |level| {
        let inner = ["&l", &level.to_string(), ";"].concat().repeat(10);
        ["<!ENTITY l", &(level + 1).to_string(), " '", &inner, "'>"].concat()
    });
    let uses = filled(bytes / 2, |_| "&e;".to_owned());
    let entity = "x".repeat(bytes / 4);
    let sixty_four =
        filled(
            1 << 10,
            |n| if n < 64 { [" a", &n.to_string(), "=''"].concat() } else { " ".repeat(2 << 10) },
        );
    let crowd = ["<b", &sixty_four, "/>"].concat();
    let mut bytes_at_the_end = late(bytes, "").into_bytes();
    let end = bytes_at_the_end.len() - "</text></say>".len();
    bytes_at_the_end.insert(end, 0xff);
    let mut cut_off = late(bytes, "").into_bytes();
    cut_off.pop();
    vec![
        early(1, "billion laughs", ["<!DOCTYPE say [", &laughs, "]>", &say("<text>&l9;</text>")].concat()),
        early(
            2,
            "one entity, used everywhere",
            ["<!DOCTYPE say [<!ENTITY e '", &entity, "'>]>", &say(&["<text>", &uses, "</text>"].concat())]
                .concat(),
        ),
        early(
            3,
            "an external entity",
            ["<!DOCTYPE say SYSTEM 'file:///etc/passwd'>", &late(bytes, "&e;")].concat(),
        ),
        whole(6, "an instruction at the end", late(bytes, "<?x?>")),
        whole(
            7,
            "a forbidden prefix at the end",
            say(&["<text>", &"x".repeat(bytes), "</text><a xmlns:xml='u'/>"].concat()),
        ),
        whole(
            10,
            "an attribute twice at the end",
            say(&[&*filled(bytes, |_| crowd.clone()), "<a b='' b=''/>"].concat()),
        ),
        early(
            11,
            "attributes without number",
            say(&["<text", &filled(bytes, |n| [" a", &n.to_string(), "=''"].concat()), "/>"].concat()),
        ),
        early(
            11,
            "declarations without number",
            say(&["<text", &filled(bytes, |n| [" xmlns:a", &n.to_string(), "='u'"].concat()), "/>"].concat()),
        ),
        early(12, "nesting without end", say(&["<a>".repeat(bytes / 7), "</a>".repeat(bytes / 7)].concat())),
        whole(14, "an instruction inside a value", late(bytes, "1<?x?>2")),
        whole(16, "the end of a section in text", late(bytes, "]]>")),
        Blow {
            row: 18,
            what: "a byte that is no UTF-8 at the end",
            document: bytes_at_the_end,
            ends_by: None,
        },
        whole(19, "a character that XML forbids at the end", late(bytes, "\u{1}")),
        whole(19, "a reference to one at the end", late(bytes, "&#0;")),
        whole(22, "two roots", [&*say(&"<i/>".repeat(bytes / 8)), &*say("<text>x</text>")].concat()),
        Blow { row: 23, what: "cut off before its last byte", document: cut_off, ends_by: None },
    ]
}
