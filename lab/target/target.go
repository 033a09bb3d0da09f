// Package target starts the processes of a measurement, the target and its companions, so that
// errors repeat none of their secrets, and divides the machine's cores between them and the load
// generator. It is not for deciding what to start (scenario) or for observing it (probe).
package target

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
