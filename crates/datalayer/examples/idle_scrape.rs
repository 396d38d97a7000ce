//! Scrapes servers on loopback for a while and prints what that cost this process.
//!
//! ```text
//! idle_scrape serve FIRST_PORT COUNT PAGE_FILE
//! idle_scrape scrape FIRST_PORT COUNT SECONDS [INTERVAL] [adaptive]
//! ```
//!
//! Run `serve` and `scrape` as two processes, so that the servers' cost is not counted.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use suimon_datalayer::extract::Extractor;
use suimon_datalayer::params::MetricsSourceParams;
use suimon_datalayer::scrape::{Scraper, SourceConfig};
use suimon_picker::endpoint::{Endpoint, EndpointSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Outcome = Result<(), Box<dyn Error>>;

/// Ticks of `/proc/self/stat` in a second, the same on all Linux systems.
const TICKS: f64 = 100.0;

const USAGE: &str = "idle_scrape serve FIRST_PORT COUNT PAGE_FILE
idle_scrape scrape FIRST_PORT COUNT SECONDS [INTERVAL] [adaptive]";

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["serve", first, count, file] => serve(first.parse()?, count.parse()?, file),
        ["scrape", first, count, seconds, rest @ ..] => {
            let params = MetricsSourceParams {
                interval: (*rest.first().unwrap_or(&"")).to_owned(),
                adaptive: rest.get(1) == Some(&"adaptive"),
                ..MetricsSourceParams::default()
            };
            scrape(first.parse()?, count.parse()?, seconds.parse()?, &params)
        }
        _ => Err(USAGE.into()),
    }
}

fn scrape(first: u16, count: u16, seconds: u64, params: &MetricsSourceParams) -> Outcome {
    let endpoints: Vec<_> = (0..count)
        .map(|nth| endpoint(first.saturating_add(nth)))
        .collect();
    let scraper = Scraper::start()?;
    let source = SourceConfig::new(params, Arc::new(Extractor::default()))?;
    let watch = scraper.watch(&endpoints, source);
    // What comes before the steady state is not counted, nor the time until the rate is lowered.
    std::thread::sleep(Duration::from_secs(if params.adaptive { 7 } else { 2 }));
    let (cpu, scrapes, begin) = (cpu_seconds()?, scraper.counters().scrapes(), Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let elapsed = begin.elapsed().as_secs_f64();
    let cpu = cpu_seconds()? - cpu;
    let scrapes = scraper.counters().scrapes() - scrapes;
    println!(
        "{:.3} cores, {:.0} scrapes/s, {:.1} µs a scrape, {} failed, {} endpoints never answered",
        cpu / elapsed,
        scrapes as f64 / elapsed,
        cpu * 1e6 / scrapes.max(1) as f64,
        scraper.counters().poll_errors() + scraper.counters().extract_errors(),
        watch.pending(),
    );
    Ok(())
}

fn endpoint(port: u16) -> Arc<Endpoint> {
    Arc::new(Endpoint::new(EndpointSpec {
        id: Arc::from(format!("default/{port}")),
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        labels: std::collections::BTreeMap::new(),
    }))
}

/// Seconds that this process has run, in user and in system mode.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is in brackets and may have spaces: count from its end.
    let (_, after) = stat
        .rsplit_once(')')
        .ok_or("no command in /proc/self/stat")?;
    let mut fields = after.split_whitespace().skip(11);
    let mut ticks = 0.0;
    for _ in 0..2 {
        ticks += fields
            .next()
            .ok_or("/proc/self/stat is short")?
            .parse::<f64>()?;
    }
    Ok(ticks / TICKS)
}

fn serve(first: u16, count: u16, file: &str) -> Outcome {
    let page = std::fs::read(file)?;
    let mut reply =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", page.len()).into_bytes();
    reply.extend_from_slice(&page);
    let reply: Arc<[u8]> = Arc::from(reply);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        for nth in 0..count {
            let address = (Ipv4Addr::LOCALHOST, first.saturating_add(nth));
            let listener = TcpListener::bind(address).await?;
            tokio::spawn(accept(listener, Arc::clone(&reply)));
        }
        println!("serving {count} ports from {first}");
        std::future::pending::<Outcome>().await
    })
}

async fn accept(listener: TcpListener, reply: Arc<[u8]>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Arc::clone(&reply)));
    }
}

/// Answers 404 to the filtered page, so that whole pages are measured.
async fn answer(mut stream: TcpStream, reply: Arc<[u8]>) -> std::io::Result<()> {
    let mut head = [0; 4096];
    loop {
        // A request is far smaller than a segment: one read is one request.
        let length = stream.read(&mut head).await?;
        if length == 0 {
            return Ok(());
        }
        let whole = head.starts_with(b"GET /metrics HTTP");
        let missing = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        let answer: &[u8] = if whole { &reply } else { missing };
        stream.write_all(answer).await?;
    }
}
