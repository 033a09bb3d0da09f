package environment

import (
	"context"

	"dyno/lab/record/redact"
	"dyno/parts/process"
)

// Start starts a process and returns when it is ready. Secrets in its output are not in errors.
func Start(ctx context.Context, s process.Spec) (*process.Process, error) {
	s.Redact = redact.Text
	return process.Start(ctx, s)
}
