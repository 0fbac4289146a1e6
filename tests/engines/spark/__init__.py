"""Tests of the engine on Spark."""
