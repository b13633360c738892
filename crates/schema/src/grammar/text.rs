//! Text without rules of its own in GBNF: escaped, or as it is where that cannot be taken for markup.

use super::spell::{ValuePlace, write_set};
use super::{Grammar, GrammarWriter};
use crate::judge::builtin::{Builtin, WhiteSpace};
use crate::limits::GRAMMAR_COUNT;
use crate::shape::{
    ComplexContent, ComplexType, Declaration, SchemaShape, SimpleType, SimpleVariety, TypeShape,
};

impl Grammar {
    /// A character of text without white space.
    pub(super) fn word_sign(&mut self, place: ValuePlace) -> String {
        let word = write_set(
            &[
                '!'..='~',
                '\u{a1}'..='\u{1fff}',
                '\u{2030}'..='\u{2fff}',
                '\u{3001}'..='\u{d7ff}',
                '\u{f900}'..='\u{fffd}',
                '\u{10000}'..=char::MAX,
            ],
            place,
        );
        let name = if place == ValuePlace::Attribute { "letter-in-quotes" } else { "letter" };
        self.share_rule(name, &word.unwrap_or_default())
    }

    /// A character of text.
    pub(super) fn text_sign(&mut self, place: ValuePlace) -> String {
        let any = write_set(&['\t'..='\n', ' '..='\u{d7ff}', '\u{e000}'..=char::MAX], place);
        let name = if place == ValuePlace::Attribute { "sign-in-quotes" } else { "sign" };
        self.share_rule(name, &any.unwrap_or_default())
    }

    /// A character, or two, of text as it is: without escapes, and without what can be taken for markup.
    fn raw_sign(&mut self) -> String {
        let plain = [
            '\t'..='\n',
            ' '..='%',
            '\''..=';',
            '='..='=',
            '?'..='\\',
            '^'..='\u{d7ff}',
            '\u{e000}'..=char::MAX,
        ];
        let plain = write_set(&plain, ValuePlace::Content).unwrap_or_default();
        self.share_rule(
            "raw",
            &format!("{plain} | \">\" | \"<\" [ 0-9=(] | \"&\" [ 0-9=] | \"&& \" | \"]\" [ ,;:.)0-9A-Za-z=]"),
        )
    }

    /// Any text: escaped, or as it is, as most code is written.
    pub(super) fn write_any_text(&mut self) -> String {
        let escaped = self.text_sign(ValuePlace::Content);
        if self.is_escaped {
            return format!("{escaped}*");
        }
        format!("({escaped}* | {}*)", self.raw_sign())
    }

    /// Adds a rule of text that is not blank, and returns its name.
    pub fn add_words(&mut self) -> String {
        let text = self.write_words();
        self.add_rule("words", text)
    }

    /// Text that is not blank.
    fn write_words(&mut self) -> String {
        let (letter, escaped) = (self.word_sign(ValuePlace::Content), self.text_sign(ValuePlace::Content));
        if self.is_escaped {
            return format!("{letter} {escaped}*");
        }
        let letters = ['!'..='%', '\''..=';', '='..='=', '?'..='\\', '^'..='~', '\u{a1}'..='\u{1fff}'];
        let plain = write_set(&letters, ValuePlace::Content).unwrap_or_default();
        format!("({letter} {escaped}* | {plain} {}*)", self.raw_sign())
    }

    /// Adds a rule of escaped text with so many characters at most, and returns its name. No count in it is above the
    /// largest that servers take.
    pub fn add_long_text(&mut self, most: usize) -> String {
        let sign = self.text_sign(ValuePlace::Content);
        self.add_short_blocks(&sign, most)
    }

    /// The same of another character.
    pub fn add_short_blocks(&mut self, sign: &str, most: usize) -> String {
        if most <= GRAMMAR_COUNT {
            return self.add_rule("long-text", format!("{sign}{{0,{most}}}"));
        }
        let block = self.add_rule("block", format!("{sign}{{{GRAMMAR_COUNT}}}"));
        let blocks = most.div_ceil(GRAMMAR_COUNT) - 1;
        let rest = most - blocks * GRAMMAR_COUNT;
        self.add_rule("long-text", format!("{block}{{0,{blocks}}} {sign}{{0,{rest}}}"))
    }

    /// Adds a rule of the text that an element holds, without blank texts, and returns its name. `None` if it holds more
    /// than text.
    pub(crate) fn add_text(&mut self, schema: &SchemaShape, root: &Declaration) -> Option<String> {
        let text = match schema.find_type(root.of) {
            TypeShape::Simple(simple)
            | TypeShape::Complex(ComplexType { content: ComplexContent::Text(simple), .. }) => {
                if is_any_text(simple) {
                    self.write_words()
                } else {
                    let writer = GrammarWriter::new(schema, self);
                    let mut writer = GrammarWriter { needs_words: true, ..writer };
                    writer.write_simple(simple, ValuePlace::Content, &format!("/{}", root.name))
                }
            }
            TypeShape::Complex(ComplexType { content: ComplexContent::Free, .. }) => self.write_words(),
            TypeShape::Complex(_) | TypeShape::Anything => return None,
        };
        Some(self.add_rule(&format!("{}-text", root.name), text))
    }
}

/// Whether a type is text without rules.
pub(super) fn is_any_text(simple: &SimpleType) -> bool {
    let is_string = matches!(simple.variety, SimpleVariety::Atomic(Builtin::String));
    is_string && !simple.has_facets() && simple.space == WhiteSpace::Preserve
}
