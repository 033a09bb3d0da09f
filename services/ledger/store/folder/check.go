package folder

import (
	"context"
	"errors"
	"fmt"

	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
)

// CheckOptions say how Check proves a store.
type CheckOptions struct {
	Level    string                // "": as far as the sync proved it, and L2 at least
	Repair   bool                  // Repair first
	Progress func(done, total int) // called first when the check begins; nil: not reported
}

// Check checks the store of a data folder.
func Check(ctx context.Context, dir string, o CheckOptions) (report CheckReport, err error) {
	var s *store.Store
	var repaired *Repaired
	if o.Repair {
		repaired = new(Repaired)
		s, *repaired, err = Repair(dir, store.Options{})
	} else {
		s, err = Open(dir, store.Options{ReadOnly: true})
	}
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	asked := o.Level
	if asked == "" {
		asked = s.Progress().Level
	}
	level, err := trust.ParseLevel(asked)
	if err != nil || level < trust.L2 && o.Level == "" {
		level = trust.L2
	}
	if o.Progress != nil {
		o.Progress(0, s.Stored().Len())
	}
	report, err = CheckStore(ctx, s, level, o.Progress)
	if err == nil && o.Repair && level >= trust.L4 { // marks may have been lost with what was damaged
		marks := map[uint32]string{}
		for _, one := range report.Marked {
			marks[one.Index] = one.Reason
		}
		err = markAgain(s, marks)
	}
	if err != nil {
		return report, fmt.Errorf("checking %s: %w", dir, err)
	}
	report.Repaired, report.Stored = repaired, s.Stored()
	return report, nil
}
