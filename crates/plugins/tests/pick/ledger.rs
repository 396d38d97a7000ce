//! What is in flight: counted at the decision, given back whatever happens since.

use suimon_picker::{Decision, Metrics};

use crate::pool::{Ask, Pool, STANDARD, alone, index};

/// Requests and tokens in flight at an endpoint, and what a load scorer sees as waiting.
fn ledger(pool: &Pool, endpoint: usize) -> (u32, u64, u32) {
    let endpoint = pool.endpoint(endpoint);
    (
        endpoint.in_flight_requests(),
        endpoint.in_flight_tokens(),
        endpoint.load(pool.now()).waiting,
    )
}

fn picks(pool: &Pool, asks: impl IntoIterator<Item = Ask>) -> Vec<Decision> {
    let asks = asks.into_iter();
    asks.map(|ask| pool.pick(&ask).unwrap()).collect()
}

#[test]
fn requests_that_arrive_together_are_spread_evenly() {
    for yaml in [
        &*alone("queue-scorer"),
        &*alone("running-requests-size-scorer"),
        STANDARD,
    ] {
        let pool = Pool::idle(yaml, 4);
        let asks = (0..12).map(|number| Ask::prompt(&format!("{number} together")));
        let running = picks(&pool, asks);
        let mut counts = [0; 4];
        running.iter().for_each(|one| counts[index(one)] += 1);
        assert_eq!(counts, [3; 4], "{yaml}");
        for endpoint in 0..4 {
            let (requests, tokens, waiting) = ledger(&pool, endpoint);
            assert_eq!((requests, waiting), (3, 3));
            assert!(tokens > 0);
        }
        drop(running);
        for endpoint in 0..4 {
            assert_eq!(ledger(&pool, endpoint), (0, 0, 0));
            assert_eq!(pool.endpoint(endpoint).total_requests(), 3);
        }
    }
}

#[test]
fn picks_of_many_threads_add_up() {
    const THREADS: usize = 8;
    const EACH: usize = 50;
    let pool = Pool::idle(&alone("queue-scorer"), 4);
    let pick_some = || picks(&pool, (0..EACH).map(|_| Ask::prompt("hello")));
    let running: Vec<Decision> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(pick_some)).collect();
        let picked = threads.into_iter().map(|thread| thread.join().unwrap());
        picked.flatten().collect()
    });
    let in_flight = || (0..4).map(|one| ledger(&pool, one).0).sum::<u32>();
    assert_eq!(in_flight() as usize, THREADS * EACH);
    drop(running);
    assert_eq!(in_flight(), 0);
}

#[test]
fn tokens_are_those_of_the_prompt_that_are_not_held() {
    let yaml = "plugins: [{type: inflight-load-producer}, {type: prefix-cache-scorer}]";
    let pool = Pool::idle(yaml, 1);
    let ask = Ask::prompt(&"x".repeat(4096));
    let first = pool.pick(&ask).unwrap();
    assert_eq!(ledger(&pool, 0).1, 1024);
    let second = pool.pick(&ask).unwrap();
    assert_eq!(ledger(&pool, 0).1, 1024, "all of the second is held");
    drop((first, second));
    assert_eq!(ledger(&pool, 0).1, 0);
}

#[test]
fn a_scrape_takes_over_what_was_sent_before_it_began() {
    let pool = Pool::idle(&alone("queue-scorer"), 1);
    let running = pool.pick(&Ask::prompt("hello")).unwrap();
    assert_eq!(ledger(&pool, 0).2, 1);
    pool.scrape(0, Metrics::default());
    assert_eq!(ledger(&pool, 0).2, 0, "the server counts it from now on");
    assert_eq!(ledger(&pool, 0).0, 1);
    drop(running);
    assert_eq!(ledger(&pool, 0), (0, 0, 0));
}

#[test]
fn a_request_that_moves_is_counted_where_it_went() {
    let pool = Pool::idle(&alone("queue-scorer"), 2);
    let mut running = pool.pick(&Ask::prompt("hello").only(&[0])).unwrap();
    let tokens = ledger(&pool, 0).1;
    running.in_flight.move_to(&pool.endpoint(1));
    assert_eq!(ledger(&pool, 0), (0, 0, 0));
    assert_eq!(ledger(&pool, 1), (1, tokens, 1));
    drop(running);
    assert_eq!(ledger(&pool, 1), (0, 0, 0));
}

#[test]
fn an_endpoint_that_comes_back_counts_only_its_own() {
    let pool = Pool::idle(STANDARD, 2);
    let ask = Ask::prompt(&"x".repeat(1000)).only(&[0]);
    let some = |count| picks(&pool, std::iter::repeat_n(ask.clone(), count));
    let before = some(5);
    let gone = pool.endpoint(0);
    pool.members([1]);
    assert!(gone.is_gone());
    pool.members([0, 1]);
    pool.scrape(0, Metrics::default());
    assert_eq!(ledger(&pool, 0), (0, 0, 0));
    assert_eq!(gone.in_flight_requests(), 5);
    let after = some(2);
    assert_eq!(ledger(&pool, 0).0, 2);
    drop(before);
    assert_eq!((gone.in_flight_requests(), gone.in_flight_tokens()), (0, 0));
    assert_eq!(ledger(&pool, 0).0, 2);
    drop(after);
    assert_eq!(ledger(&pool, 0), (0, 0, 0));
    // Below zero it would take more than one request to be seen again.
    let one = some(1);
    assert_eq!((ledger(&pool, 0).0, gone.in_flight_requests()), (1, 0));
    drop(one);
}

#[test]
fn an_endpoint_that_comes_back_holds_nothing_of_its_former_life() {
    let pool = Pool::idle(&alone("prefix-cache-scorer"), 2);
    let ask = Ask::prompt(&"x".repeat(1000));
    drop(pool.pick(&ask.clone().only(&[0])));
    assert_eq!(pool.scores(&ask.clone().only(&[0, 1])), [1.0, 0.0]);
    pool.members([1]);
    pool.members([0, 1]);
    assert_eq!(pool.scores(&ask), [0.0, 0.0]);
}

#[test]
fn who_refused_a_connection_is_passed_over_while_there_are_others() {
    let pool = Pool::idle(STANDARD, 2);
    pool.endpoint(0).refused(pool.now());
    for number in 0..20 {
        let decision = pool.pick(&Ask::prompt(&format!("{number}"))).unwrap();
        assert_eq!(index(&decision), 1);
        assert_eq!(decision.endpoints.len(), 1, "it is no fallback either");
    }
    pool.endpoint(1).refused(pool.now());
    assert!(
        pool.pick(&Ask::prompt("both")).is_ok(),
        "better than nothing"
    );
}
