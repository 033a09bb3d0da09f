package environment

import (
	"context"

	"dyno/lab/record/redact"
	"dyno/parts/process"
)

// Start starts a process and returns when it is ready. Errors quote its output with secrets
// redacted.
func Start(ctx context.Context, s process.Spec) (*process.Process, error) {
	s.Redact = redact.Text
	return process.Start(ctx, s)
}
