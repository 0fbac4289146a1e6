"""The method as mathematics: arrays in, arrays out."""
