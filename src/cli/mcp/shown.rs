//! What `systole mcp pin` prints about one server.

use serde_json::{Value, json};
use systole_mcp::schema::{ListDifference, PinFile, ToolVocabulary};

use super::install::InstalledServer;
use crate::cli::screen::Screen;

/// A server that was asked for its tools.
pub(super) struct PinToShow<'p> {
    pub(super) server: &'p str,
    pub(super) pin: &'p PinFile,
    pub(super) made: &'p ToolVocabulary,
    /// Against the last pin.
    pub(super) difference: Option<&'p ListDifference>,
    pub(super) installed: Option<&'p InstalledServer>,
}

impl PinToShow<'_> {
    /// Prints it.
    pub(super) fn show(&self, screen: Screen) {
        if screen.json {
            return screen.value(&self.as_json());
        }
        for line in self
            .installed
            .and_then(|installed| installed.installed.as_ref())
            .into_iter()
            .flat_map(|text| text.lines())
        {
            screen.show(line);
        }
        self.tell(screen);
    }

    fn package_changes(&self) -> &[String] {
        self.installed.map_or(&[], |installed| &installed.changes)
    }

    fn tell(&self, screen: Screen) {
        let PinToShow { server, pin, made, difference, .. } = self;
        let count = made.tools.len();
        let noun = if count == 1 { "tool" } else { "tools" };
        screen.show(&format!("{server}: {count} {noun}, MCP {}", pin.revision));
        for tool in &made.tools {
            let shown =
                if tool.tool == tool.element { String::new() } else { format!(" (its name: {})", tool.tool) };
            let answer =
                tool.answer.as_ref().map_or("<tool-result>".to_owned(), |answer| format!("<{answer}>"));
            screen.show(&format!("  <{}>{shown} answers {answer}", tool.element));
        }
        for remark in &made.remarks {
            screen.show(&format!("  note: {remark}"));
        }
        for refused in &made.refused {
            screen.show(&format!("  refused: tool {}, {}: {}", refused.place, refused.tool, refused.reason));
        }
        match difference.map(|difference| (difference, self.package_changes())) {
            None => screen.show("  not pinned before"),
            Some((difference, [])) if difference.is_empty() => screen.show("  nothing changed"),
            Some((difference, packages)) => {
                screen.show("  changed:");
                for line in packages {
                    screen.show(&format!("    package {line}"));
                }
                for line in difference.to_string().lines() {
                    screen.show(&format!("    {line}"));
                }
            }
        }
    }

    fn as_json(&self) -> Value {
        let PinToShow { server, pin, made, difference, .. } = self;
        let tools: Vec<Value> = made
            .tools
            .iter()
            .map(|tool| json!({"tool": tool.tool, "element": tool.element, "answer": tool.answer}))
            .collect();
        let refused: Vec<Value> = made
            .refused
            .iter()
            .map(|one| json!({"tool": one.tool, "place": one.place, "reason": one.reason}))
            .collect();
        json!({
            "listener": server,
            "revision": pin.revision,
            "hash": pin.hash,
            "tools": tools,
            "notes": made.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "refused": refused,
            "packages": pin.packages,
            "package_changes": self.package_changes(),
            "install_scripts": self.installed.map_or(&[][..], |installed| &installed.with_scripts),
            "was_installed": self.installed.is_some_and(|installed| installed.installed.is_some()),
            "was_pinned": difference.is_some(),
            "changed": difference.map(|one| one.lines.clone()).unwrap_or_default(),
        })
    }
}
