//! The tools to repair a payload by the text of a refusal: they find elements by their path, cut and insert.
//!
//! Shares no code with the model. It reads only what the rows of the table contain: no comment within a tag, no
//! quote within a value. The input is a text and a path, the output places in the text; it never judges.

/// The place of an element.
pub(super) struct At {
    pub(super) start: usize,
    pub(super) end: usize,
    /// From the end of its start tag to the beginning of its end tag.
    pub(super) inside: (usize, usize),
}

enum Tag {
    Open(usize),
    Close(usize),
    Empty(usize),
    Text(usize),
}

/// The tag that begins at `from`, and where it ends.
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
    // A `>` between quotes is part of a value.
    let mut quote = None;
    let end = from
        + 1
        + rest.bytes().position(|byte| {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'>') => return true,
                _ => {}
            }
            false
        })?;
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

/// The elements at the beginning of a text, any number of them side by side.
pub(super) fn first_element(text: &str) -> Option<&str> {
    let mut end = 0;
    while let Some(one) = element(text, end) {
        end = one.end;
    }
    (end > 0).then(|| &text[..end])
}

/// The elements inside an element, without the text between.
pub(super) fn elements_alone(text: &str, of: &At) -> String {
    children(text, of).iter().map(|child| &text[child.start..child.end]).collect()
}

/// A start tag without an attribute.
pub(super) fn without_attribute(head: &str, name: &str) -> String {
    let start = format!(" {name}=\"");
    match head.split_once(&start) {
        Some((before, rest)) => [before, rest.split_once('"').unwrap_or_default().1].concat(),
        None => head.to_owned(),
    }
}

/// A start tag with this value of an attribute, which replaces any earlier one.
pub(super) fn with_attribute(head: &str, name: &str, value: &str) -> String {
    let head = without_attribute(head, name);
    let at = head.find([' ', '>', '/']).unwrap_or(head.len());
    format!("{} {name}=\"{value}\"{}", &head[..at], &head[at..])
}

/// Follows the text of a refusal by the rule of `docs/reference/refusals.md`, on the text alone; none if it is for
/// people.
pub(crate) fn apply(payload: &str, path: &str, fix: &str) -> Option<String> {
    let (path, attribute) = match path.split_once("/@") {
        Some((path, name)) => (path, Some(name)),
        None => (path, None),
    };
    let element = find(payload, path)?;
    let beside = |step: &str| find(payload, &format!("{}/{step}", path.rsplit_once('/')?.0));
    let put = |from: usize, to: usize, new: &str| [&payload[..from], new, &payload[to..]].concat();
    let whole = &payload[element.start..element.end];
    if fix.starts_with('<') {
        return Some(put(element.start, element.end, first_element(fix)?));
    }
    if let Some(rest) = fix.strip_prefix("add ") {
        let new = first_element(rest)?;
        let at = match rest[new.len()..].strip_prefix(" before ") {
            Some(step) => find(payload, &format!("{path}/{step}"))?.start,
            None => element.inside.1,
        };
        return Some(put(at, at, new));
    }
    if let Some(rest) = fix.strip_prefix("move ") {
        let (target, behind) = match rest.split_once(" before ") {
            Some((_, step)) => (beside(step)?, false),
            None => (beside(rest.split_once(" behind ")?.1)?, true),
        };
        let at = if behind { target.end } else { target.start };
        return Some(if at <= element.start {
            [&payload[..at], whole, &payload[at..element.start], &payload[element.end..]].concat()
        } else {
            [&payload[..element.start], &payload[element.end..at], whole, &payload[at..]].concat()
        });
    }
    if let Some(rest) = fix.strip_prefix("write ") {
        return written(payload, &element, attribute, rest);
    }
    if let Some(rest) = fix.strip_prefix("cut the text of ") {
        let most = rest.split_once(" to ")?.1.split_once(' ')?.0.parse().ok()?;
        let kept: String = payload[element.inside.0..element.inside.1].chars().take(most).collect();
        return Some(put(element.inside.0, element.inside.1, &kept));
    }
    if fix.starts_with("leave the text out") {
        return Some(put(element.inside.0, element.inside.1, &elements_alone(payload, &element)));
    }
    if fix.starts_with("leave ") {
        let Some(name) = attribute else { return Some(put(element.start, element.end, "")) };
        let head = without_attribute(&payload[element.start..element.inside.0], name);
        return Some(put(element.start, element.inside.0, &head));
    }
    None
}

/// A rewritten start tag: another name, another attribute, or another value of one.
fn written(payload: &str, element: &At, attribute: Option<&str>, rest: &str) -> Option<String> {
    let head = &payload[element.start..element.inside.0];
    let put = |from: usize, to: usize, new: &str| [&payload[..from], new, &payload[to..]].concat();
    if let Some(name) = attribute {
        let (key, value) = rest.split_once('=')?;
        let (value, instead) = value.strip_prefix('"')?.split_once('"')?;
        let head = match (instead.is_empty(), value) {
            (true, value) => with_attribute(head, key, value),
            (false, "…") => head.replace(&format!(" {name}="), &format!(" {key}=")),
            (false, value) => with_attribute(&without_attribute(head, name), key, value),
        };
        return Some(put(element.start, element.inside.0, &head));
    }
    let (new, old) = rest.strip_prefix('<')?.split_once("> instead of <")?;
    let (tag, key) = new.split_once(' ').unwrap_or((new, ""));
    let old = old.trim_end_matches('>');
    let mut head = head.replacen(&format!("<{old}"), &format!("<{tag}"), 1);
    if let Some((key, value)) = key.split_once('=') {
        head = with_attribute(&head, key, value.trim_matches('"'));
    }
    let inside = &payload[element.inside.0..element.inside.1];
    let end = payload[element.inside.1..element.end].replace(old, tag);
    Some(put(element.start, element.end, &[&head, inside, &end].concat()))
}
