//! Programs in StableHLO text, imported and evaluated on arrays.
