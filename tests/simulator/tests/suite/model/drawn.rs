//! What a walk draws: events and items, whose numbers pick among what there is when they happen.

use proptest::prelude::*;

use super::naive;

/// The number of the party whose requests a person lets through.
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
    /// Something befalls an open call.
    Of {
        call: u16,
        what: Befalls,
    },
    Cancels {
        thread: u16,
    },
    /// A word from outside for what a root works on; or for any thread and anybody.
    Steers {
        thread: u16,
        key: u8,
        astray: u8,
    },
    /// A root is ended if it rests.
    Ends {
        thread: u16,
    },
    /// A thread, or everything, is halted or goes on.
    Pauses {
        thread: Option<u16>,
        halts: bool,
    },
    /// Somebody decides about what waits for a person, or nobody does in time.
    Decides {
        call: u16,
        how: u8,
    },
    /// The time of a timer has come.
    IsDue {
        timer: u16,
    },
    /// A call has a child, which waits for a child of its own or for a person, and has a word for it.
    Confers {
        step: u8,
        guarded: bool,
    },
    /// The deepest call asks, or spawns, once more.
    Dives {
        spawns: bool,
    },
    /// Somebody asks the same again, or is answered the same again.
    Circles {
        answers: bool,
        again: u8,
    },
}

/// What befalls an open call.
#[derive(Clone, Debug)]
pub(crate) enum Befalls {
    Replies { items: Vec<Item>, lies: bool },
    RepliesLate { turns: bool },
    Fails { retry: bool },
    IsLost { code: u8, with_pump: bool },
    Sends,
    Again,
    Notices { times: u8 },
}

/// A drawn item.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Note,
    Final,
    /// A final, or a call, that there may have been before.
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

fn befalls() -> impl Strategy<Value = Befalls> {
    prop_oneof![
        14 => (items(), prop::bool::weighted(0.1)).prop_map(|(items, lies)| Befalls::Replies { items, lies }),
        1 => any::<bool>().prop_map(|turns| Befalls::RepliesLate { turns }),
        1 => any::<bool>().prop_map(|retry| Befalls::Fails { retry }),
        5 => any::<(u8, bool)>().prop_map(|(code, with_pump)| Befalls::IsLost { code, with_pump }),
        1 => Just(Befalls::Sends),
        1 => Just(Befalls::Again),
        1 => prop_oneof![9 => 1..3u8, 1 => 60..70u8].prop_map(|times| Befalls::Notices { times }),
    ]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        1 => (0..3u8, any::<u8>(), prop::bool::weighted(0.2))
            .prop_map(|(key, party, other_bytes)| Drawn::Asks { key, party, other_bytes }),
        1 => (any::<u16>(), 0..40u8, any::<u8>())
            .prop_map(|(thread, key, party)| Drawn::AsksInto { thread, key, party }),
        24 => (any::<u16>(), befalls()).prop_map(|(call, what)| Drawn::Of { call, what }),
        2 => any::<u16>().prop_map(|thread| Drawn::Cancels { thread }),
        3 => (any::<u16>(), 0..40u8, any::<u8>())
            .prop_map(|(thread, key, astray)| Drawn::Steers { thread, key, astray }),
        1 => any::<u16>().prop_map(|thread| Drawn::Ends { thread }),
        2 => (prop::option::weighted(0.8, any::<u16>()), any::<bool>())
            .prop_map(|(thread, halts)| Drawn::Pauses { thread, halts }),
        5 => any::<(u16, u8)>().prop_map(|(call, how)| Drawn::Decides { call, how }),
        4 => any::<u16>().prop_map(|timer| Drawn::IsDue { timer }),
    ]
}

/// A walk: single events, and bursts of one that reach the limits.
pub(crate) fn events() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    let queue = |thread, first: u8| {
        (first..first + 19).map(|key| Drawn::AsksInto { thread, key, party: 0 }).collect::<Vec<Drawn>>()
    };
    let burst = prop_oneof![
        60 => drawn().prop_map(|drawn| vec![drawn]),
        // As often as it takes: one more would strike another call.
        6 => any::<(u16, u8, bool)>().prop_map(|(call, code, with_pump)| {
            let often = if with_pump { naive::ATTEMPTS_WITH_PUMP } else { naive::ATTEMPTS };
            vec![Drawn::Of { call, what: Befalls::IsLost { code, with_pump } }; often as usize]
        }),
        2 => any::<bool>().prop_map(|guarded| {
            (0..3).map(|step| Drawn::Confers { step, guarded }).collect::<Vec<Drawn>>()
        }),
        // A call that waits for a person, and what the person says.
        2 => any::<(u16, u8)>().prop_map(|(call, how)| {
            let items = vec![Item::Call(GUARDED)];
            vec![Drawn::Of { call, what: Befalls::Replies { items, lies: false } }, Drawn::Decides { call, how }]
        }),
        // A child that waits for a person, a word for it, and what the person says.
        1 => any::<(u16, u8)>().prop_map(|(call, how)| {
            let confers = (0..3).map(|step| Drawn::Confers { step, guarded: true });
            confers.chain([Drawn::Decides { call, how }]).collect::<Vec<Drawn>>()
        }),
        1 => any::<u16>().prop_map(|timer| vec![Drawn::IsDue { timer }; 3]),
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
    proptest::collection::vec(burst, 1..60)
}

/// What a message from outside may use in a walk: half of the time so little that it is used up.
pub(crate) fn limits() -> impl Strategy<Value = Option<naive::Limits>> {
    let limits = (2..30usize, 1..12usize, 1..=16usize)
        .prop_map(|(messages, children, depth)| naive::Limits { messages, children, depth });
    prop::option::weighted(0.5, limits)
}

/// When calls that repeat themselves are told and refused, if they are.
pub(crate) fn loops() -> impl Strategy<Value = Option<naive::Loops>> {
    let loops = (1..4u32, 1..4u32, 1..7u32).prop_map(|(told, more, rounds)| naive::Loops {
        told,
        refused: told + more,
        rounds,
    });
    prop::option::weighted(0.5, loops)
}
