// Package soak kills a dispatcher at random moments, starts it again on the same folder, and holds
// it to what it promised: posters, receivers and subscriptions that come and go are kept busy all
// the while, and package history judges what they saw. With a Power the crashes are power cuts:
// what was not synced is gone (parts/vfs/faultdisk, which package powercut mounts).
//
//	DYNO_TESTS=all go test ./services/notify/soak -run TestKill -kills 200 -v
//
// It talks to the dispatcher over HTTP only, so any program with its API can be soaked. It measures
// nothing: what decides is what happened, never how long it took.
//
// Run owns every goroutine and process that it starts, and has ended them when it returns.
package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"dyno/services/notify/soak/history"
)

// patience bounds every wait for what must come; it is reached only when something is wrong.
const patience = 2 * time.Minute

// Config says what is soaked and how.
type Config struct {
	Command []string                  // the dispatcher and its arguments; it is to print a ready line and to listen on loopback
	Start   func() (*Instance, error) // instead of Command: starts it in this process
	Crashes int
	Seed    uint64                           // of all that is random here; what the machine makes of it differs
	Power   Power                            // nil: a crash is the death of the process only
	Log     func(format string, args ...any) // nil: no progress
}

// Instance is a dispatcher in this process.
type Instance struct {
	URL   string
	Crash func()       // ends it without a chance to save anything; nothing of it is left on return
	Stop  func() error // ends it in good order
}

// Power is the supply of the machine that the data folder is on.
type Power interface {
	Cut() error     // from here on nothing becomes durable
	Restore() error // what was not synced is gone; the folder can be used again
}

// run is one Run.
type run struct {
	Config
	history  *history.History
	receiver *receiver
	door     *door
	client   *client
	bursts   chan struct{} // asks for one
	starts   []time.Duration
}

// Run soaks a dispatcher. The error says what is wrong with it, or why that could not be found out.
func Run(ctx context.Context, c Config) (*Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	r := &run{Config: c, history: new(history.History), door: newDoor(), bursts: make(chan struct{}, 1)}
	var err error
	if r.receiver, err = newReceiver(r.history, c.Seed); err != nil {
		return nil, err
	}
	defer r.receiver.close()
	r.client = newClient(r.door)
	defer r.client.close()
	last, err := r.crashes(ctx, cancel)
	if last != nil {
		defer last.kill()
	}
	if err == nil {
		err = r.finish(ctx, last)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause // what went wrong first
	}
	if err != nil {
		return nil, err
	}
	s := r.summary(history.Check(r.history))
	return s, s.Verdict.Error()
}

// crashes starts and crashes processes while the clients work, and returns the last, which lives.
func (r *run) crashes(ctx context.Context, fail context.CancelCauseFunc) (*life, error) {
	p, err := r.start(ctx)
	if err == nil {
		err = r.open(ctx, p)
	}
	if err != nil {
		return p, err
	}
	churn := newChurn(r)
	if err := churn.begin(ctx); err != nil {
		return p, err
	}
	var clients sync.WaitGroup
	stop := make(chan struct{})
	work := func(f func(context.Context, <-chan struct{}) error) {
		clients.Go(func() {
			if err := f(ctx, stop); err != nil {
				fail(err)
			}
		})
	}
	for i := range posters {
		work(newPoster(r, i).work)
	}
	work(churn.work)
	p, err = r.crashLoop(ctx, p, rand.New(rand.NewPCG(r.Seed, 0)))
	if err != nil {
		fail(err)
	}
	close(stop)
	clients.Wait() // they come back when what they have begun is acknowledged
	return p, err
}

func (r *run) crashLoop(ctx context.Context, p *life, random *rand.Rand) (*life, error) {
	for i := range r.Crashes {
		plan := draw(random)
		if err := plan.wait(ctx, r, p); err != nil {
			return p, err
		}
		if err := r.crash(p); err != nil {
			return nil, err
		}
		var err error
		if p, err = r.start(ctx); err != nil {
			return p, err
		}
		if plan.again { // the next crash comes before anybody could use it
			if err := p.live(ctx, time.Duration(random.Int64N(int64(startUp)))); err != nil {
				return p, err
			}
			if err := r.crash(p); err != nil {
				return nil, err
			}
			if p, err = r.start(ctx); err != nil {
				return p, err
			}
		}
		if err := r.open(ctx, p); err != nil {
			return p, err
		}
		if (i+1)%20 == 0 {
			r.Log("%d of %d crashes; the last start took %v", i+1, r.Crashes, r.starts[len(r.starts)-1].Round(time.Millisecond))
		}
	}
	return p, nil
}

// start starts a process; it need not be ready.
func (r *run) start(ctx context.Context) (*life, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	number := r.history.Started()
	r.receiver.expect(number)
	if r.Start != nil {
		return inside(number, r.Start)
	}
	return start(ctx, r.Command, number)
}

// open waits until a process is ready, lets clients in, and looks whether the subscriptions are
// there.
func (r *run) open(ctx context.Context, p *life) error {
	base, took, err := p.ready(ctx)
	if err != nil {
		return err
	}
	r.starts = append(r.starts, took)
	r.door.open(base)
	return r.list(ctx)
}

// crash ends a process without warning and waits until nothing of it is left.
func (r *run) crash(p *life) error {
	r.door.shut()
	r.history.Crash(p.number)
	if r.Power != nil {
		if err := r.Power.Cut(); err != nil {
			return err
		}
	}
	p.kill()
	if err := r.receiver.settle(p.number); err != nil {
		return err
	}
	if r.Power != nil {
		return r.Power.Restore()
	}
	return nil
}

// finish waits until nothing is pending, takes the account, and ends the last process in good
// order.
func (r *run) finish(ctx context.Context, p *life) error {
	if err := r.quiet(ctx); err != nil {
		return errors.Join(err, p.complaint())
	}
	if err := r.list(ctx); err != nil {
		return err
	}
	r.door.shut()
	if err := p.stop(ctx); err != nil {
		return fmt.Errorf("at SIGTERM: %w", err)
	}
	return nil
}
