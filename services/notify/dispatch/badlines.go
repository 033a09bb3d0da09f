package dispatch

import "dyno/parts/refusal"

// MaxBadLines bounds the lines that an answer names.
const MaxBadLines = 100

// BatchError refuses a batch because of some of its lines. It wraps a refusal.Error.
type BatchError struct {
	refusal *refusal.Error
	Lines   []BadLine
}

// BadLine is what is wrong with one line of a batch.
type BadLine struct {
	Line  int    `json:"line"`
	Field string `json:"field,omitempty"`
	Error string `json:"error"`
}

func (e *BatchError) Error() string { return e.refusal.Text }
func (e *BatchError) Unwrap() error { return e.refusal }

// RefuseLines refuses a batch because of some of its lines, of which there is one or more.
func RefuseLines(status int, bad []BadLine) error {
	return &BatchError{refusal.New(status, "line %d: %s; nothing of the batch was stored", bad[0].Line, bad[0].Error), bad}
}
