package store

import (
	"context"
	"errors"
	"fmt"

	"dyno/services/ledger/trust"
)

// CheckOptions say how CheckFolder proves a store.
type CheckOptions struct {
	Level    string                // "": as far as the sync proved it, and L2 at least
	Repair   bool                  // RepairFolder first
	Progress func(done, total int) // called first when the check begins; nil: not reported
}

// CheckFolder checks the store of a data folder that nothing else uses.
func CheckFolder(ctx context.Context, dir string, o CheckOptions) (report CheckReport, err error) {
	var s *Store
	var repaired *Repaired
	if o.Repair {
		repaired = new(Repaired)
		s, *repaired, err = RepairFolder(dir, Options{})
	} else {
		s, err = OpenFolder(dir, Options{ReadOnly: true})
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
	report, err = s.Check(ctx, level, o.Progress)
	if err == nil && o.Repair && level >= trust.L4 { // marks may have been lost with what was damaged
		marks := map[uint32]string{}
		for _, one := range report.Marked {
			marks[one.Index] = one.Reason
		}
		err = s.markAgain(marks)
	}
	if err != nil {
		return report, fmt.Errorf("checking %s: %w", dir, err)
	}
	report.Repaired, report.Stored = repaired, s.Stored()
	return report, nil
}

// Err says what to do about a store that is not clean; nil for one that is.
func (r CheckReport) Err() error {
	failures := len(r.Failed) + r.More
	if r.Clean() {
		return nil
	}
	if marked := r.Marks.Len(); marked == failures {
		return fmt.Errorf("%d ledgers have their hashes and do not verify at L4: no other server has them otherwise", marked)
	}
	return fmt.Errorf("%d failures%s", failures, repairHint)
}
