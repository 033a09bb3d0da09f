package turns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/lab/load"
	"dyno/lab/record"
)

// visits lets variants that cannot run concurrently take turns as whole processes: each is
// started, takes some slices and is stopped.
func (t *turns) visits(ctx context.Context, n int) error {
	now := t.schedule()
	order := now.due(record.SliceWork)
	t.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, p := range order {
		if t.outOfTime() {
			return nil
		}
		if err := t.visit(ctx, n, p, now); err != nil {
			return err
		}
	}
	return nil
}

func (t *turns) visit(ctx context.Context, n int, p Arm, now *schedule) error {
	shared := t.programs.New(Folder(t.exp, fmt.Sprintf("%d-shared", n)), nil)
	defer shared.Down()
	if err := shared.UpShared(ctx); err != nil {
		return err
	}
	t.starting(n, p)
	s, err := t.startWarm(ctx, n, p, shared)
	if s == nil || err != nil {
		return err
	}
	defer s.close()
	defer load.PauseGC()()
	kinds := now.visit(p)
	t.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	ready := time.Now()
	for i, kind := range kinds {
		if t.dropped[p] != "" || t.outOfTime() {
			return nil
		}
		err := t.take(ctx, s, kind, now.round+1)
		if used := (*usedUp)(nil); errors.As(err, &used) {
			return t.renew(used, i, time.Since(ready))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
