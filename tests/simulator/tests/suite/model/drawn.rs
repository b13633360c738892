//! The draws of a walk: events and items, whose numbers choose among what exists when they happen.

use proptest::prelude::*;

use super::naive;

/// The number of the party whose requests a person approves.
const GUARDED: u8 = 4;

/// A drawn event.
#[derive(Clone, Debug)]
pub(crate) enum Drawn {
    Asks {
        key: u8,
        party: u8,
        other_bytes: bool,
    },
    AsksInto {
        thread: u16,
        key: u8,
        party: u8,
    },
    /// Something happens to an open call.
    Of {
        call: u16,
        what: Befalls,
    },
    Cancels {
        thread: u16,
    },
    /// A steering message from outside for a root's work; or for any thread and any party.
    Steers {
        thread: u16,
        key: u8,
        astray: u8,
    },
    /// Ends a root if it is at rest.
    Ends {
        thread: u16,
    },
    /// Tries a root again: one that failed, or any.
    Retries {
        thread: u16,
        any: bool,
    },
    /// Pauses or resumes a thread, or everything.
    Pauses {
        thread: Option<u16>,
        halts: bool,
    },
    /// A person decides about a waiting request, or no one does in time.
    Decides {
        call: u16,
        how: u8,
    },
    /// A person answers a question, or no one does in time.
    Answers {
        question: u16,
        how: u8,
    },
    /// A timer is due.
    IsDue {
        timer: u16,
    },
    /// A call has a child, which waits for its own child or for a person, and sends it a steering
    /// message.
    Confers {
        step: u8,
        guarded: bool,
    },
    /// The deepest call asks, or spawns, once more.
    Dives {
        spawns: bool,
    },
    /// Something happens to the clocks.
    Clocks(Clockwork),
    /// A party asks the same again, or gets the same answer again.
    Circles {
        answers: bool,
        again: u8,
    },
}

/// An event of the clocks.
#[derive(Clone, Debug)]
pub(crate) enum Clockwork {
    /// Time passes, in percent of what a message may take.
    Passes { clock: u16, percent: u8 },
    /// The pump checks the first due mark, or any message too early.
    Elapses { early: Option<u16> },
    /// The wall clock is set, this many seconds from the true time.
    IsSet { off: i8 },
    /// The program restarts.
    StartsAgain,
}

/// An event of an open call.
#[derive(Clone, Debug)]
pub(crate) enum Befalls {
    Replies { items: Vec<Item>, lies: bool },
    RepliesLate { turns: bool },
    Fails { retry: bool },
    IsLost { code: u8, with_pump: bool },
    Sends,
    Again,
    Notices { times: u8 },
    Writes { what: Pen, late: bool },
    Recalls { from: u8 },
}

/// A drawn entry of a journal.
#[derive(Clone, Debug)]
pub(crate) enum Pen {
    Starts {
        tokens: Option<u8>,
        money: Option<u8>,
        coin: u8,
    },
    /// The use of a waiting entry, or of another one.
    Ends {
        of: u8,
        tokens: Option<u8>,
        money: Option<u8>,
        coin: u8,
    },
    /// An existing entry, unchanged or changed.
    Again {
        entry: u8,
        other: bool,
    },
}

/// A drawn item.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Note,
    Final,
    /// A final, or a call, that may repeat an earlier one.
    Says(u8),
    Repeats(u8, u8),
    Call(u8),
    Spawn(u8, u8),
    Cast(u8, bool),
    Refused,
    ForThread(u16),
    Wait {
        enough: u8,
        named: Option<u16>,
    },
    Todo {
        condition: u8,
        is_done: bool,
    },
    Ends(u16),
    Sets {
        id: u8,
        repeats: bool,
    },
    Unsets(u8),
    Steers(u16, u8),
    Person,
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let item = prop_oneof![
        2 => Just(Item::Note),
        2 => Just(Item::Final),
        1 => any::<u8>().prop_map(Item::Says),
        1 => any::<(u8, u8)>().prop_map(|(party, again)| Item::Repeats(party, again)),
        4 => any::<u8>().prop_map(Item::Call),
        3 => any::<(u8, u8)>().prop_map(|(label, party)| Item::Spawn(label, party)),
        3 => any::<(u8, bool)>().prop_map(|(takers, is_first)| Item::Cast(takers, is_first)),
        1 => Just(Item::Refused),
        2 => any::<u16>().prop_map(Item::ForThread),
        3 => (any::<u8>(), prop::option::weighted(0.3, any::<u16>()))
            .prop_map(|(enough, named)| Item::Wait { enough, named }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(condition, is_done)| Item::Todo { condition, is_done }),
        2 => any::<u16>().prop_map(Item::Ends),
        2 => (any::<u8>(), prop::bool::weighted(0.4)).prop_map(|(id, repeats)| Item::Sets { id, repeats }),
        2 => Just(Item::Person),
        4 => any::<u8>().prop_map(Item::Unsets),
        3 => any::<(u16, u8)>().prop_map(|(thread, party)| Item::Steers(thread, party)),
    ];
    let finals = || {
        prop_oneof![
            2 => Just(vec![Item::Final]),
            1 => any::<u8>().prop_map(|again| vec![Item::Says(again)]),
            2 => Just(vec![Item::Note, Item::Final]),
            1 => Just(vec![Item::Todo { condition: 0, is_done: false }, Item::Final]),
        ]
    };
    prop_oneof![
        6 => proptest::collection::vec(item, 0..4),
        4 => finals(),
        1 => any::<bool>().prop_map(|repeats| {
            vec![Item::Sets { id: 0, repeats }, Item::Wait { enough: 0, named: None }]
        }),
        1 => any::<(u8, u8, u8)>().prop_map(|(party, again, often)| {
            vec![Item::Repeats(party, again); usize::from(often % 6)]
        }),
        1 => Just(vec![Item::Note; naive::MOST_ITEMS + 1]),
        1 => any::<u8>().prop_map(|party| vec![Item::Spawn(0, party); 34]),
    ]
}

fn some(weight: f64) -> impl Strategy<Value = Option<u8>> {
    prop::option::weighted(weight, any::<u8>())
}

fn starts() -> impl Strategy<Value = Pen> {
    let drawn = (some(0.8), some(0.6), any::<u8>());
    drawn.prop_map(|(tokens, money, coin)| Pen::Starts { tokens, money, coin })
}

fn ends() -> impl Strategy<Value = Pen> {
    let drawn = (any::<u8>(), some(0.8), some(0.8), any::<u8>());
    drawn.prop_map(|(of, tokens, money, coin)| Pen::Ends { of, tokens, money, coin })
}

fn pen() -> impl Strategy<Value = Pen> {
    prop_oneof![
        4 => starts(),
        4 => ends(),
        1 => any::<(u8, bool)>().prop_map(|(entry, other)| Pen::Again { entry, other }),
    ]
}

fn befalls() -> impl Strategy<Value = Befalls> {
    prop_oneof![
        14 => (items(), prop::bool::weighted(0.1)).prop_map(|(items, lies)| Befalls::Replies { items, lies }),
        1 => any::<bool>().prop_map(|turns| Befalls::RepliesLate { turns }),
        1 => any::<bool>().prop_map(|retry| Befalls::Fails { retry }),
        5 => any::<(u8, bool)>().prop_map(|(code, with_pump)| Befalls::IsLost { code, with_pump }),
        1 => Just(Befalls::Sends),
        1 => Just(Befalls::Again),
        1 => prop_oneof![9 => 1..3u8, 1 => 60..70u8].prop_map(|times| Befalls::Notices { times }),
        6 => (pen(), prop::bool::weighted(0.05)).prop_map(|(what, late)| Befalls::Writes { what, late }),
        1 => (0..4u8).prop_map(|from| Befalls::Recalls { from }),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        2 => asks(),
        1 => (any::<u16>(), 0..40u8, any::<u8>())
            .prop_map(|(thread, key, party)| Drawn::AsksInto { thread, key, party }),
        24 => (any::<u16>(), befalls()).prop_map(|(call, what)| Drawn::Of { call, what }),
        2 => any::<u16>().prop_map(|thread| Drawn::Cancels { thread }),
        3 => (any::<u16>(), 0..40u8, any::<u8>())
            .prop_map(|(thread, key, astray)| Drawn::Steers { thread, key, astray }),
        1 => any::<u16>().prop_map(|thread| Drawn::Ends { thread }),
        1 => (any::<u16>(), prop::bool::weighted(0.3))
            .prop_map(|(thread, any)| Drawn::Retries { thread, any }),
        // Mostly threads are resumed: a paused one uses no time.
        2 => (prop::option::weighted(0.9, any::<u16>()), prop::bool::weighted(0.3))
            .prop_map(|(thread, halts)| Drawn::Pauses { thread, halts }),
        5 => any::<(u16, u8)>().prop_map(|(call, how)| Drawn::Decides { call, how }),
        3 => any::<(u16, u8)>().prop_map(|(question, how)| Drawn::Answers { question, how }),
        4 => any::<u16>().prop_map(|timer| Drawn::IsDue { timer }),
        5 => passes(),
        3 => prop::option::weighted(0.3, any::<u16>()).prop_map(|early| Drawn::Clocks(Clockwork::Elapses { early })),
        1 => any::<i8>().prop_map(|off| Drawn::Clocks(Clockwork::IsSet { off })),
        1 => Just(Drawn::Clocks(Clockwork::StartsAgain)),
    ]
}

fn asks() -> impl Strategy<Value = Drawn> {
    (0..3u8, any::<u8>(), prop::bool::weighted(0.2)).prop_map(|(key, party, other_bytes)| Drawn::Asks {
        key,
        party,
        other_bytes,
    })
}

fn passes() -> impl Strategy<Value = Drawn> {
    // To a mark, just before it, just beyond it; or anywhere.
    let percent = prop_oneof![prop::sample::select(vec![20u8, 80, 100]), 0..110u8];
    (any::<u16>(), percent).prop_map(|(clock, percent)| Drawn::Clocks(Clockwork::Passes { clock, percent }))
}

/// A walk: single events, and bursts of one event that reach the limits.
pub(crate) fn events() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    let queue = |thread, first: u8| {
        (first..first + 19).map(|key| Drawn::AsksInto { thread, key, party: 0 }).collect::<Vec<Drawn>>()
    };
    let burst = prop_oneof![
        60 => drawn().prop_map(|drawn| vec![drawn]),
        // As often as needed: one more would hit another call.
        6 => any::<(u16, u8, bool)>().prop_map(|(call, code, with_pump)| {
            // The first death may hit an attempt without a record, which does not count.
            let often = if with_pump { naive::ATTEMPTS_WITH_PUMP + 1 } else { naive::ATTEMPTS };
            vec![Drawn::Of { call, what: Befalls::IsLost { code, with_pump } }; often as usize]
        }),
        2 => any::<bool>().prop_map(|guarded| {
            (0..3).map(|step| Drawn::Confers { step, guarded }).collect::<Vec<Drawn>>()
        }),
        // A call that waits for a person, and the person's decision.
        2 => any::<(u16, u8)>().prop_map(|(call, how)| {
            let items = vec![Item::Call(GUARDED)];
            vec![Drawn::Of { call, what: Befalls::Replies { items, lies: false } }, Drawn::Decides { call, how }]
        }),
        // A child that waits for a person, a steering message for it, and the person's decision.
        1 => any::<(u16, u8)>().prop_map(|(call, how)| {
            let confers = (0..3).map(|step| Drawn::Confers { step, guarded: true });
            confers.chain([Drawn::Decides { call, how }]).collect::<Vec<Drawn>>()
        }),
        1 => any::<u16>().prop_map(|timer| vec![Drawn::IsDue { timer }; 3]),
        3 => passes().prop_map(|passes| vec![passes, Drawn::Clocks(Clockwork::Elapses { early: None })]),
        // Something happens to a call after a time that the pump has or has not checked before.
        4 => (any::<u16>(), befalls(), passes(), any::<bool>(), befalls()).prop_map(
            |(call, first, passes, looks, then)| {
                let of = |what| Drawn::Of { call, what };
                let looks = looks.then_some(Drawn::Clocks(Clockwork::Elapses { early: None }));
                [of(first), passes].into_iter().chain(looks).chain([of(then)]).collect::<Vec<Drawn>>()
            },
        ),
        // The time is over while a child waits for a person.
        1 => any::<u16>().prop_map(|clock| {
            let confers = (0..2).map(|step| Drawn::Confers { step, guarded: true });
            let over = [Drawn::Clocks(Clockwork::Passes { clock, percent: 100 }), Drawn::Clocks(Clockwork::Elapses { early: None })];
            confers.chain(over).collect::<Vec<Drawn>>()
        }),
        // A model is called, and its outcome stays unknown or becomes known.
        3 => (any::<u16>(), starts(), befalls()).prop_map(|(call, what, then)| {
            [Befalls::Writes { what, late: false }, then].map(|what| Drawn::Of { call, what }).to_vec()
        }),
        2 => (any::<u16>(), proptest::collection::vec((starts(), ends()), 1..6)).prop_map(|(call, models)| {
            let both = models.into_iter().flat_map(|(starts, ends)| [starts, ends]);
            let writes = both.map(|what| Drawn::Of { call, what: Befalls::Writes { what, late: false } });
            writes.collect::<Vec<Drawn>>()
        }),
        1 => (any::<u16>(), starts()).prop_map(|(call, what)| {
            vec![Drawn::Of { call, what: Befalls::Writes { what, late: false } }; 34]
        }),
        1 => any::<bool>().prop_map(|spawns| vec![Drawn::Dives { spawns }; 17]),
        2 => proptest::collection::vec(any::<(u8, u8)>(), 1..12).prop_map(|rounds| {
            let round = |(asks, hears)| {
                let steps = [(false, asks), (true, hears)];
                steps.map(|(answers, again)| Drawn::Circles { answers, again: again / 192 })
            };
            rounds.into_iter().flat_map(round).collect::<Vec<Drawn>>()
        }),
        1 => (any::<u16>(), 0..40u8).prop_map(move |(thread, first)| queue(thread, first)),
    ];
    // A message comes before anything else happens.
    (asks(), proptest::collection::vec(burst, 1..45))
        .prop_map(|(asks, bursts)| std::iter::once(vec![asks]).chain(bursts).collect())
}

/// What a message from outside may use in a walk: half of the time so little that it is used up.
pub(crate) fn limits() -> impl Strategy<Value = Option<naive::Limits>> {
    let some = |of: std::ops::Range<u64>| prop::option::weighted(0.7, of);
    let models = (some(10..3_000), some(10..3_000_000));
    let limits = (2..30u64, 1..12u64, 1..=16usize, models, some(1_000..100_000)).prop_map(
        |(messages, children, depth, (tokens, money), wall)| naive::Limits {
            messages,
            children,
            depth,
            tokens,
            money,
            wall,
        },
    );
    prop::option::weighted(0.5, limits)
}

/// When repeated calls are reported and refused, if they are.
pub(crate) fn loops() -> impl Strategy<Value = Option<naive::Loops>> {
    let loops = (1..4u32, 1..4u32, 1..7u32).prop_map(|(told, more, rounds)| naive::Loops {
        told,
        refused: told + more,
        rounds,
    });
    prop::option::weighted(0.5, loops)
}
