//! Around the trait: what is retried and when, which model is the fallback, how many requests run at once, and the
//! ledger's content. Time is paused, and the models give prepared answers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use systole_agent::model::script::Script;
use systole_agent::model::{
    AnswerFuture, AnswerPiece, AnswerWatcher, EstimatedRequest, HttpLimits, Model, ModelAnswer, ModelFault,
    ModelFaultKind, ModelRequest, Models, NoAnswer, OutgoingRequest, RandomSource, RequestLedger,
    RequestOutcome, ServedBy, StopReason, TokenUsage,
};
use systole_agent::spec::{self, Price, Provider, RequestRetry};
use systole_kit::journal::{OutcomeDetails, RepeatedRequest};
use systole_kit::money::Money;
use tokio::time::Instant;

use super::bench::{model, request, text, unwatched, watcher};

/// The events, each with its millisecond.
#[derive(Clone)]
pub(crate) struct Diary {
    begun: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Diary {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), lines: Arc::default() }
    }

    fn note(&self, line: String) {
        let ms = self.begun.elapsed().as_millis();
        self.lines.lock().unwrap().push(format!("{ms} {line}"));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

/// A ledger that writes into a diary, and refuses the request with that number.
pub(crate) struct Books {
    pub(crate) diary: Diary,
    pub(crate) no_at: usize,
    pub(crate) started: usize,
    /// The next requests that failed ones announce.
    again: Vec<RepeatedRequest>,
    /// How long requests wait for the rate of their model.
    waits: Vec<u64>,
    /// What else the last answer came with.
    details: OutcomeDetails,
}

impl Books {
    pub(crate) fn new(diary: &Diary) -> Self {
        Self {
            diary: diary.clone(),
            no_at: usize::MAX,
            started: 0,
            again: Vec::new(),
            waits: Vec::new(),
            details: OutcomeDetails::default(),
        }
    }
}

impl RequestLedger for Books {
    type Halt = &'static str;

    async fn record_start(&mut self, going: OutgoingRequest<'_>) -> Result<(), Self::Halt> {
        self.started += 1;
        if self.started == self.no_at {
            return Err("budget.tokens");
        }
        let money = going.reserve.money.map(|money| format!(" {money}")).unwrap_or_default();
        let OutgoingRequest { model, attempt, reserve, wait_ms, .. } = going;
        self.waits.extend(wait_ms);
        self.diary.note(format!("started {} {attempt}: {}{money}", model.name, reserve.tokens));
        Ok(())
    }

    async fn record_end(&mut self, came: RequestOutcome<'_>) -> Result<(), Self::Halt> {
        self.again.extend(came.details.again);
        self.details = came.details.clone();
        let what = match came.outcome {
            Ok(answer) => format!("{:?}", answer.stop),
            Err(fault) => fault.kind.code().to_owned(),
        };
        let said = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
        let money = came.money.map(|money| format!(" {money}")).unwrap_or_default();
        let (read, written) = (said(came.tokens_in), said(came.tokens_out));
        self.diary.note(format!("ended {}: {what} {read}+{written}{money}", came.model.name));
        Ok(())
    }
}

/// A model that gives prepared answers and records its requests.
struct Told {
    name: &'static str,
    outcomes: Mutex<VecDeque<Result<ModelAnswer, ModelFault>>>,
    diary: Diary,
    out: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Model for Told {
    fn ask(&self, _request: ModelRequest, mut watcher: AnswerWatcher) -> AnswerFuture {
        self.diary.note(format!("asked {}", self.name));
        let outcome = self.outcomes.lock().unwrap().pop_front().expect("it is not asked so often");
        let (out, most) = (Arc::clone(&self.out), Arc::clone(&self.most));
        Box::pin(async move {
            most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            watcher(AnswerPiece::Text("x".to_owned()));
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            out.fetch_sub(1, Ordering::SeqCst);
            outcome
        })
    }
}

/// A source of chance that always returns the same number.
struct Always(u64);

impl RandomSource for Always {
    fn up_to(&self, most: u64) -> u64 {
        self.0.min(most)
    }
}

fn good() -> Result<ModelAnswer, ModelFault> {
    let usage = TokenUsage { tokens_in: Some(100), tokens_out: Some(10), ..TokenUsage::default() };
    Ok(ModelAnswer {
        parts: vec![text("x")],
        stop: StopReason::End,
        usage,
        by: "some".to_owned(),
        served: ServedBy::default(),
    })
}

fn bad(kind: ModelFaultKind, status: Option<u16>) -> Result<ModelAnswer, ModelFault> {
    let words = status.map_or_else(|| "it broke".to_owned(), |status| format!("it answered {status}"));
    let (retry_after_ms, partial) = (None, String::new());
    Err(ModelFault { kind, words, status, retry_after_ms, partial, may_be_paid: false, used: None })
}

/// An error of the provider in the middle of an answer, of which it had reported nothing.
fn broken_off(kind: ModelFaultKind) -> Result<ModelAnswer, ModelFault> {
    let used = TokenUsage { tokens_in: None, tokens_out: Some(7), ..TokenUsage::default() };
    bad(kind, Some(200)).map_err(|fault| ModelFault { may_be_paid: true, used: Some(used), ..fault })
}

fn waiting(ms: u64) -> Result<ModelAnswer, ModelFault> {
    bad(ModelFaultKind::RateLimited, Some(429))
        .map_err(|fault| ModelFault { retry_after_ms: Some(ms), ..fault })
}

fn busy() -> Result<ModelAnswer, ModelFault> {
    bad(ModelFaultKind::RateLimited, Some(429))
}

type Scripted = (&'static str, &'static [&'static str], Vec<Result<ModelAnswer, ModelFault>>);

fn specified(name: &str, fallback: &[&str]) -> spec::ModelSpec {
    let money = |amount| Money::parse(amount).unwrap();
    let price = Price {
        tokens_in: money("3 USD"),
        tokens_out: money("15 USD"),
        cached: None,
        cache_write: None,
        per: 1_000_000,
    };
    spec::ModelSpec {
        name: name.to_owned(),
        price: (name == "main").then_some(price),
        at_once: 2,
        retry: RequestRetry { attempts: 4, first_ms: 1_000, longest_ms: 60_000 },
        fallback: fallback.iter().map(|name| (*name).to_owned()).collect(),
        ..model(Provider::OpenAi, "")
    }
}

fn models(diary: &Diary, chance: u64, scripted: Vec<Scripted>) -> (Models, Arc<AtomicUsize>) {
    models_with(diary, chance, 4, scripted)
}

fn models_with(
    diary: &Diary,
    chance: u64,
    attempts: u32,
    scripted: Vec<Scripted>,
) -> (Models, Arc<AtomicUsize>) {
    let (out, most) = (Arc::default(), Arc::default());
    let each = scripted.into_iter().map(|(name, fallback, outcomes)| {
        let (out, most) = (Arc::clone(&out), Arc::clone(&most));
        let told = Told { name, outcomes: Mutex::new(outcomes.into()), diary: diary.clone(), out, most };
        let mut specified = specified(name, fallback);
        specified.retry.attempts = attempts;
        (specified, Arc::new(told) as Arc<dyn Model>)
    });
    let models =
        Models::new(each.collect(), Box::new(Always(chance)), &HttpLimits::default()).expect("good models");
    (models, most)
}

fn asked() -> EstimatedRequest {
    EstimatedRequest { request: request("hello"), tokens_in: 200, is_single: false }
}

#[tokio::test(start_paused = true)]
async fn e13_a_passing_fault_is_repeated_with_growing_pauses_and_all_is_in_the_books() {
    let diary = Diary::new();
    let busy_then_good = vec![
        busy(),
        bad(ModelFaultKind::Unavailable, Some(503)),
        bad(ModelFaultKind::Truncated, Some(200)),
        good(),
    ];
    let (models, _) = models(&diary, 250, vec![("main", &[], busy_then_good)]);
    let (watcher, pieces) = watcher();
    let (ask, mut books) = (asked(), Books::new(&diary));
    // The future can run on any thread.
    let asking: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
        Box::pin(models.ask_model("main", &ask, &mut books, watcher));
    let found = asking.await;
    assert_eq!(found, good().map_err(NoAnswer::Fault));
    let each = vec![AnswerPiece::Begun, AnswerPiece::Text("x".to_owned())];
    assert_eq!(*pieces.lock().unwrap(), vec![each; 4].concat(), "one watcher sees every attempt");
    assert_eq!(
        diary.lines(),
        [
            "0 started main 1: 700 0.0081 USD",
            "0 asked main",
            "0 ended main: model.rate-limited 0+0 0 USD",
            "750 started main 2: 700 0.0081 USD",
            "750 asked main",
            "750 ended main: model.unavailable 0+0 0 USD",
            "2500 started main 3: 700 0.0081 USD",
            "2500 asked main",
            "2500 ended main: model.truncated 0+0 0 USD",
            "6250 started main 4: 700 0.0081 USD",
            "6250 asked main",
            "6250 ended main: End 100+10 0.00045 USD",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_503_loses_no_work_and_each_pause_is_announced() {
    let diary = Diary::new();
    let gone = || bad(ModelFaultKind::Unavailable, Some(503));
    let outcomes: Vec<_> = (0..9).map(|_| gone()).chain([good()]).collect();
    // Chance makes each pause as short as it can be.
    let (models, _) = models_with(&diary, u64::MAX, 10, vec![("main", &[], outcomes)]);
    let mut books = Books::new(&diary);
    let found = models.ask_model("main", &asked(), &mut books, unwatched()).await;
    assert_eq!(found, good().map_err(NoAnswer::Fault));
    let pauses: Vec<u64> = books.again.iter().map(|again| again.pause_ms).collect();
    assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    let numbers: Vec<(u32, u32)> = books.again.iter().map(|again| (again.number, again.most)).collect();
    assert_eq!((numbers[0], numbers[8]), ((2, 10), (10, 10)));
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_reports_is_in_the_books_and_in_the_cost() {
    let diary = Diary::new();
    let mut answer = good().expect("an answer");
    (answer.usage.cached, answer.usage.cache_write, answer.usage.reasoning) = (Some(60), Some(30), Some(5));
    answer.served =
        ServedBy { model: Some("m-1".into()), fingerprint: Some("fp".into()), request: Some("req".into()) };
    let (models, _) = models(&diary, 0, vec![("main", &[], vec![Ok(answer)])]);
    let mut books = Books::new(&diary);
    models.ask_model("main", &asked(), &mut books, unwatched()).await.expect("an answer");
    let wanted = OutcomeDetails {
        cached: Some(60),
        cache_write: Some(30),
        reasoning: Some(5),
        served: Some("m-1".into()),
        fingerprint: Some("fp".into()),
        request: Some("req".into()),
        again: None,
    };
    assert_eq!(books.details, wanted);
}

#[tokio::test(start_paused = true)]
async fn a_rate_holds_requests_back_for_all_that_share_it() {
    let in_time = |amount| Some(spec::AmountRate { amount, period_ms: 24_000 });
    for (rate, waits) in [
        (spec::ModelRates { requests: in_time(2), tokens: None }, vec![12_000, 12_000]),
        // Each request has 200 tokens by estimate, and its answer needs 1,200 more.
        (spec::ModelRates { requests: None, tokens: in_time(1_500) }, vec![1_600, 22_400, 22_400]),
        (spec::ModelRates::default(), vec![]),
    ] {
        let diary = Diary::new();
        let mut gates = std::collections::BTreeMap::new();
        let mut agents = Vec::new();
        for _ in 0..2 {
            let mut answer = good().expect("an answer");
            (answer.usage.tokens_in, answer.usage.tokens_out) = (Some(200), Some(1_200));
            let outcomes = Mutex::new(VecDeque::from([Ok(answer.clone()), Ok(answer)]));
            let (out, most) = (Arc::default(), Arc::default());
            let told: Arc<dyn Model> =
                Arc::new(Told { name: "main", outcomes, diary: diary.clone(), out, most });
            let model = spec::ModelSpec { rate, ..specified("main", &[]) };
            let models = Models::new(vec![(model, told)], Box::new(Always(0)), &HttpLimits::default());
            agents.push(models.expect("good models").with_gates(&mut gates));
        }
        let mut books = Books::new(&diary);
        for agent in agents.iter().chain(&agents) {
            agent.ask_model("main", &asked(), &mut books, unwatched()).await.expect("an answer");
        }
        assert_eq!(books.waits, waits, "{rate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_its_rate_would_hold_for_long_is_not_sent_and_costs_nothing() {
    let diary = Diary::new();
    let (out, most) = (Arc::default(), Arc::default());
    let outcomes = Mutex::new(VecDeque::from([good(), good()]));
    let told: Arc<dyn Model> = Arc::new(Told { name: "main", outcomes, diary: diary.clone(), out, most });
    let requests = Some(spec::AmountRate { amount: 1, period_ms: 60_000 });
    let model =
        spec::ModelSpec { rate: spec::ModelRates { requests, tokens: None }, ..specified("main", &[]) };
    let models =
        Models::new(vec![(model, told)], Box::new(Always(0)), &HttpLimits::default()).expect("models");
    let mut books = Books::new(&diary);
    models.ask_model("main", &asked(), &mut books, unwatched()).await.expect("an answer");
    let Err(NoAnswer::Fault(fault)) = models.ask_model("main", &asked(), &mut books, unwatched()).await
    else {
        panic!("it is asked")
    };
    assert_eq!((fault.kind, fault.may_be_paid, books.started), (ModelFaultKind::RateLimited, false, 1));
    assert!(models.are_away("main", &fault), "the call waits: {fault:?}");
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    models
        .ask_model("main", &asked(), &mut books, unwatched())
        .await
        .expect("the wait took nothing of the rate");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_its_rate_keeps_no_other_from_its_answer() {
    let diary = Diary::new();
    let (out, most) = (Arc::default(), Arc::default());
    let outcomes = Mutex::new(VecDeque::from([good(), good()]));
    let told: Arc<dyn Model> = Arc::new(Told { name: "main", outcomes, diary: diary.clone(), out, most });
    let requests = Some(spec::AmountRate { amount: 1, period_ms: 20_000 });
    let model = spec::ModelSpec {
        rate: spec::ModelRates { requests, tokens: None },
        at_once: 1,
        ..specified("main", &[])
    };
    let models =
        Models::new(vec![(model, told)], Box::new(Always(0)), &HttpLimits::default()).expect("models");
    let ask = async |what| {
        let came = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
        diary.note(format!("{what} has its answer: {}", came.is_ok()));
    };
    ask("the first").await;
    // The second waits for 20 seconds. The third would wait for 40, which is too long, so it fails at once.
    tokio::join!(ask("the second"), ask("the third"));
    let ends: Vec<String> =
        diary.lines().into_iter().filter(|line| line.contains("has its answer")).collect();
    assert_eq!(
        ends,
        [
            "0 the first has its answer: true",
            "0 the third has its answer: false",
            "20000 the second has its answer: true"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_no_more_requests_than_its_journal_has_room_for() {
    let diary = Diary::new();
    let gone = || (0..10).map(|_| bad(ModelFaultKind::Unavailable, Some(503))).collect();
    let others: &'static [&'static str] = &["b", "c", "d", "e"];
    let all = vec![("a", others, gone()), ("b", &[][..], gone()), ("c", &[], gone()), ("d", &[], gone())];
    let all = all.into_iter().chain([("e", &[][..], vec![good()])]).collect();
    let (models, _) = models_with(&diary, 0, 10, all);
    let found = models.ask_model("a", &asked(), &mut Books::new(&diary), unwatched()).await;
    assert_eq!(found, good().map_err(NoAnswer::Fault));
    let asked =
        |name: &str| diary.lines().iter().filter(|line| line.ends_with(&format!("asked {name}"))).count();
    assert_eq!(["a", "b", "c", "d", "e"].map(asked), [10, 10, 8, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn e13_what_a_provider_asks_to_wait_is_waited_up_to_a_limit() {
    let diary = Diary::new();
    let (models, _) = models(
        &diary,
        0,
        vec![
            ("main", &[], vec![waiting(90_000), waiting(10), waiting(120_001)]),
            ("other", &["main"], vec![]),
        ],
    );
    let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
    let Err(NoAnswer::Fault(fault)) = found else { panic!("{found:?}") };
    assert_eq!(
        fault.words,
        "main: it answered 429; it asks to wait 120001 ms, and 120000 ms are waited at most, after 3 attempts"
    );
    assert_eq!((fault.kind, fault.retry_after_ms), (ModelFaultKind::RateLimited, Some(120_001)));
    let asked: Vec<String> = diary.lines().into_iter().filter(|line| line.contains("asked")).collect();
    assert_eq!(asked, ["0 asked main", "90000 asked main", "92000 asked main"]);
}

#[tokio::test(start_paused = true)]
async fn e13_another_model_is_asked_where_one_cannot_and_the_words_tell_all() {
    let diary = Diary::new();
    let gone = vec![bad(ModelFaultKind::InvalidRequest, Some(404))];
    let (models, _) = models(
        &diary,
        0,
        vec![
            ("main", &["second", "third"], vec![busy(), busy(), busy(), busy()]),
            ("second", &["main"], gone),
            ("third", &[], vec![bad(ModelFaultKind::InvalidRequest, Some(400))]),
        ],
    );
    let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
    let Err(NoAnswer::Fault(fault)) = found else { panic!("{found:?}") };
    assert_eq!(
        fault.words,
        "main: it answered 429, after 4 attempts; second: it answered 404; third: it answered 400"
    );
    assert_eq!((fault.kind, fault.status), (ModelFaultKind::InvalidRequest, Some(400)));
    let started: Vec<String> = diary.lines().into_iter().filter(|line| line.contains("started")).collect();
    let last = started.last().map(String::as_str);
    assert_eq!((started.len(), last), (6, Some("7000 started third 1: 700")), "{started:?}");
}

#[tokio::test(start_paused = true)]
async fn e18_what_may_be_paid_is_asked_once_and_nowhere_else() {
    for kind in [
        ModelFaultKind::Truncated,
        ModelFaultKind::Unavailable,
        ModelFaultKind::TooLarge,
        ModelFaultKind::RateLimited,
    ] {
        let diary = Diary::new();
        let paid = bad(kind, Some(429)).map_err(|fault| ModelFault { may_be_paid: true, ..fault });
        let (models, _) = models(&diary, 0, vec![("main", &["other"], vec![paid]), ("other", &[], vec![])]);
        let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
        assert!(matches!(&found, Err(NoAnswer::Fault(fault)) if fault.may_be_paid), "{found:?}");
        let end = format!("0 ended main: {} ?+?", kind.code());
        assert_eq!(diary.lines(), ["0 started main 1: 700 0.0081 USD", "0 asked main", &end]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_an_answer_is_paid_by_estimate_repeated_and_then_asked_elsewhere() {
    let diary = Diary::new();
    let busy = || broken_off(ModelFaultKind::Unavailable);
    let (models, _) = models(
        &diary,
        0,
        vec![("main", &["other"], vec![busy(), busy(), busy(), busy()]), ("other", &[], vec![good()])],
    );
    let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
    assert_eq!(found, good().map_err(NoAnswer::Fault));
    let ends: Vec<String> = diary.lines().into_iter().filter(|line| line.contains("ended")).collect();
    // The request has 200 tokens by estimate: 200 x 3 + 7 x 15 millionths.
    let paid = "ended main: model.unavailable 200+7 0.000705 USD";
    let main = ["0", "1000", "3000", "7000"].map(|at| format!("{at} {paid}"));
    assert_eq!(ends, [main.as_slice(), &["7000 ended other: End 100+10".to_owned()]].concat());
    // If all of them break off, the models are away: the call waits, and is asked again.
    let fault = busy().expect_err("a fault");
    assert!(models.are_away("main", &fault));
    assert!(!models.are_away("main", &ModelFault { used: None, ..fault }), "its outcome is unknown");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_asked_elsewhere_at_once() {
    let diary = Diary::new();
    let refused = vec![broken_off(ModelFaultKind::Refused)];
    let (models, _) = models(&diary, 0, vec![("main", &["other"], refused), ("other", &[], vec![good()])]);
    let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
    assert_eq!(found, good().map_err(NoAnswer::Fault));
    let asked: Vec<String> = diary.lines().into_iter().filter(|line| line.contains("asked")).collect();
    assert_eq!(asked, ["0 asked main", "0 asked other"]);
}

#[tokio::test(start_paused = true)]
async fn e13_a_request_that_is_wrong_or_refused_is_not_repeated() {
    for (kind, status, elsewhere) in [
        (ModelFaultKind::InvalidRequest, Some(400), false),
        (ModelFaultKind::InvalidRequest, None, false),
        (ModelFaultKind::Refused, Some(200), true),
        (ModelFaultKind::Refused, Some(400), true),
        (ModelFaultKind::WindowFull, Some(400), false),
        (ModelFaultKind::TooLarge, Some(200), false),
        (ModelFaultKind::InvalidRequest, Some(401), true),
        (ModelFaultKind::InvalidRequest, Some(403), true),
        (ModelFaultKind::Refused, Some(402), true),
        (ModelFaultKind::Refused, Some(429), true),
    ] {
        let diary = Diary::new();
        let fault = vec![bad(kind, status)];
        let (models, _) = models(&diary, 0, vec![("main", &["other"], fault), ("other", &[], vec![good()])]);
        let found = models.ask_model("main", &asked(), &mut Books::new(&diary), unwatched()).await;
        assert_eq!(found.is_ok(), elsewhere, "{kind:?} {status:?}: {found:?}");
        assert_eq!(diary.lines().iter().filter(|line| line.contains("asked main")).count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn e18_nothing_goes_out_where_the_books_say_no() {
    for no_at in 1..=3 {
        let diary = Diary::new();
        let main = vec![busy(), busy(), busy(), busy()];
        let (models, _) = models(&diary, 0, vec![("main", &["other"], main), ("other", &[], vec![good()])]);
        let mut books = Books { no_at, ..Books::new(&diary) };
        let found = models.ask_model("main", &asked(), &mut books, unwatched()).await;
        assert_eq!(found, Err(NoAnswer::Halted("budget.tokens")));
        let asked = diary.lines().iter().filter(|line| line.contains("asked")).count();
        assert_eq!(asked, no_at - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn e13_no_more_requests_are_out_at_once_than_a_model_takes() {
    let diary = Diary::new();
    let (models, most) = models(&diary, 0, vec![("main", &[], (0..6).map(|_| good()).collect())]);
    let (models, asked) = (Arc::new(models), asked());
    let each = (0..6).map(|_| {
        let (models, asked, mut books) = (Arc::clone(&models), asked.clone(), Books::new(&diary));
        async move { models.ask_model("main", &asked, &mut books, unwatched()).await.is_ok() }
    });
    let mut running: Vec<_> = each.map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        running.retain_mut(|one| match one.as_mut().poll(cx) {
            std::task::Poll::Ready(good) => {
                assert!(good);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn e13_models_that_cannot_be_told_apart_or_are_not_there_are_refused() {
    let silent = || -> Arc<dyn Model> {
        struct Silent;
        impl Model for Silent {
            fn ask(&self, _request: ModelRequest, _watcher: AnswerWatcher) -> AnswerFuture {
                panic!("no test asks it")
            }
        }
        Arc::new(Silent)
    };
    for (given, words) in [
        (vec![specified("main", &[]), specified("main", &[])], "two models are called main"),
        (vec![specified("main", &["other"])], "models.main.fallback names other, which is not another model"),
        (vec![specified("main", &["main"])], "models.main.fallback names main, which is not another model"),
    ] {
        let given = given.into_iter().map(|model| (model, silent())).collect();
        match Models::new(given, Box::new(Always(0)), &HttpLimits::default()) {
            Ok(_) => panic!("{words}"),
            Err(unusable) => assert!(unusable.to_string().starts_with(words), "{unusable}"),
        }
    }
}

#[test]
fn an_answer_of_a_script_serves_a_number_of_times_or_always() {
    let read = |times: &str| Script::from_text(&format!("helper:\n  - {{say: x, times: {times}}}\n"));
    for good in ["1", "70", "always"] {
        assert!(read(good).is_ok(), "{good}");
    }
    for wrong in ["0", "-1", "often", "1.5", "[1]"] {
        let words = read(wrong).expect_err(wrong).to_string();
        assert_eq!(words, "line 2, column 21: `times` is a number from 1 up, or always", "{wrong}");
    }
}
