//! The life of a sequence: queued, admitted, token by token, finished or dropped.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::StatusCode;
use rand::rngs::StdRng;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::engine::{Engine, Tally};
use crate::error::ApiError;
use crate::generate::{Plan, Token};
use crate::metrics::Finished;
use crate::scheduler::{Demand, Refusal, Slot};

/// A sequence that is ready to be queued.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) demand: Demand,
    pub(crate) prompt_tokens: usize,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) plan: Plan,
    pub(crate) rng: StdRng,
}

/// The running sequences of one request. Dropping it ends them and frees their slots.
#[derive(Debug)]
pub(crate) struct Generation {
    steps: mpsc::UnboundedReceiver<Step>,
    /// Held for its drop, which aborts the tasks.
    _tasks: JoinSet<()>,
}

/// Something that happened to the sequence with the index `choice`.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// It got a slot and found `cached` tokens of its prompt.
    Admitted { choice: usize, cached: usize },
    /// It said a token; `finish` is set on the last.
    Said {
        choice: usize,
        token: Token,
        finish: Option<&'static str>,
    },
}

/// A sequence and its slot. Dropped before its end, it counts as aborted.
struct Sequence {
    engine: Arc<Engine>,
    slot: Slot,
    choice: usize,
    job: Job,
    queued: Instant,
    is_finished: bool,
}

// === impl Generation ===

impl Generation {
    /// Queues all jobs, or none if one is refused.
    ///
    /// The steps are unbounded but for the lengths of the planned outputs: as in an engine, a slow
    /// reader does not hold a slot.
    pub(crate) fn start(engine: &Arc<Engine>, mut jobs: Vec<Job>) -> Result<Self, ApiError> {
        let slots = jobs
            .iter_mut()
            .map(|job| queue(engine, std::mem::take(&mut job.demand)))
            .collect::<Result<Vec<_>, _>>()?;
        let (sender, steps) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for (choice, (job, slot)) in jobs.into_iter().zip(slots).enumerate() {
            Tally::add(&engine.tally.started);
            let sequence = Sequence {
                engine: Arc::clone(engine),
                slot,
                choice,
                job,
                queued: Instant::now(),
                is_finished: false,
            };
            tasks.spawn(sequence.run(sender.clone()));
        }
        Ok(Self {
            steps,
            _tasks: tasks,
        })
    }

    pub(crate) async fn next(&mut self) -> Option<Step> {
        self.steps.recv().await
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        self.steps.poll_recv(cx)
    }
}

/// Takes a place for a sequence.
pub(crate) fn queue(engine: &Engine, demand: Demand) -> Result<Slot, ApiError> {
    engine
        .scheduler
        .enqueue(demand)
        .map_err(|refusal| match refusal {
            Refusal::QueueFull => {
                engine.metrics.lock().rejections += 1;
                let status = StatusCode::from_u16(engine.config.queue_full_status)
                    .unwrap_or(StatusCode::TOO_MANY_REQUESTS);
                ApiError::new(status, "QueueFullError", "the waiting queue is full")
            }
            Refusal::CacheTooSmall => ApiError::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalServerError",
                "the kv cache does not have sufficient capacity to store this request",
            ),
        })
}

/// Counts a prompt that was looked up in the cache; returns the cached tokens.
pub(crate) fn count_prompt(engine: &Engine, prompt_tokens: usize, cached_blocks: usize) -> usize {
    let cached = cached_blocks * engine.config.block_size;
    let mut metrics = engine.metrics.lock();
    metrics.prompt_tokens += prompt_tokens as u64;
    if engine.config.enable_kvcache {
        metrics.cache_queries += prompt_tokens as u64;
        metrics.cache_hits += cached as u64;
    }
    cached
}

// === impl Sequence ===

impl Sequence {
    async fn run(mut self, steps: mpsc::UnboundedSender<Step>) {
        let choice = self.choice;
        let cached_blocks = self.slot.admitted().await;
        let admitted = Instant::now();
        let cached = count_prompt(&self.engine, self.job.prompt_tokens, cached_blocks);
        // A send fails only when the generation is dropped, which ends this task as well.
        let _ = steps.send(Step::Admitted { choice, cached });

        let tokens = std::mem::take(&mut self.job.plan.tokens);
        let count = tokens.len();
        let first = self
            .engine
            .first_token(self.job.prompt_tokens, cached, &mut self.job.rng);
        let mut due = admitted + first;
        let mut first_said = admitted;
        let mut said = admitted;
        for (at, token) in tokens.into_iter().enumerate() {
            if at > 0 {
                due += self.engine.inter_token(&mut self.job.rng);
            }
            due = self.wait(due).await;
            let now = Instant::now();
            self.observe(at, now, said);
            if at == 0 {
                first_said = now;
            }
            said = now;
            let is_last = at + 1 == count;
            if is_last {
                self.finish(count, admitted, first_said, now);
            }
            let finish = is_last.then_some(self.job.plan.finish);
            let _ = steps.send(Step::Said {
                choice,
                token,
                finish,
            });
        }
        // The slot is free before the reader sees the end, which is when `steps` is dropped.
        drop(self);
    }

    /// Waits until `due`, longer if the replica stalls; returns from when the next delay counts.
    ///
    /// Delays add up from their due times, so that the timer's millisecond does not add to each.
    async fn wait(&self, due: Instant) -> Instant {
        let stalled = self.engine.knobs.pass_stall().await;
        let due = if stalled {
            due.max(Instant::now())
        } else {
            due
        };
        if due > Instant::now() {
            sleep_until(due).await;
        } else {
            // Without delays a long output must not keep the thread from others.
            tokio::task::yield_now().await;
        }
        due
    }

    fn observe(&self, at: usize, now: Instant, last: Instant) {
        let mut metrics = self.engine.metrics.lock();
        metrics.generation_tokens += 1;
        if at == 0 {
            metrics
                .time_to_first_token
                .observe(seconds(now - self.queued));
        } else {
            metrics.inter_token.observe(seconds(now - last));
        }
    }

    fn finish(&mut self, count: usize, admitted: Instant, first: Instant, now: Instant) {
        self.is_finished = true;
        self.engine.metrics.lock().finish(Finished {
            reason: self.job.plan.finish,
            prompt_tokens: self.job.prompt_tokens,
            generation_tokens: count,
            max_tokens: self.job.max_tokens,
            queue: admitted - self.queued,
            prefill: first - admitted,
            decode: now - first,
        });
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        if self.is_finished {
            Tally::add(&self.engine.tally.finished);
        } else {
            Tally::add(&self.engine.tally.aborted);
            self.engine.metrics.lock().count("abort");
        }
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
