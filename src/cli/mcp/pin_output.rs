//! What `systole mcp pin` prints about one server.

use serde_json::{Value, json};
use systole_kit::writer::visible_again;
use systole_mcp::installing::InstalledPackages;
use systole_mcp::schema::{ListDifference, PinFile, ToolElement, ToolVocabulary};

use crate::cli::screen::Screen;
use systole_show::columns::wrapped;

/// A server that was asked for its tools.
pub(super) struct PinToShow<'p> {
    pub(super) server: &'p str,
    pub(super) pin: &'p PinFile,
    pub(super) made: &'p ToolVocabulary,
    /// The last pin.
    pub(super) before: Option<&'p PinFile>,
    pub(super) installed: Option<&'p InstalledPackages>,
}

impl PinToShow<'_> {
    /// Prints it.
    pub(super) fn show(&self, screen: Screen) {
        if screen.json {
            return screen.show_value(&self.as_json());
        }
        for line in self
            .installed
            .and_then(|installed| installed.installed.as_ref())
            .into_iter()
            .flat_map(|text| text.lines())
        {
            screen.show(line);
        }
        self.print_next(screen);
    }

    fn package_changes(&self) -> &[String] {
        self.installed.map_or(&[], |installed| &installed.changes)
    }

    /// How the revision and the tools differ from the last pin, one difference per line. `None` if there is none.
    fn list_changes(&self) -> Option<Vec<String>> {
        let before = self.before?;
        let (old, new) = (&before.revision, &self.pin.revision);
        let revision = (old != new).then(|| format!("the revision of MCP was {old}, is now {new}"));
        let tools = ListDifference::between(&before.tools, &self.pin.tools).to_string();
        Some(revision.into_iter().chain(tools.lines().map(str::to_owned)).collect())
    }

    /// The words that agents see of a tool, with every hidden character shown: all of them, so that a person can judge
    /// them before they are pinned. `None` if they are pinned already.
    fn describe_tool(&self, tool: &ToolElement) -> Option<String> {
        let listed = |pin: &PinFile| pin.tools.iter().find(|one| one.name == tool.tool).cloned();
        if self.before.and_then(listed) == listed(self.pin) {
            return None;
        }
        let line = self.made.describe_element(&tool.element)?;
        let words = line.strip_prefix(&format!("- <{}>: ", tool.element)).unwrap_or(&line);
        Some(visible_again(words))
    }

    fn print_next(&self, screen: Screen) {
        let PinToShow { server, pin, made, .. } = self;
        let count = made.tools.len();
        let noun = if count == 1 { "tool" } else { "tools" };
        screen.show(&format!("{server}: {count} {noun}, MCP {}", pin.revision));
        for tool in &made.tools {
            let shown =
                if tool.tool == tool.element { String::new() } else { format!(" (its name: {})", tool.tool) };
            let answer =
                tool.answer.as_ref().map_or("<tool-result>".to_owned(), |answer| format!("<{answer}>"));
            screen.show(&format!("  <{}>{shown} answers {answer}", tool.element));
            for line in self.describe_tool(tool).iter().flat_map(|words| wrapped("    ", 4, words)) {
                screen.show_drawn(&line);
            }
        }
        for remark in &made.remarks {
            screen.show(&format!("  note: {remark}"));
        }
        for refused in &made.refused {
            screen.show(&format!("  refused: tool {}, {}: {}", refused.place, refused.tool, refused.reason));
        }
        match self.list_changes().map(|changes| (changes, self.package_changes())) {
            None => screen.show("  not pinned before"),
            Some((changes, [])) if changes.is_empty() => screen.show("  nothing changed"),
            Some((changes, packages)) => {
                screen.show("  changed:");
                for line in packages {
                    screen.show(&format!("    package {line}"));
                }
                for line in changes {
                    screen.show(&format!("    {line}"));
                }
            }
        }
    }

    fn as_json(&self) -> Value {
        let PinToShow { server, pin, made, before, .. } = self;
        let shown = |tool: &ToolElement| {
            let words = made.describe_element(&tool.element);
            json!({"tool": tool.tool, "element": tool.element, "answer": tool.answer, "prompt": words})
        };
        let tools: Vec<Value> = made.tools.iter().map(shown).collect();
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
            "was_pinned": before.is_some(),
            "changed": self.list_changes().unwrap_or_default(),
        })
    }
}
