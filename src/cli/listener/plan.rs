//! What `systole listener new` will write: the files of a listener in each language, and its lines for the
//! organism file. Names come in; texts go out. It writes nothing.

use std::path::Path;

use crate::cli::fresh::NewFile;
use crate::cli::place::quote_path;
use systole_config::OrganismFile;
use systole_core::types::ids::Name;

/// The default address of a broker that the organism file does not name yet.
const BROKER: &str = "nats://127.0.0.1:4222";

/// The texts to write.
pub(super) struct ListenerPlan {
    pub(super) files: Vec<NewFile>,
    /// How it is reached, as written in the organism file.
    reach: String,
    once: bool,
    /// The command that builds it, if it must be built.
    build: Option<String>,
    test: String,
    /// The command that starts it, if the organism does not.
    start: Option<String>,
}

impl ListenerPlan {
    /// The commands to run next.
    pub(super) fn next_commands(&self) -> Vec<String> {
        self.build.iter().chain([&self.test]).chain(&self.start).cloned().collect()
    }
}

/// The values for the templates.
pub(super) struct TemplateWords {
    name: String,
    ask: String,
    answer: String,
    namespace: String,
    krate: String,
    organism: String,
    /// The broker's address, for a listener over NATS.
    broker: Option<String>,
    names_broker: bool,
    /// The folder of the keys, quoted for a shell; `None` if the broker requires none.
    keys: Option<String>,
}

impl TemplateWords {
    /// `folder` is the organism file's folder, in which commands are run.
    pub(super) fn from_organism(
        name: &Name,
        organism: &OrganismFile,
        folder: &Path,
        over_nats: bool,
    ) -> TemplateWords {
        let name = name.as_str().to_owned();
        let of = organism.composition.organism.as_str();
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
        TemplateWords {
            ask: name.replace('.', "-"),
            answer: format!("{}-answer", name.replace('.', "-")),
            namespace: format!("https://xml-pipeline.org/ns/{of}/v1"),
            krate: name.replace('.', "-"),
            organism: of.to_owned(),
            broker: over_nats.then_some(broker),
            names_broker: over_nats && organism.bus.is_none() && !organism.managed,
            keys,
            name,
        }
    }

    fn fill_template(&self, template: &str) -> String {
        let holes = [
            ("@NAME@", &self.name),
            ("@ASK@", &self.ask),
            ("@ANSWER@", &self.answer),
            ("@NS@", &self.namespace),
            ("@CRATE@", &self.krate),
        ];
        holes.iter().fold(template.to_owned(), |text, (hole, word)| text.replace(hole, word))
    }

    fn file_name(&self, end: &str) -> String {
        format!("listeners/{}{end}", self.name)
    }

    fn new_file(&self, end: &str, template: &str) -> NewFile {
        NewFile::new(self.file_name(end), self.fill_template(template))
    }

    /// How a program with this command is reached.
    fn write_reach(&self, program: &[&str]) -> String {
        match self.broker {
            Some(_) => "nats: true".to_owned(),
            None => format!("run: [{}]", program.join(", ")),
        }
    }

    /// The command that starts it, if the organism does not.
    fn start_command(&self, program: &str) -> Option<String> {
        let broker = self.broker.as_ref()?;
        let key = match &self.keys {
            Some(keys) => format!(" SYSTOLE_KEY_FILE={keys}/{}.nk", self.name),
            None => String::new(),
        };
        let own = format!("SYSTOLE_ORGANISM={} SYSTOLE_LISTENER={}", self.organism, self.name);
        Some(format!("SYSTOLE_NATS={broker} {own}{key} {program}"))
    }

    pub(super) fn write_payloads(&self) -> Vec<String> {
        let about = "{text: text -- what is asked}";
        let answered = "{text: text -- what is said to it}";
        vec![format!("{}: {about}", self.ask), format!("{}: {answered}", self.answer)]
    }

    /// The entry under `bus`, if the file has none and needs one.
    pub(super) fn write_bus(&self) -> Option<String> {
        let broker = self.broker.as_ref().filter(|_| self.names_broker)?;
        Some(format!("nats: \"{broker}\""))
    }

    pub(super) fn write_listener(&self, plan: &ListenerPlan) -> Vec<String> {
        let mut lines = vec![
            format!("{}:", self.name),
            format!("  {}", plan.reach),
            format!("  accepts: [{}]", self.ask),
            format!("  returns: [{}]", self.answer),
            "  entry: true".to_owned(),
        ];
        if plan.once {
            lines.insert(2, "  mode: once".to_owned());
        }
        lines
    }
}

pub(super) fn plan_shell(words: &TemplateWords) -> ListenerPlan {
    ListenerPlan {
        files: vec![
            words.new_file(".sh", include_str!("templates/shell.sh")),
            words.new_file(".test.yaml", include_str!("templates/test.yaml")),
        ],
        reach: words.write_reach(&["sh", &words.file_name(".sh")]),
        once: true,
        build: None,
        test: format!("systole test {}", words.file_name(".test.yaml")),
        start: None,
    }
}

pub(super) fn plan_python(words: &TemplateWords) -> ListenerPlan {
    // A worker over NATS is tested only by its function, because a test of the organism has no broker.
    let (program, end, test, runs) = match words.broker {
        Some(_) => {
            (include_str!("templates/nats.py"), ".test.sh", include_str!("templates/nats.test.sh"), "sh")
        }
        None => (
            include_str!("templates/python.py"),
            ".test.yaml",
            include_str!("templates/test.yaml"),
            "systole test",
        ),
    };
    ListenerPlan {
        files: vec![words.new_file(".py", program), words.new_file(end, test)],
        reach: words.write_reach(&["python3", &words.file_name(".py")]),
        once: false,
        build: None,
        test: format!("{runs} {}", words.file_name(end)),
        start: words.start_command(&format!("python3 {}", words.file_name(".py"))),
    }
}

/// `kit` is the kit's folder, as written in a manifest.
pub(super) fn plan_rust(words: &TemplateWords, kit: &str) -> ListenerPlan {
    let cargo = |verb: &str| format!("cargo {verb} --manifest-path {}", words.file_name("/Cargo.toml"));
    let (program, features) = match words.broker {
        Some(_) => (include_str!("templates/nats.rs.txt"), ", features = [\"nats\"]"),
        None => (include_str!("templates/main.rs.txt"), ""),
    };
    let manifest = words.fill_template(include_str!("templates/Cargo.toml.txt"));
    let manifest = manifest.replace("@FEATURES@", features).replace("@KIT@", kit);
    let built = format!("{}{}", words.file_name("/target/release/"), words.krate);
    ListenerPlan {
        files: vec![
            NewFile::new(words.file_name("/Cargo.toml"), manifest),
            words.new_file("/src/main.rs", program),
            NewFile::new(words.file_name("/.gitignore"), "/target\n".to_owned()),
        ],
        reach: words.write_reach(&[&built]),
        once: false,
        build: Some(cargo("build --release")),
        test: cargo("test"),
        start: words.start_command(&built),
    }
}
