//! What `systole listener new` is about to write: the files of a listener in each language, and its lines for the
//! organism's file. Names come in; texts go out. It writes nothing.

use std::path::Path;

use crate::cli::fresh::Fresh;
use crate::cli::place::quoted;
use crate::config::OrganismFile;
use systole_core::types::ids::Name;

/// Where a broker is looked for that the organism's file does not name yet.
const BROKER: &str = "nats://127.0.0.1:4222";

/// What is to be written.
pub(super) struct Plan {
    pub(super) files: Vec<Fresh>,
    /// How it is reached, as the organism's file says it.
    reach: String,
    once: bool,
    /// What builds it, where it has to be built.
    build: Option<String>,
    test: String,
    /// What starts it, where the organism does not.
    start: Option<String>,
}

impl Plan {
    /// The commands that are to be given next.
    pub(super) fn next(&self) -> Vec<String> {
        self.build.iter().chain([&self.test]).chain(&self.start).cloned().collect()
    }
}

/// What the templates leave open.
pub(super) struct Words {
    name: String,
    ask: String,
    answer: String,
    namespace: String,
    krate: String,
    organism: String,
    /// Where the broker is, for a listener over NATS.
    broker: Option<String>,
    names_broker: bool,
    /// The folder of the keys, as a shell takes it; none where the broker asks for none.
    keys: Option<String>,
}

impl Words {
    /// `folder` is that of the organism's file, in which commands are given.
    pub(super) fn of(name: &Name, organism: &OrganismFile, folder: &Path, over_nats: bool) -> Words {
        let name = name.as_str().to_owned();
        let of = organism.composition.organism.as_str();
        let (broker, keys) = if organism.managed {
            // The first start chooses the address and makes the keys; both stay.
            let whole = std::path::absolute(folder.join("organism")).unwrap_or_default();
            let whole = whole.parent().unwrap_or(folder);
            let log = organism.log.strip_prefix(whole).unwrap_or(&organism.log);
            let own = |file: &str| quoted(Path::new(&format!("{}.nats/{file}", log.display())));
            (format!("\"$(cat {})\"", own("address")), Some(own("keys")))
        } else {
            let broker = organism.bus.as_deref().unwrap_or(BROKER).to_owned();
            (broker, organism.bus_key.is_some().then(|| "keys".to_owned()))
        };
        Words {
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

    fn filled(&self, template: &str) -> String {
        let holes = [
            ("@NAME@", &self.name),
            ("@ASK@", &self.ask),
            ("@ANSWER@", &self.answer),
            ("@NS@", &self.namespace),
            ("@CRATE@", &self.krate),
        ];
        holes.iter().fold(template.to_owned(), |text, (hole, word)| text.replace(hole, word))
    }

    fn file(&self, end: &str) -> String {
        format!("listeners/{}{end}", self.name)
    }

    fn fresh(&self, end: &str, template: &str) -> Fresh {
        Fresh::new(self.file(end), self.filled(template))
    }

    /// How a program is reached that is started like this.
    fn reach(&self, program: &[&str]) -> String {
        match self.broker {
            Some(_) => "nats: true".to_owned(),
            None => format!("run: [{}]", program.join(", ")),
        }
    }

    /// What starts it where it is, where the organism does not.
    fn start(&self, program: &str) -> Option<String> {
        let broker = self.broker.as_ref()?;
        let key = match &self.keys {
            Some(keys) => format!(" SYSTOLE_KEY_FILE={keys}/{}.nk", self.name),
            None => String::new(),
        };
        let at =
            ["SYSTOLE_NATS=", broker, " SYSTOLE_ORGANISM=", &self.organism, " SYSTOLE_LISTENER=", &self.name];
        Some(format!("{}{key} {program}", at.concat()))
    }

    pub(super) fn payloads(&self) -> Vec<String> {
        let about = "{text: text -- what is asked}";
        let answered = "{text: text -- what is said to it}";
        vec![format!("{}: {about}", self.ask), format!("{}: {answered}", self.answer)]
    }

    /// What stands under `bus`, where the file has none and needs one.
    pub(super) fn bus(&self) -> Option<String> {
        let broker = self.broker.as_ref().filter(|_| self.names_broker)?;
        Some(["nats: \"", broker, "\""].concat())
    }

    pub(super) fn listener(&self, plan: &Plan) -> Vec<String> {
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

pub(super) fn shell(words: &Words) -> Plan {
    Plan {
        files: vec![
            words.fresh(".sh", include_str!("templates/shell.sh")),
            words.fresh(".test.yaml", include_str!("templates/test.yaml")),
        ],
        reach: words.reach(&["sh", &words.file(".sh")]),
        once: true,
        build: None,
        test: format!("systole test {}", words.file(".test.yaml")),
        start: None,
    }
}

pub(super) fn python(words: &Words) -> Plan {
    // A worker over NATS is tested by its function alone: a test of the organism has no broker.
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
    Plan {
        files: vec![words.fresh(".py", program), words.fresh(end, test)],
        reach: words.reach(&["python3", &words.file(".py")]),
        once: false,
        build: None,
        test: format!("{runs} {}", words.file(end)),
        start: words.start(&format!("python3 {}", words.file(".py"))),
    }
}

/// `kit` is where the kit lies, as a manifest names it.
pub(super) fn rust(words: &Words, kit: &str) -> Plan {
    let cargo = |verb: &str| format!("cargo {verb} --manifest-path {}", words.file("/Cargo.toml"));
    let (program, features) = match words.broker {
        Some(_) => (include_str!("templates/nats.rs.txt"), ", features = [\"nats\"]"),
        None => (include_str!("templates/main.rs.txt"), ""),
    };
    let manifest = words.filled(include_str!("templates/Cargo.toml.txt"));
    let manifest = manifest.replace("@FEATURES@", features).replace("@KIT@", kit);
    let built = [&words.file("/target/release/"), &*words.krate].concat();
    Plan {
        files: vec![
            Fresh::new(words.file("/Cargo.toml"), manifest),
            words.fresh("/src/main.rs", program),
            Fresh::new(words.file("/.gitignore"), "/target\n".to_owned()),
        ],
        reach: words.reach(&[&built]),
        once: false,
        build: Some(cargo("build --release")),
        test: cargo("test"),
        start: words.start(&built),
    }
}
