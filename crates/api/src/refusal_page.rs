//! A refusal in lines for a person: what is wrong, where, what was expected, what came, and the fix.

use super::types::ApiRefusal;
use crate::limits::FIELD_COLUMNS;
use systole_show::layout;

/// A refusal in lines.
pub fn write_refusal(refusal: &ApiRefusal) -> String {
    let mut page = format!("refused: {}\n", refusal.code);
    let mut line = |name: &str, text: Option<&str>| {
        if let Some(text) = text {
            page.push_str(&wrap_text(name, text));
        }
    };
    line("", Some(&refusal.message));
    line("at", place(refusal).as_deref());
    line("expected", refusal.expected.as_deref());
    line("received", refusal.received.as_deref());
    line("schema", refusal.schema.as_deref());
    line("try", refusal.fix.as_deref());
    line("kept as", refusal.hash.as_deref());
    page
}

fn place(refusal: &ApiRefusal) -> Option<String> {
    let spot = match (refusal.line, refusal.column) {
        (Some(line), Some(column)) => Some(format!("line {line}, column {column}")),
        _ => None,
    };
    let parts: Vec<String> = refusal.path.clone().into_iter().chain(spot).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Text after a name, broken between words so that no line passes the right edge.
fn wrap_text(name: &str, text: &str) -> String {
    let indent = if name.is_empty() { 2 } else { FIELD_COLUMNS };
    let mut out = format!("  {name}");
    let mut column = out.chars().count();
    let pad = |out: &mut String, column: &mut usize| {
        out.push_str(&" ".repeat(indent.saturating_sub(*column)));
        *column = indent.max(*column);
    };
    pad(&mut out, &mut column);
    let mut fresh = true;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if !fresh && column + 1 + width > layout::talk_columns() {
            out.push('\n');
            column = 0;
            pad(&mut out, &mut column);
        } else if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
        fresh = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_show::limits::COLUMNS;

    #[test]
    fn a_refusal_shows_place_reason_and_fix_within_eighty_columns() {
        let refusal = ApiRefusal {
            code: "payload.invalid".into(),
            message: "limit: 0 is less than 1, the smallest allowed".into(),
            path: Some("/search/limit".into()),
            line: Some(3),
            column: Some(10),
            expected: Some("whole number, 1 to 100, may be left out; ".repeat(4)),
            received: Some("<limit>0</limit>".into()),
            fix: Some("<limit>1</limit>, or leave limit out".into()),
            ..ApiRefusal::default()
        };
        let page = write_refusal(&refusal);
        let wanted = "refused: payload.invalid\n  limit: 0 is less than 1, the smallest allowed\n  \
                      at       /search/limit, line 3, column 10\n  expected whole number, 1 to 100";
        assert!(page.starts_with(wanted), "{page}");
        assert!(
            page.ends_with("  received <limit>0</limit>\n  try      <limit>1</limit>, or leave limit out\n"),
            "{page}"
        );
        assert!(page.lines().all(|line| line.chars().count() <= COLUMNS), "{page}");
    }
}
