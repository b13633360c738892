//! The hands of somebody who mends a payload by the words of a refusal: finds elements by their path, cuts and puts.
//!
//! Shares nothing with the model. It reads only what the rows of the table hold: no comment within a tag, no
//! quote within a value. Text and a path come in, places in the text go out; it never judges.

/// Where an element stands.
pub(super) struct At {
    pub(super) start: usize,
    pub(super) end: usize,
    /// From behind its start tag to before its end tag.
    pub(super) inside: (usize, usize),
}

enum Tag {
    Open(usize),
    Close(usize),
    Empty(usize),
    Text(usize),
}

/// What begins at `from`, with where it ends.
fn next(text: &str, from: usize) -> Option<Tag> {
    let rest = text.get(from..)?;
    let until = |end: &str| rest.find(end).map(|at| from + at + end.len());
    if rest.starts_with("<!--") {
        return until("-->").map(Tag::Text);
    }
    if rest.starts_with("<![CDATA[") {
        return until("]]>").map(Tag::Text);
    }
    if !rest.starts_with('<') {
        return Some(Tag::Text(from + rest.find('<').unwrap_or(rest.len()).max(1)));
    }
    let end = until(">")?;
    Some(match (rest.starts_with("</"), text[..end].ends_with("/>")) {
        (true, _) => Tag::Close(end),
        (_, true) => Tag::Empty(end),
        _ => Tag::Open(end),
    })
}

/// The element that begins at `start`.
fn element(text: &str, start: usize) -> Option<At> {
    let (mut at, mut depth) = match next(text, start)? {
        Tag::Open(end) => (end, 1),
        Tag::Empty(end) => return Some(At { start, end, inside: (end, end) }),
        Tag::Close(_) | Tag::Text(_) => return None,
    };
    let first = at;
    loop {
        let before = at;
        at = match next(text, at)? {
            Tag::Open(end) => {
                depth += 1;
                end
            }
            Tag::Close(end) => {
                depth -= 1;
                end
            }
            Tag::Empty(end) | Tag::Text(end) => end,
        };
        if depth == 0 {
            return Some(At { start, end: at, inside: (first, before) });
        }
    }
}

fn children(text: &str, of: &At) -> Vec<At> {
    let (mut at, mut all) = (of.inside.0, Vec::new());
    while at < of.inside.1 {
        at = match element(text, at) {
            Some(child) => {
                let end = child.end;
                all.push(child);
                end
            }
            None => match next(text, at) {
                Some(Tag::Text(end)) => end,
                _ => break,
            },
        };
    }
    all
}

fn local<'t>(text: &'t str, at: &At) -> &'t str {
    let tag = text[at.start + 1..].split([' ', '>', '/']).next().unwrap_or_default();
    tag.rsplit(':').next().unwrap_or_default()
}

/// The element that a path names.
pub(super) fn find(text: &str, path: &str) -> Option<At> {
    let mut steps = path.split('/').skip(2);
    let mut found = element(text, 0)?;
    steps.try_for_each(|step| {
        let (name, nth) = match step.split_once('[') {
            Some((name, nth)) => (name, nth.trim_end_matches(']').parse().ok()?),
            None => (step, 1),
        };
        found = children(text, &found).into_iter().filter(|child| local(text, child) == name).nth(nth - 1)?;
        Some(())
    })?;
    Some(found)
}

/// The elements at the beginning of a text, however many stand there side by side.
pub(super) fn first_element(text: &str) -> Option<&str> {
    let mut end = 0;
    while let Some(one) = element(text, end) {
        end = one.end;
    }
    (end > 0).then(|| &text[..end])
}

/// What stands in an element without the text between.
pub(super) fn elements_alone(text: &str, of: &At) -> String {
    children(text, of).iter().map(|child| &text[child.start..child.end]).collect()
}

/// A start tag without an attribute.
pub(super) fn without_attribute(head: &str, name: &str) -> String {
    let start = [" ", name, "=\""].concat();
    match head.split_once(&start) {
        Some((before, rest)) => [before, rest.split_once('"').unwrap_or_default().1].concat(),
        None => head.to_owned(),
    }
}

/// A start tag with an attribute of that value, in place of the one it had.
pub(super) fn with_attribute(head: &str, name: &str, value: &str) -> String {
    let head = without_attribute(head, name);
    let at = head.find([' ', '>', '/']).unwrap_or(head.len());
    [&head[..at], " ", name, "=\"", value, "\"", &head[at..]].concat()
}
