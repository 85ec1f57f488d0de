"""Rolling contacts that transmit by traction: Hertz's ellipse from a drawing, the fluid, and its table as a kernel."""
