//! Time to read one page of a real vLLM server.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput};
use suimon_datalayer::extract::Extractor;
use suimon_picker::metrics::Metrics;

const BUSY: &[u8] = include_bytes!("../tests/data/metrics-busy-1.txt");

fn extract(criterion: &mut Criterion) {
    let extractor = Extractor::default();
    let now = Instant::now();
    let read = |previous: &Metrics| extractor.extract(black_box(BUSY), None, previous, now);
    let previous = read(&Metrics::default()).metrics;
    let mut group = criterion.benchmark_group("extract");
    group.throughput(Throughput::Bytes(BUSY.len() as u64));
    group.bench_function("vllm page, steady", |bencher| {
        bencher.iter(|| read(&previous))
    });
    group.bench_function("vllm page, first", |bencher| {
        bencher.iter(|| read(&Metrics::default()));
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    extract(&mut criterion);
    criterion.final_summary();
}
