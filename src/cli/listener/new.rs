//! `systole listener new`: writes the files of a listener, its payloads and its entry in the organism file, and a
//! test that passes as written. It overwrites nothing but its own files of an SDK, and changes no other byte of the
//! organism file.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use systole_kit::schema::SchemaModel;

use super::insert_block;
use crate::cli::exit::CommandExit;
use crate::cli::fresh;
use crate::cli::place::{Place, quote_path};
use crate::cli::screen::Screen;
use crate::cli::sdk;
use systole_config::{self as config, OrganismFile};
use systole_core::types::ids::Name;
use systole_sdk::{self as files, ListenerPlan, ListenerSite, SdkLanguage, TemplateWords, find_classes};

/// The default address of a broker that the organism file does not name yet.
const BROKER: &str = "nats://127.0.0.1:4222";

/// Writes a listener into the organism, with a test that passes as written.
///
/// Its files go below listeners/, its payloads and its entry into the organism's file, in which no other byte
/// changes. Nothing is written over. For Python and TypeScript, sdk/ gets the SDK and the types of the payloads.
#[derive(Args, Debug)]
pub(in crate::cli) struct NewCommand {
    #[command(flatten)]
    place: Place,
    /// What it is written in
    #[arg(value_name = "LANGUAGE")]
    language: Language,
    /// Its name
    #[arg(value_name = "NAME", value_parser = Name::parse)]
    name: Name,
    /// It takes its work over NATS, on whatever machine, in place of stdin
    #[arg(long)]
    nats: bool,
    /// For Python: a program that needs no SDK
    #[arg(long, conflicts_with = "nats")]
    plain: bool,
    /// For Rust: the folder of systole-kit, listeners/kit in a checkout of Systole
    #[arg(long, value_name = "FOLDER")]
    kit: Option<PathBuf>,
}

/// What a listener is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Language {
    /// A shell script, started once for each request
    Shell,
    /// A Python program that stays, on the SDK
    Python,
    /// A TypeScript program that stays, on the SDK
    Typescript,
    /// A Rust program that stays, on the kit
    Rust,
}

/// The elements of talk, which listeners of the file may take without declaring them.
fn list_talk_elements() -> impl Iterator<Item = String> {
    let model = SchemaModel::from_xsd(config::TALK_XSD).ok();
    model.into_iter().flat_map(|model| model.elements().map(str::to_owned).collect::<Vec<_>>())
}

impl NewCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let organism = self.place.organism(screen)?;
        if organism.composition.listeners.contains_key(&self.name) {
            let words = format!("{} is a listener of the organism's file already", self.name.as_str());
            return Err(screen.refuse(words, "another name"));
        }
        if list_talk_elements().any(|element| element == self.name.as_str()) {
            let words = format!("its payload <{}> would replace talk's in this file", self.name.as_str());
            return Err(screen.refuse(words, "another name"));
        }
        let path = self.place.file();
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let site = locate_listener(&organism, &folder, self.nats);
        let words = TemplateWords::from_site(self.name.as_str(), site);
        let plan = self.choose_plan(screen, &words)?;
        let text = insert_block::read_file(screen, path)?;
        let added = add_listener(&text, &words, &plan);
        // If a person must insert it, mistakes in the result are still reported.
        let made = added.clone().or_else(|| by_hand(&text, &words, &plan));
        let made = made.map(|text| config::load_text(path, &text)).transpose().map_err(|refused| {
            let name = self.name.as_str();
            screen.say(format!("with {name} in it the organism's file would be refused:"));
            screen.say_drawn(refused.to_string().trim_end());
            CommandExit::Configuration
        })?;
        let types = self.sdk_language().map(|language| (language, made.unwrap_or(organism)));
        let (words, plan) = match &types {
            Some((_, made)) => {
                let words = with_classes(words, made);
                let plan = self.choose_plan(screen, &words)?;
                (words, plan)
            }
            None => (words, plan),
        };
        if let Some((language, made)) = &types {
            sdk::refuse_foreign(screen, &folder.join(sdk::FOLDER), &sdk::plan_files(*language, made, false))?;
        }
        fresh::write_files(screen, &folder, &plan.files)?;
        if let Some((language, made)) = &types {
            sdk::write_files(screen, &folder.join(sdk::FOLDER), &sdk::plan_files(*language, made, false))?;
        }
        if let Some(text) = &added {
            insert_block::replace_file(screen, path, text)?;
        }
        self.report_listener(screen, &folder, &plan, &words, added.is_some());
        Ok(CommandExit::Done)
    }

    /// The SDK that the listener needs.
    fn sdk_language(&self) -> Option<SdkLanguage> {
        match self.language {
            Language::Python if !self.plain => Some(SdkLanguage::Python),
            Language::Typescript => Some(SdkLanguage::TypeScript),
            Language::Shell | Language::Python | Language::Rust => None,
        }
    }

    fn choose_plan(&self, screen: Screen, words: &TemplateWords) -> Result<ListenerPlan, CommandExit> {
        if self.plain && self.language != Language::Python {
            return Err(screen.refuse("only a Python program has --plain", "the command without --plain"));
        }
        match self.language {
            Language::Shell if self.nats => {
                Err(screen.refuse("a shell script cannot connect to a broker", "python, typescript or rust"))
            }
            Language::Shell => Ok(files::plan_shell(words)),
            Language::Python if self.plain => Ok(files::plan_plain_python(words)),
            Language::Python => Ok(files::plan_python(words)),
            Language::Typescript => Ok(files::plan_typescript(words)),
            Language::Rust => Ok(files::plan_rust(words, &self.find_kit(screen)?)),
        }
    }

    /// The kit's folder, as written in a manifest.
    fn find_kit(&self, screen: Screen) -> Result<String, CommandExit> {
        let fail =
            |words: &str| screen.refuse(words, "--kit FOLDER, with listeners/kit of a checkout of Systole");
        let Some(kit) = &self.kit else {
            return Err(fail("a Rust listener needs systole-kit, which no registry has yet"));
        };
        let manifest = fs::read_to_string(kit.join("Cargo.toml")).unwrap_or_default();
        if !manifest.contains("name = \"systole-kit\"") {
            return Err(fail(&format!("{} is not the folder of systole-kit", kit.display())));
        }
        let whole = fs::canonicalize(kit).unwrap_or_else(|_| kit.clone());
        let text = whole.to_string_lossy();
        // A manifest is TOML, where these two characters have a meaning in strings.
        Ok(text.replace('\\', "\\\\").replace('"', "\\\""))
    }

    fn report_listener(
        &self,
        screen: Screen,
        folder: &Path,
        plan: &ListenerPlan,
        words: &TemplateWords,
        added: bool,
    ) {
        let file = self.place.file().display().to_string();
        let next = plan.next_commands();
        if screen.json {
            let written: Vec<PathBuf> = plan.files.iter().map(|f| folder.join(&f.path)).collect();
            screen.show_value(&json!({"written": written, "added": added, "next": next}));
            return;
        }
        for fresh in &plan.files {
            screen.say(format!("wrote {}", folder.join(&fresh.path).display()));
        }
        if added {
            screen.say(format!("added {} and its payloads to {file}", self.name.as_str()));
        } else {
            screen.say(format!("{file} has an unusual layout; add to it:"));
            let sections = [("payloads", words.write_payloads()), ("listeners", words.write_listener(plan))];
            let bus = words.write_bus().map(|bus| ("bus", vec![bus]));
            for (key, lines) in sections.into_iter().chain(bus) {
                screen.show(&format!("{key}:"));
                lines.iter().for_each(|line| screen.show(&format!("  {line}")));
            }
        }
        next.iter().for_each(|command| screen.say(format!("next: {command}")));
    }
}

/// Where the listener works. `folder` is the organism file's folder, in which commands are run.
fn locate_listener(organism: &OrganismFile, folder: &Path, over_nats: bool) -> ListenerSite {
    let (broker, keys) = if organism.managed {
        // The first start chooses the address and creates the keys; both persist.
        let whole = std::path::absolute(folder.join("organism")).unwrap_or_default();
        let whole = whole.parent().unwrap_or(folder);
        let log = organism.log.strip_prefix(whole).unwrap_or(&organism.log);
        let own = |file: &str| quote_path(Path::new(&format!("{}.nats/{file}", log.display())));
        (format!("\"$(cat {})\"", own("address")), Some(own("keys")))
    } else {
        let broker = organism.bus.as_deref().unwrap_or(BROKER).to_owned();
        (broker, organism.bus_key.is_some().then(|| "keys".to_owned()))
    };
    ListenerSite {
        organism: organism.composition.organism.as_str().to_owned(),
        broker: over_nats.then_some(broker),
        names_broker: over_nats && organism.bus.is_none() && !organism.managed,
        keys,
    }
}

/// The words with the classes that the payloads have in the organism.
fn with_classes(words: TemplateWords, organism: &OrganismFile) -> TemplateWords {
    let schemas = sdk::list_schemas(organism);
    match find_classes(&schemas, words.namespace(), &words.elements())
        .map(|(module, all)| (module, <[String; 2]>::try_from(all)))
    {
        Some((module, Ok(classes))) => words.with_classes(module, classes),
        _ => words,
    }
}

/// The organism file with the listener added, if its layout allows that.
fn add_listener(text: &str, words: &TemplateWords, plan: &ListenerPlan) -> Option<String> {
    let with_listener = insert_block::insert_below(text, "listeners", &words.write_listener(plan))?;
    let with_payloads = insert_block::insert_below(&with_listener, "payloads", &words.write_payloads())?;
    match words.write_bus() {
        Some(bus) => insert_block::insert_below(&with_payloads, "bus", &[bus]),
        None => Some(with_payloads),
    }
}

/// The same for a file of any other layout, as a person would insert it.
fn by_hand(text: &str, words: &TemplateWords, plan: &ListenerPlan) -> Option<String> {
    let lines = words.write_listener(plan);
    let (name, keys) = lines.split_first()?;
    let keys: Vec<&str> = keys.iter().map(|line| line.trim()).collect();
    let listener = format!("{name} {{{}}}", keys.join(", "));
    let with_listener = config::add_entry(text, "listeners", &listener)?;
    let more = words.write_payloads().into_iter().map(|payload| ("payloads", payload));
    let more = more.chain(words.write_bus().map(|bus| ("bus", bus)));
    more.into_iter().try_fold(with_listener, |text, (key, line)| config::add_entry(&text, key, &line))
}
