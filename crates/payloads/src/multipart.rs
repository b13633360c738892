//! The parts of a form with files, as browsers send them: `multipart/form-data`.
//!
//! The boundary and the bytes of a body come in; its parts go out, or nothing if the body is no such form. It keeps no
//! file and knows no field.

/// A part of a form.
#[derive(Debug, PartialEq, Eq)]
pub struct FormPart<'b> {
    /// The name of its field.
    pub name: String,
    /// The name of its file; `None` if it is a value.
    pub file: Option<String>,
    /// What it has.
    pub bytes: &'b [u8],
}

/// The boundary that a Content-Type names. `None` if it is of another kind.
pub fn find_boundary(kind: &str) -> Option<&str> {
    let (kind, parameters) = kind.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|one| one.trim().strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"')).filter(|boundary| (1..=70).contains(&boundary.len()))
}

/// The parts in their order, at most that many.
pub fn read_parts<'b>(boundary: &str, body: &'b [u8], most: usize) -> Option<Vec<FormPart<'b>>> {
    let line = format!("--{boundary}");
    let between = format!("\r\n{line}");
    let mut rest = body.strip_prefix(line.as_bytes())?;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let part = rest.strip_prefix(b"\r\n")?;
        let end = find_bytes(part, between.as_bytes())?;
        parts.push(read_part(part.get(..end)?)?);
        if parts.len() > most {
            return None;
        }
        rest = part.get(end + between.len()..)?;
    }
    Some(parts)
}

fn read_part(part: &[u8]) -> Option<FormPart<'_>> {
    let end = find_bytes(part, b"\r\n\r\n")?;
    let head = std::str::from_utf8(part.get(..end)?).ok()?;
    let described = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value.trim())
    })?;
    described.strip_prefix("form-data").and_then(|parameters| {
        let name = find_parameter(parameters, "name")?;
        let file = find_parameter(parameters, "filename");
        Some(FormPart { name, file, bytes: part.get(end + 4..)? })
    })
}

/// A quoted parameter. Browsers escape three characters in it.
fn find_parameter(parameters: &str, name: &str) -> Option<String> {
    let (_, behind) = parameters.split_once(&format!("; {name}=\""))?;
    let (value, _) = behind.split_once('"')?;
    Some(value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
}

fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let behind = bytes.get(from..)?;
        let at = from + behind.iter().position(|byte| *byte == first)?;
        if bytes.get(at..)?.starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{FormPart, find_boundary, read_parts};

    const BODY: &[u8] = b"--b1\r\nContent-Disposition: form-data; name=\"/a/@n\"\r\n\r\nx=1&\r\n--b\r\n--b1\r\n\
        content-disposition: form-data; name=\"/a/photo\"; filename=\"my %22plan%22.png\"\r\nContent-Type: image/png\r\n\r\n\
        \x89PNG\r\n\x00\r\n--b1--\r\n";

    #[test]
    fn the_parts_of_a_form_are_read_byte_for_byte() {
        let parts = read_parts("b1", BODY, 2).unwrap();
        let value = FormPart { name: "/a/@n".to_owned(), file: None, bytes: b"x=1&\r\n--b" };
        let file = FormPart {
            name: "/a/photo".to_owned(),
            file: Some("my \"plan\".png".to_owned()),
            bytes: b"\x89PNG\r\n\x00",
        };
        assert_eq!(parts, [value, file]);
        assert_eq!(read_parts("b1", b"--b1--", 2), Some(Vec::new()));
    }

    #[test]
    fn another_body_is_no_form() {
        let cut = |by: usize| &BODY[..BODY.len() - by];
        for (boundary, body, most) in [
            ("b2", BODY, 2),
            ("b1", BODY, 1),
            ("b1", cut(8), 2),
            ("b1", b"" as &[u8], 2),
            ("b1", b"--b1\r\n\r\n\r\n--b1--", 2),
            ("b1", b"--b1\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b1--", 2),
        ] {
            assert_eq!(read_parts(boundary, body, most), None, "{boundary} {}", body.escape_ascii());
        }
        assert_eq!(find_boundary("multipart/form-data; boundary=\"b1\""), Some("b1"));
        for kind in ["", "text/plain", "multipart/form-data", "multipart/mixed; boundary=b1"] {
            assert_eq!(find_boundary(kind), None, "{kind}");
        }
    }
}
