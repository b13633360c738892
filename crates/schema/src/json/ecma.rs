//! Writes an XSD pattern as a regular expression for JSON Schema: that of ECMA-262 with Unicode.
//!
//! A parsed pattern comes in, text goes out. The two dialects differ in the meaning of `\d`, `\s`, `\w` and `.`, in
//! subtraction, and in that an XSD pattern matches the whole value. The output spells all of this out. Both take
//! letters and digits from Unicode, though not from the same edition; `\i` and `\c` are approximated.

use crate::judge::automaton::{CharacterClass, ClassMember};
use crate::judge::pattern::PatternTree;

/// White space as XSD defines it.
const SPACE: &str = " \\t\\n\\r";

/// A pattern for the whole value.
pub(crate) fn write_whole(tree: &PatternTree) -> String {
    let mut out = "^(?:".to_owned();
    write_expression(tree, &mut out);
    out.push_str(")$");
    out
}

/// Whether it uses classes of letters that the two dialects do not share exactly.
pub(crate) fn is_near(tree: &PatternTree) -> bool {
    let vague = |member: &ClassMember| {
        matches!(
            member,
            ClassMember::Word { .. } | ClassMember::NameStart { .. } | ClassMember::NameChar { .. }
        )
    };
    let in_class = |class: &CharacterClass| class.members.iter().any(vague);
    match tree {
        PatternTree::One(class) => {
            in_class(class) || class.without.as_ref().is_some_and(|without| in_class(without))
        }
        PatternTree::Row(parts) | PatternTree::Either(parts) => parts.iter().any(is_near),
        PatternTree::Repeat { what, .. } => is_near(what),
    }
}

fn write_expression(tree: &PatternTree, out: &mut String) {
    match tree {
        PatternTree::One(class) => out.push_str(&write_class(class)),
        PatternTree::Row(parts) => parts.iter().for_each(|part| write_grouped(part, out)),
        PatternTree::Either(branches) => {
            for (at, branch) in branches.iter().enumerate() {
                out.push_str(if at > 0 { "|" } else { "" });
                write_expression(branch, out);
            }
        }
        PatternTree::Repeat { what, least, most } => {
            write_grouped(what, out);
            match (least, most) {
                (0, Some(1)) => out.push('?'),
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (1, Some(1)) => {}
                (least, None) => out.push_str(&format!("{{{least},}}")),
                (least, Some(most)) if least == most => {
                    out.push_str(&format!("{{{least}}}"));
                }
                (least, Some(most)) => {
                    out.push_str(&format!("{{{least},{most}}}"));
                }
            }
        }
    }
}

/// A part with neighbours, or a repeated part.
fn write_grouped(tree: &PatternTree, out: &mut String) {
    match tree {
        PatternTree::One(_) | PatternTree::Repeat { .. } => write_expression(tree, out),
        PatternTree::Row(_) | PatternTree::Either(_) => {
            out.push_str("(?:");
            write_expression(tree, out);
            out.push(')');
        }
    }
}

fn write_class(class: &CharacterClass) -> String {
    let without = match &class.without {
        Some(without) => format!("(?!{})", write_class(without)),
        None => String::new(),
    };
    let plain: Option<String> = class.members.iter().map(|member| write_inside(*member)).collect();
    let set = match (plain, class.members.as_slice(), class.negated) {
        (_, [ClassMember::Char(c)], false) => escape_outside(*c),
        (Some(plain), _, false) => format!("[{plain}]"),
        (Some(plain), _, true) => format!("[^{plain}]"),
        // A class with a member that is written as a complement cannot be in brackets.
        (None, members, negated) => {
            let each: Vec<String> = members.iter().map(|member| write_alone(*member)).collect();
            let any = format!("(?:{})", each.join("|"));
            if negated { format!("(?:(?!{any})[\\s\\S])") } else { any }
        }
    };
    if without.is_empty() { set } else { format!("(?:{without}{set})") }
}

/// A member between brackets; `None` for a member that is written as a complement.
fn write_inside(member: ClassMember) -> Option<String> {
    match member {
        ClassMember::Char(c) => Some(escape_bracketed(c)),
        ClassMember::Range(low, high) => {
            Some(format!("{}-{}", escape_bracketed(low), escape_bracketed(high)))
        }
        ClassMember::Digit { negated: false } => Some("\\p{Nd}".to_owned()),
        ClassMember::Digit { negated: true } => Some("\\P{Nd}".to_owned()),
        ClassMember::Space { negated: false } => Some(SPACE.to_owned()),
        ClassMember::Word { negated: true } => Some("\\p{P}\\p{Z}\\p{C}".to_owned()),
        ClassMember::NameStart { negated: false } => Some(":_\\p{L}\\p{Nl}".to_owned()),
        ClassMember::NameChar { negated: false } => Some(":_.\\-\u{b7}\\p{L}\\p{M}\\p{N}".to_owned()),
        ClassMember::Space { negated: true }
        | ClassMember::Word { negated: false }
        | ClassMember::NameStart { negated: true }
        | ClassMember::NameChar { negated: true } => None,
    }
}

fn write_alone(member: ClassMember) -> String {
    let (member, negated) = match member {
        ClassMember::Space { negated: true } => (ClassMember::Space { negated: false }, true),
        ClassMember::Word { negated: false } => (ClassMember::Word { negated: true }, true),
        ClassMember::NameStart { negated: true } => (ClassMember::NameStart { negated: false }, true),
        ClassMember::NameChar { negated: true } => (ClassMember::NameChar { negated: false }, true),
        other => (other, false),
    };
    let start = if negated { "[^" } else { "[" };
    format!("{start}{}]", write_inside(member).unwrap_or_default())
}

/// A character between brackets. In some dialects two `&` or `~` are an operator there.
fn escape_bracketed(c: char) -> String {
    match c {
        '\\' | ']' | '[' | '^' | '-' => format!("\\{c}"),
        '&' => "\\x26".to_owned(),
        '~' => "\\x7e".to_owned(),
        _ => escape_blank(c),
    }
}

fn escape_outside(c: char) -> String {
    match c {
        '\\' | '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' | '/' => {
            format!("\\{c}")
        }
        _ => escape_blank(c),
    }
}

fn escape_blank(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        _ => c.to_string(),
    }
}
