"""Adapters to frameworks that keep threads themselves. Each needs its framework's package, which it does not bring."""
