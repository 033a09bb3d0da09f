package experiment

import (
	"context"
	"errors"

	"dyno/lab/record"
	"dyno/lab/scenario"
)

func (b *bench) driveJob(ctx context.Context, s *stand, t scenario.Target, r *record.Run, d *drive) error {
	return errors.New("no")
}
