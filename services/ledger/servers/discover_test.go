package servers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/ledger/servers/response"
)

// hanging is a server that never answers.
type hanging struct{ fake }

func (s *hanging) Info(ctx context.Context) (response.Info, error) {
	<-ctx.Done()
	return response.Info{}, ctx.Err()
}

// A server that hangs does not delay the others for long, and the failure is recorded for it.
func TestDiscoverDoesNotWaitForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, dead := &fake{name: "well", inFlight: 1, complete: "1-1000"}, &hanging{fake{name: "dead", inFlight: 1}}
		p := newPool(PoolConfig{}, []source{dead, well})
		defer p.Close()
		took := waits(func() {
			if err := p.Discover(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if took != discoverWithin {
			t.Errorf("it took %v, want %v", took, discoverWithin)
		}
		report := p.Report()
		if n := report[0].Errors[response.Timeout.String()]; n != 1 {
			t.Errorf("the one that hangs: %+v", report[0])
		}
		if report[1].Complete.String() != "1-1000" || len(report[1].Errors) > 0 {
			t.Errorf("the one that is well: %+v", report[1])
		}
	})
}

// While no server has answered, Discover waits for all of them, until the caller's context ends; no
// failure is recorded then.
func TestDiscoverWaitsForFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := &fake{name: "refused", inFlight: 1, err: &response.Error{Code: response.Gone, Err: errors.New("planned")}}
		p := newPool(PoolConfig{}, []source{&hanging{fake{name: "dead", inFlight: 1}}, refused})
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var err error
		if took := waits(func() { err = p.Discover(ctx) }); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) || response.CodeOf(err) != response.Gone {
			t.Errorf("after %v: %v", took, err)
		}
		if troubles := p.Report()[0].Errors; len(troubles) > 0 {
			t.Errorf("the one that hangs: %v", troubles)
		}
	})
}
