package diagnose

// Signals is what the rules read, by name: one figure each, absent when it could not be seen. The names
// are the constants below.
type Signals map[string]float64
