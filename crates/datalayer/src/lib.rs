//! Keeps the picker's view of model servers fresh: scraping, discovery.
