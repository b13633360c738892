//! Enough of Rust's modules to tell which file defines what a path names: modules, imports, re-exports, aliases.
//! Methods count for no file, and a name made by a macro counts for the last module of its path that was found.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::rust::code_of;

/// Words that neither begin a path nor name an item.
const KEYWORDS: [&str; 32] = [
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "fn", "for", "if",
    "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct",
    "trait", "type", "unsafe", "use", "where", "while",
];

/// The words before the name of an item.
const DEFINING: [&str; 8] = ["struct", "enum", "trait", "type", "fn", "const", "static", "union"];

/// A piece of code: a word, `::`, `->`, a lifetime or one sign, and the byte where it begins.
#[derive(Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    at: usize,
}

/// A module, with the file that holds it.
struct Module {
    krate: usize,
    parent: Option<usize>,
    file: usize,
    /// The folder of its child modules, with a `/` at its end.
    folder: String,
    scope: usize,
}

/// A module or a block in braces: what its names mean.
struct Scope {
    parent: Option<usize>,
    module: usize,
    names: BTreeMap<String, Vec<Meaning>>,
    /// The aliases that end in `*`.
    globs: Vec<usize>,
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Module(usize),
    Item { file: usize, is_type: bool },
    Alias(usize),
}

/// What an import makes of a name: the path, and where it is written.
struct Alias {
    path: Vec<String>,
    scope: usize,
}

/// A path in the code.
struct Use {
    path: Vec<String>,
    scope: usize,
    at: usize,
    /// The alias that the path itself makes, if it is imported.
    alias: Option<usize>,
    is_glob: bool,
}

/// A use of one file by another: the byte where it is written, and the path.
pub(super) struct Edge {
    pub(super) at: usize,
    pub(super) path: String,
}

/// The uses between the files of some crates, by the places of both files among the sources. Only the first use of
/// each pair is there. Uses between a module and its direct parent are left out.
pub(super) fn edges(sources: &[Source], crates: &[(&str, &str)]) -> BTreeMap<(usize, usize), Edge> {
    let mut reader = Reader {
        sources,
        files: sources.iter().enumerate().map(|(file, source)| (source.path.as_str(), file)).collect(),
        crates: BTreeMap::new(),
        modules: Vec::new(),
        scopes: Vec::new(),
        aliases: Vec::new(),
        uses: Vec::new(),
    };
    for (folder, name) in crates {
        if let Some(file) = reader.files.get(format!("{folder}lib.rs").as_str()).copied() {
            let root = reader.module(None, file, (*folder).to_owned());
            reader.crates.insert((*name).to_owned(), root);
            reader.read(root);
        }
    }
    reader.edges()
}

struct Reader<'s> {
    sources: &'s [Source],
    files: BTreeMap<&'s str, usize>,
    /// The root modules, by the name of the crate in paths.
    crates: BTreeMap<String, usize>,
    modules: Vec<Module>,
    scopes: Vec<Scope>,
    aliases: Vec<Alias>,
    uses: Vec<Use>,
}

impl Reader<'_> {
    fn module(&mut self, parent: Option<usize>, file: usize, folder: String) -> usize {
        let module = self.modules.len();
        let krate = parent.map_or(module, |parent| self.modules[parent].krate);
        let scope = self.scope(None, module);
        self.modules.push(Module { krate, parent, file, folder, scope });
        module
    }

    fn scope(&mut self, parent: Option<usize>, module: usize) -> usize {
        self.scopes.push(Scope { parent, module, names: BTreeMap::new(), globs: Vec::new() });
        self.scopes.len() - 1
    }

    fn define(&mut self, scope: usize, name: &str, meaning: Meaning) {
        self.scopes[scope].names.entry(name.to_owned()).or_default().push(meaning);
    }

    /// Reads the file of a module, and the files of its child modules.
    fn read(&mut self, module: usize) {
        let file = self.modules[module].file;
        let code = code_of(&self.sources[file].text);
        self.items(module, &without_tests(&tokens(&code)));
    }

    fn items(&mut self, module: usize, tokens: &[Token<'_>]) {
        let mut scope = self.modules[module].scope;
        let (mut outer, mut at) = (Vec::new(), 0);
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        while at < tokens.len() {
            let before = if at == 0 { "" } else { text(at - 1) };
            let (here, after) = (text(at), text(at + 1));
            let inside = self.scopes[scope].module;
            match here {
                // The path in `pub(in path)` uses nothing.
                "pub" if after == "(" => at = closed(tokens, at + 1),
                "use" if before != "." && after != "<" => {
                    at = self.import(tokens, at + 1, Vec::new(), scope) + 1
                }
                "mod" if is_name(after) && text(at + 2) == ";" => {
                    if let Some(child) = self.child(inside, after) {
                        self.define(scope, after, Meaning::Module(child));
                        self.read(child);
                    }
                    at += 3;
                }
                "mod" if is_name(after) && text(at + 2) == "{" => {
                    let Module { file, folder, .. } = &self.modules[inside];
                    let child = self.module(Some(inside), *file, format!("{folder}{after}/"));
                    self.define(scope, after, Meaning::Module(child));
                    outer.push(scope);
                    scope = self.modules[child].scope;
                    at += 3;
                }
                "{" => {
                    outer.push(scope);
                    scope = self.scope(Some(scope), inside);
                    at += 1;
                }
                "}" => {
                    scope = outer.pop().unwrap_or(scope);
                    at += 1;
                }
                "macro_rules" if after == "!" => {
                    self.define(
                        scope,
                        text(at + 2),
                        Meaning::Item { file: self.modules[inside].file, is_type: false },
                    );
                    at += 3;
                }
                _ if DEFINING.contains(&here)
                    && is_name(after)
                    && !["*", ".", "<", ",", "&"].contains(&before) =>
                {
                    let is_type = !matches!(here, "fn" | "const" | "static");
                    self.define(scope, after, Meaning::Item { file: self.modules[inside].file, is_type });
                    at += 2;
                }
                _ if is_name(here) && !["::", "."].contains(&before) => at = self.path(tokens, at, scope),
                _ => at += 1,
            }
        }
    }

    /// Reads a path that begins at a name. Returns where it ends.
    fn path(&mut self, tokens: &[Token<'_>], start: usize, scope: usize) -> usize {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let (mut path, mut at) = (vec![text(start).to_owned()], start + 1);
        while text(at) == "::" && is_name(text(at + 1)) {
            path.push(text(at + 1).to_owned());
            at += 2;
        }
        if path.len() > 1 {
            self.uses.push(Use { path, scope, at: tokens[start].at, alias: None, is_glob: false });
        }
        at
    }

    fn child(&mut self, parent: usize, name: &str) -> Option<usize> {
        let folder = self.modules[parent].folder.clone();
        // The section of a listener is in its folder, and a module of the configuration.
        for (beside, inside) in [
            (format!("{folder}{name}.rs"), format!("{folder}{name}/")),
            (format!("listeners/{name}/section.rs"), format!("listeners/{name}/section/")),
        ] {
            let file =
                self.files.get(beside.as_str()).or_else(|| self.files.get(&*format!("{inside}mod.rs")));
            if let Some(file) = file.copied() {
                return Some(self.module(Some(parent), file, inside));
            }
        }
        None
    }

    /// Reads one branch of the tree of a `use`, and returns the place after it.
    fn import(&mut self, tokens: &[Token<'_>], mut at: usize, mut path: Vec<String>, scope: usize) -> usize {
        let text = |at: usize| tokens.get(at).map_or(";", |token| token.text);
        if text(at) == "::" {
            at += 1;
        }
        loop {
            let begins = tokens.get(at).map_or(0, |token| token.at);
            match text(at) {
                "{" => {
                    at += 1;
                    while !["}", ";"].contains(&text(at)) {
                        at = self.import(tokens, at, path.clone(), scope);
                        if text(at) == "," {
                            at += 1;
                        }
                    }
                    return at + 1;
                }
                "*" => {
                    self.alias(path, None, scope, begins);
                    return at + 1;
                }
                "self" if !path.is_empty() => {}
                part => path.push(part.to_owned()),
            }
            at += 1;
            if text(at) == "::" {
                at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if text(at) == "as" {
                name = text(at + 1).to_owned();
                at += 2;
            }
            self.alias(path, Some(&name), scope, begins);
            return at;
        }
    }

    /// Adds an import. Without a name it is a glob.
    fn alias(&mut self, path: Vec<String>, name: Option<&str>, scope: usize, at: usize) {
        let alias = self.aliases.len();
        self.aliases.push(Alias { path: path.clone(), scope });
        match name {
            Some("_") => {}
            Some(name) => self.define(scope, name, Meaning::Alias(alias)),
            None => self.scopes[scope].globs.push(alias),
        }
        self.uses.push(Use { path, scope, at, alias: Some(alias), is_glob: name.is_none() });
    }

    /// What a name means in one scope. `seen` guards against aliases that lead to themselves.
    fn look_up(&self, scope: usize, name: &str, seen: &BTreeSet<usize>) -> Vec<Meaning> {
        let Scope { names, globs, .. } = &self.scopes[scope];
        let mut found = Vec::new();
        for meaning in names.get(name).into_iter().flatten() {
            match meaning {
                Meaning::Alias(alias) if seen.contains(alias) => {}
                Meaning::Alias(alias) => found.extend(self.followed(*alias, seen)),
                Meaning::Module(_) | Meaning::Item { .. } => found.push(*meaning),
            }
        }
        if found.is_empty() {
            for glob in globs.iter().filter(|glob| !seen.contains(glob)) {
                let seen = with(seen, *glob);
                for meaning in self.followed(*glob, &seen) {
                    if let Meaning::Module(module) = meaning {
                        found.extend(self.look_up(self.modules[module].scope, name, &seen));
                    }
                }
            }
        }
        found
    }

    fn followed(&self, alias: usize, seen: &BTreeSet<usize>) -> Vec<Meaning> {
        let Alias { path, scope } = &self.aliases[alias];
        self.resolve(path, *scope, &with(seen, alias))
    }

    /// What a path names: nothing if it leads out of the crates.
    fn resolve(&self, path: &[String], scope: usize, seen: &BTreeSet<usize>) -> Vec<Meaning> {
        let Some((head, rest)) = path.split_first() else { return Vec::new() };
        let module = self.scopes[scope].module;
        let mut current: Vec<Meaning> = match head.as_str() {
            "crate" => vec![Meaning::Module(self.modules[module].krate)],
            "self" => vec![Meaning::Module(module)],
            "super" => self.modules[module].parent.map(Meaning::Module).into_iter().collect(),
            "Self" => return Vec::new(),
            name => self.in_sight(name, scope, !rest.is_empty(), seen),
        };
        for (ordinal, part) in rest.iter().enumerate() {
            let is_last = ordinal + 1 == rest.len();
            let mut following = Vec::new();
            for meaning in current {
                let Meaning::Module(module) = meaning else {
                    // A variant or an associated item is in the file of its type.
                    following.push(meaning);
                    continue;
                };
                let Module { parent, file, scope, .. } = self.modules[module];
                if part == "super" {
                    following.extend(parent.map(Meaning::Module));
                    continue;
                }
                let found = self.look_up(scope, part, seen);
                let leads_out = || {
                    let meanings = self.scopes[scope].names.get(part).into_iter().flatten();
                    meanings.into_iter().any(|meaning| matches!(meaning, Meaning::Alias(_)))
                };
                if found.is_empty() && !leads_out() {
                    following.push(Meaning::Item { file, is_type: true });
                }
                following.extend(if is_last { found } else { types_first(found) });
            }
            current = following;
        }
        current
    }

    /// What the first name of a path means: in its block, in the blocks around it, in its module, or as a crate.
    fn in_sight(&self, name: &str, scope: usize, has_more: bool, seen: &BTreeSet<usize>) -> Vec<Meaning> {
        let mut place = Some(scope);
        while let Some(scope) = place {
            let found = self.look_up(scope, name, seen);
            if !found.is_empty() {
                return if has_more {
                    found.into_iter().filter(|one| is_type(*one)).collect()
                } else {
                    found
                };
            }
            place = self.scopes[scope].parent;
        }
        self.crates.get(name).filter(|_| has_more).map(|root| Meaning::Module(*root)).into_iter().collect()
    }

    fn edges(&self) -> BTreeMap<(usize, usize), Edge> {
        let mut kin = BTreeSet::new();
        for Module { parent, file, .. } in &self.modules {
            if let Some(parent) = parent {
                let parent = self.modules[*parent].file;
                kin.extend([(*file, parent), (parent, *file)]);
            }
        }
        let mut edges: BTreeMap<(usize, usize), Edge> = BTreeMap::new();
        for Use { path, scope, at, alias, is_glob } in &self.uses {
            let from = self.modules[self.scopes[*scope].module].file;
            // A path does not lead through the very name that it makes.
            for meaning in self.resolve(path, *scope, &alias.iter().copied().collect()) {
                let to = match meaning {
                    Meaning::Item { file, .. } => file,
                    Meaning::Module(module) if *is_glob => self.modules[module].file,
                    // A module alone is no use of what it holds.
                    Meaning::Module(_) | Meaning::Alias(_) => continue,
                };
                let is_first = edges.get(&(from, to)).is_none_or(|edge| *at < edge.at);
                if from != to && !kin.contains(&(from, to)) && is_first {
                    edges.insert((from, to), Edge { at: *at, path: path.join("::") });
                }
            }
        }
        edges
    }
}

fn with(seen: &BTreeSet<usize>, alias: usize) -> BTreeSet<usize> {
    seen.iter().copied().chain([alias]).collect()
}

fn is_type(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Module(_) | Meaning::Item { is_type: true, .. })
}

/// The types and modules, or all if there are none: only they can have something below them.
fn types_first(found: Vec<Meaning>) -> Vec<Meaning> {
    let types: Vec<Meaning> = found.iter().copied().filter(|one| is_type(*one)).collect();
    if types.is_empty() { found } else { types }
}

/// Whether a token is a word that may be part of a path, such as `crate` or `Name`.
fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') && !KEYWORDS.contains(&token)
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = code[at..].chars().next() {
        let rest = &code[at..];
        // `r#type` is the word `type`, and a lifetime is no word.
        let skipped = if rest.starts_with("r#") && rest[2..].starts_with(is_word) { 2 } else { 0 };
        let start = usize::from(first == '\'') + skipped;
        let word = rest[start..].find(|c: char| !is_word(c)).unwrap_or(rest.len() - start);
        let length = match first {
            _ if rest.starts_with("::") || rest.starts_with("->") || rest.starts_with("=>") => 2,
            c if is_word(c) || c == '\'' => (start + word).max(1),
            c => c.len_utf8(),
        };
        if !first.is_whitespace() {
            found.push(Token { text: &rest[skipped..length], at });
        }
        at += length;
    }
    found
}

/// The place after the bracket that opens at `at`.
fn closed(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    tokens.len()
}

/// The tokens without the items that are only in tests.
fn without_tests<'t>(tokens: &[Token<'t>]) -> Vec<Token<'t>> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let end = if text(at) == "#" && text(at + 1) == "[" { closed(tokens, at + 1) } else { at };
        let names = |word: &str| tokens[at..end].iter().any(|token| token.text == word);
        if end == at || text(at + 2) != "cfg" || !names("test") || names("not") {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        at = end;
        while text(at) == "#" {
            at = closed(tokens, at + 1);
        }
        at = after_item(tokens, at);
    }
    kept
}

/// The place after the item that begins at `at`: after its `;`, its `,` or its body.
fn after_item(tokens: &[Token<'_>], mut at: usize) -> usize {
    let is_import = tokens[at..].iter().take(2).any(|token| token.text == "use");
    while at < tokens.len() {
        match tokens[at].text {
            "(" | "[" => at = closed(tokens, at),
            "{" if is_import => at = closed(tokens, at),
            "{" => return closed(tokens, at),
            "}" => return at,
            ";" | "," => return at + 1,
            _ => at += 1,
        }
    }
    at
}
