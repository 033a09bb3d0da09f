package pace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/ledger/rippled"
)

// hanging is a server that never answers.
type hanging struct{ told }

func (s *hanging) Info(ctx context.Context) (rippled.Info, error) {
	<-ctx.Done()
	return rippled.Info{}, ctx.Err()
}

// One server that hangs holds up nobody for long, and it is it that is in trouble.
func TestMeetDoesNotWaitForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, dead := &told{name: "well", inFlight: 1, complete: "1-1000"}, &hanging{told{name: "dead", inFlight: 1}}
		p := newPool(Config{}, []source{dead, well})
		defer p.Close()
		took := waits(func() {
			if err := p.Meet(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if took != meetWithin {
			t.Errorf("it took %v, want %v", took, meetWithin)
		}
		report := p.Report()
		if n := report[0].Troubles[rippled.Timeout.String()]; n != 1 {
			t.Errorf("the one that hangs: %+v", report[0])
		}
		if report[1].Complete.String() != "1-1000" || len(report[1].Troubles) > 0 {
			t.Errorf("the one that is well: %+v", report[1])
		}
	})
}

// With nobody well all are waited for, until the caller gives up; then nobody is to blame for not having answered.
func TestMeetWaitsWhileNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &told{name: "refused", inFlight: 1, err: &rippled.Trouble{Kind: rippled.Gone, Err: errors.New("as told")}}
		p := newPool(Config{}, []source{&hanging{told{name: "dead", inFlight: 1}}, refused})
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		if took := waits(func() { err = p.Meet(ctx) }); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) || rippled.KindOf(err) != rippled.Gone {
			t.Errorf("after %v: %v", took, err)
		}
		if troubles := p.Report()[0].Troubles; len(troubles) > 0 {
			t.Errorf("the one that hangs: %v", troubles)
		}
	})
}
