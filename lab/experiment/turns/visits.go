package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dyno/lab/load/pacing"
	"dyno/lab/record"
)

// visits gives turns to variants that cannot run side by side, by whole processes: each is
// started, takes some slices and is stopped.
func (t *turns) visits(ctx context.Context) error {
	t.block++
	defer t.look()
	order := slices.Clone(t.Places)
	t.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, p := range order {
		if t.late() {
			return nil
		}
		if t.number > 1 && !t.due(p, record.SliceWork) || t.given[p] != "" {
			continue
		}
		if err := t.visit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (t *turns) visit(ctx context.Context, p Place) error {
	shared := t.Programs.New(Folder(t.Exp, fmt.Sprintf("%d-shared", t.number)), nil)
	defer shared.Down()
	if err := shared.UpShared(ctx); err != nil {
		return err
	}
	t.say("starting " + p.String())
	s, err := t.seat(ctx, p, shared)
	if s == nil || err != nil {
		return err
	}
	defer s.close()
	defer pacing.PauseGC()()
	var kinds []string
	switch {
	case t.Rate > 0:
		kinds = slices.Repeat([]string{record.SliceSLO}, visitWork)
	case !t.capped():
		kinds = slices.Repeat([]string{record.SliceWork}, visitWork)
	}
	if t.Rate == 0 && t.Scenario.Bounded() && p.Role != record.RoleFloor {
		kinds = append(kinds, slices.Repeat([]string{record.SliceSLO}, visitVotes)...)
	}
	t.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	sat := time.Now()
	for i, kind := range kinds {
		if t.given[p] != "" || t.late() {
			return nil
		}
		err := t.take(ctx, s, kind)
		if used := (*usedUp)(nil); errors.As(err, &used) {
			return t.renew(used, i, time.Since(sat))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
