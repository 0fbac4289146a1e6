"""The publisher's screens, one module each, and the frame around them."""
