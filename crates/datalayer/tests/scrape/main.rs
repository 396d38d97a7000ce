//! The scraper against small servers on loopback.

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fake::{Answer, Fake, endpoint, endpoint_at, page, source, wait_until};
use suimon_datalayer::params::MetricsSourceParams;
use suimon_datalayer::scrape::{FirstScrape, Scraper};

const LOAD: &str = "vllm:num_requests_waiting 3\nvllm:num_requests_running 4\n";

#[tokio::test]
async fn reads_again_and_again_on_one_connection() {
    let fake = Fake::start(|_| page(LOAD)).await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| fake.requests() >= 3).await;
    wait_until(|| endpoint.metrics().waiting == 3).await;
    assert_eq!(endpoint.metrics().running, 4);
    assert_eq!(fake.connections(), 1);
    assert_eq!(fake.path(0), "/metrics");
    assert_eq!(fake.host(), fake.address.to_string());
    assert_eq!(watch.first_scrape("default/a"), Some(FirstScrape::Ok));
    assert_eq!(watch.first_scrape("default/b"), None);
    assert_eq!(watch.pending(), 0);
    assert_eq!(scraper.counters().poll_errors(), 0);
    assert!(scraper.counters().scrapes() >= 3);
}

#[tokio::test]
async fn prefers_the_filtered_page_of_vllm() {
    let fake = Fake::start(|_| page(LOAD)).await;
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(&[endpoint(&fake)], source("/metrics"));
    wait_until(|| fake.requests() >= 3).await;
    assert_eq!(fake.path(0), "/metrics");
    for nth in [1, 2] {
        let path = fake.path(nth);
        assert!(
            path.starts_with("/metrics/?name[]=vllm:num_requests_waiting&name[]="),
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_empty_filtered_page_is_asked_for_once() {
    let fake = Fake::start(|path| page(if path == "/metrics" { LOAD } else { "" })).await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| fake.requests() >= 6).await;
    let filtered: Vec<usize> = (0..6).filter(|nth| fake.path(*nth) != "/metrics").collect();
    assert_eq!(filtered, [1]);
    assert_eq!(
        (
            scraper.counters().poll_errors(),
            scraper.counters().extract_errors()
        ),
        (0, 0)
    );
}

#[tokio::test]
async fn a_refused_filtered_page_is_asked_for_once() {
    let fake = Fake::start(|path| match path {
        "/metrics" => page(LOAD),
        _ => Answer::Status(404),
    })
    .await;
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(&[endpoint(&fake)], source("/metrics"));
    wait_until(|| fake.requests() >= 6).await;
    let filtered = (0..6).filter(|nth| fake.path(*nth) != "/metrics");
    assert_eq!(filtered.count(), 1);
    assert_eq!(scraper.counters().poll_errors(), 0);
}

#[tokio::test]
async fn only_the_standard_path_of_vllm_has_a_filtered_page() {
    let other_path = Fake::start(|_| page(LOAD)).await;
    let other_engine = Fake::start(|_| page("sglang:num_queue_reqs 1\n")).await;
    let scraper = Scraper::start().unwrap();
    let _one = scraper.watch(&[endpoint(&other_path)], source("/other"));
    let _two = scraper.watch(&[endpoint(&other_engine)], source("/metrics"));
    wait_until(|| other_path.requests() >= 3 && other_engine.requests() >= 3).await;
    for nth in 0..3 {
        assert_eq!(other_path.path(nth), "/other");
        assert_eq!(other_engine.path(nth), "/metrics");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_delays_nobody() {
    let silent = Fake::start(|_| Answer::Never).await;
    let mut fakes = Vec::new();
    for _ in 0..9 {
        fakes.push(Fake::start(|_| page(LOAD)).await);
    }
    let mut endpoints = vec![endpoint(&silent)];
    endpoints.extend(fakes.iter().map(endpoint));
    let scraper = Scraper::start().unwrap();
    let watch = scraper.watch(&endpoints, source("/metrics"));
    wait_until(|| fakes.iter().all(|fake| fake.requests() >= 4)).await;
    assert_eq!(silent.requests(), 1, "its first scrape is not over");
    assert_eq!(watch.pending(), 1);
    assert!(endpoints[0].metrics().updated.is_none());
}

#[tokio::test]
async fn failing_endpoints_are_given_up_and_taken_back() {
    let works = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&works);
    let fake = Fake::start(move |_| match seen.load(Ordering::SeqCst) {
        true => page(LOAD),
        false => Answer::Status(500),
    })
    .await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| watch.first_scrape("default/a") == Some(FirstScrape::GivenUp)).await;
    assert_eq!(watch.pending(), 0);
    assert!(scraper.counters().poll_errors() >= 3);
    assert!(endpoint.metrics().updated.is_none(), "unknown, not idle");
    works.store(true, Ordering::SeqCst);
    wait_until(|| watch.first_scrape("default/a") == Some(FirstScrape::Ok)).await;
    let before = fake.requests();
    wait_until(|| fake.requests() >= before + 3).await;
}

#[tokio::test]
async fn a_page_without_load_is_an_extract_error() {
    let fake = Fake::start(|_| page("up 1\n")).await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| scraper.counters().extract_errors() >= 2).await;
    assert!(endpoint.metrics().updated.is_none());
    assert_eq!(scraper.counters().poll_errors(), 0);
}

#[tokio::test]
async fn connections_that_the_server_closes_are_opened_again() {
    let fake = Fake::start(|_| Answer::PageThenClose(String::from(LOAD))).await;
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(&[endpoint(&fake)], source("/metrics"));
    wait_until(|| fake.requests() >= 4).await;
    assert_eq!(scraper.counters().poll_errors(), 0);
}

#[tokio::test]
async fn chunked_pages_are_read() {
    let fake = Fake::start(|_| Answer::Chunked(vec!["vllm:num_requests_wai", "ting 7\n"])).await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| endpoint.metrics().waiting == 7).await;
}

#[tokio::test]
async fn pages_beyond_the_cap_and_compressed_ones_are_errors() {
    let large = Fake::start(|_| page(&LOAD.repeat(200_000))).await;
    let packed = Fake::start(|_| Answer::Encoded).await;
    let endpoints = [endpoint(&large), endpoint(&packed)];
    let scraper = Scraper::start().unwrap();
    for endpoint in &endpoints {
        let watch = scraper.watch(std::slice::from_ref(endpoint), source("/metrics"));
        wait_until(|| watch.first_scrape("default/a") == Some(FirstScrape::GivenUp)).await;
        assert!(endpoint.metrics().updated.is_none());
    }
}

#[tokio::test]
async fn an_endpoint_that_left_is_not_scraped_any_more() {
    let fake = Fake::start(|_| page(LOAD)).await;
    let endpoint = endpoint(&fake);
    let scraper = Scraper::start().unwrap();
    let watch = scraper.watch(std::slice::from_ref(&endpoint), source("/metrics"));
    wait_until(|| fake.requests() >= 1).await;
    endpoint.mark_gone();
    wait_until(|| fake.open() == 0).await;
    assert_eq!(watch.pending(), 0);
}

#[tokio::test]
async fn dropping_the_handle_or_the_scraper_closes_connections() {
    let (one, two) = (
        Fake::start(|_| page(LOAD)).await,
        Fake::start(|_| page(LOAD)).await,
    );
    let scraper = Scraper::start().unwrap();
    let first = scraper.watch(&[endpoint(&one)], source("/metrics"));
    let second = scraper.watch(&[endpoint(&two)], source("/metrics"));
    wait_until(|| one.requests() >= 1 && two.requests() >= 1).await;
    drop(first);
    wait_until(|| one.open() == 0).await;
    assert_eq!(two.open(), 1);
    drop(scraper);
    wait_until(|| two.open() == 0).await;
    drop(second);
}

#[tokio::test]
async fn endpoints_can_be_added_later() {
    let (one, two) = (
        Fake::start(|_| page(LOAD)).await,
        Fake::start(|_| page(LOAD)).await,
    );
    let scraper = Scraper::start().unwrap();
    let watch = scraper.watch(&[endpoint(&one)], source("/metrics"));
    wait_until(|| watch.pending() == 0).await;
    watch.add(&[endpoint(&two)]);
    wait_until(|| two.requests() >= 2 && watch.pending() == 0).await;
}

#[tokio::test]
async fn more_endpoints_than_fit_one_group_are_all_read() {
    let fake = Fake::start(|_| page(LOAD)).await;
    let endpoints: Vec<_> = (0..45).map(|_| endpoint(&fake)).collect();
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(&endpoints, source("/metrics"));
    wait_until(|| fake.requests() >= 45 * 3).await;
    assert_eq!(fake.connections(), 45);
}

#[tokio::test]
async fn the_sources_port_replaces_the_endpoints() {
    let fake = Fake::start(|_| page(LOAD)).await;
    let params = MetricsSourceParams {
        port: Some(fake.address.port()),
        ..MetricsSourceParams::default()
    };
    let endpoint = endpoint_at("127.0.0.1:1".parse().unwrap());
    let scraper = Scraper::start().unwrap();
    let _watch = scraper.watch(std::slice::from_ref(&endpoint), fake::source_of(&params));
    wait_until(|| endpoint.metrics().waiting == 3).await;
}
