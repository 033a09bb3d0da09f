package notify

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"dyno/parts/assembly"
	"dyno/parts/daemon"
	pages "dyno/parts/guard"
	"dyno/parts/lameduck"
	"dyno/parts/quicktest"
	"dyno/services/notify/api"
	"dyno/services/notify/notifytest"
	"dyno/services/notify/notifytest/full"
	"dyno/services/notify/notifytest/push"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // they wait for receivers, disks and clocks more than they compute
	goleak.VerifyTestMain(m)
}

// assemblies are all that the tests run under: every step of the ladder, and the last with little
// room.
func assemblies(t testing.TB) map[string]Config {
	out := map[string]Config{}
	add := func(label, name string, set map[string]string) {
		choice, err := Assembly().Resolve(name, set)
		if err != nil {
			t.Fatal(err)
		}
		out[label] = FromChoice(choice)
	}
	for _, name := range Assembly().Names() {
		add(name, name, nil)
	}
	ladder := Assembly().Ladder
	delete(out, ladder[len(ladder)-1].Name) // is tuned
	// memory for next to nothing: almost all of it waits in the log
	add("tuned,window=8", assembly.Tuned, map[string]string{"window": "8"})
	return out
}

// starter starts a dispatcher of that assembly behind an HTTP server.
func starter(c Config) notifytest.Start {
	return func(t testing.TB, dir string, l notifytest.Limits) notifytest.Program {
		c := c
		c.Data, c.AllowPrivate = dir, l.AllowPrivate
		c.MaxPending, c.MaxAttempts, c.Timeout = l.Pending, l.Attempts, l.Timeout
		c.Backoff, c.MaxBackoff, c.SecretOverlap = l.Backoff, l.MaxBackoff, l.Overlap
		if l.Workers > 0 {
			c.Workers = l.Workers
		}
		d, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		g, err := pages.New(pages.Options{Origins: []string{l.AllowOrigin}})
		if err != nil {
			t.Fatal(err)
		}
		url, _, end := serve(t, d, g)
		stop := func(close func(context.Context) (int, error)) int {
			d.stream.Close() // as the process does: streams end before the server is waited for
			if err := end(context.Background()); err != nil {
				t.Error(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), l.Drain)
			defer cancel()
			left, err := close(ctx)
			if err != nil {
				t.Error(err)
			}
			if counted := d.count(); counted != left {
				t.Errorf("%d are pending, but the lanes and the log hold %d", left, counted)
			}
			return left
		}
		return notifytest.Program{
			URL:  url,
			Stop: func() int { return stop(d.Close) },
			Kill: func() { stop(d.abandon) },
		}
	}
}

// serve serves a dispatcher as parts/daemon does, until end.
func serve(t testing.TB, d *Dispatcher, g *pages.Guard) (url string, f *api.Front, end func(context.Context) error) {
	l, err := lameduck.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := lameduck.NewServer(&http.Server{Handler: g.Wrap(d.Handler(), nil)}, l)
	if f, err = d.openFront(&daemon.Env{Listen: l, Connections: l, Guard: g, ReadTimeout: time.Minute}, d.Handler(), nil); err != nil {
		t.Fatal(err)
	}
	go web.Serve(l) // until Drain
	return "http://" + l.Addr().String(), f, func(ctx context.Context) (err error) {
		var fronts sync.WaitGroup
		if f != nil {
			fronts.Go(func() { err = f.Drain(ctx) })
		}
		handler := web.Drain(ctx)
		fronts.Wait()
		return errors.Join(err, handler)
	}
}

// abandon ends the dispatcher as a crash would, as far as a process can do that to itself: nothing
// is delivered any more, and no checkpoint is written.
func (d *Dispatcher) abandon(context.Context) (left int, err error) {
	d.acceptor.Stop()
	d.end()
	return int(d.deliverer.Pending.Load()), d.store.Close()
}

// count counts what is pending where it is.
func (d *Dispatcher) count() (n int) {
	for s := range d.table.Statuses() {
		n += s.Pending
	}
	return n
}

func TestSuite(t *testing.T) {
	for label, c := range assemblies(t) {
		if quicktest.On() && label != assembly.Baseline && label != assembly.Tuned {
			continue // the two ends of the ladder
		}
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			full.Test(t, starter(c))
		})
	}
}

func TestPush(t *testing.T) {
	for _, label := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(label, func(t *testing.T) { push.Test(t, starter(assemblies(t)[label])) })
	}
}

func TestIsolation(t *testing.T) {
	for _, label := range []string{assembly.Baseline, assembly.Tuned} {
		t.Run(label, func(t *testing.T) { full.Isolation(t, starter(assemblies(t)[label])) })
	}
}

// The same input gives the same deliveries under every assembly: those of the model.
func TestMetamorphic(t *testing.T) {
	quicktest.ChecksOf(t, 8, 50) // make soak-notify: 500
	all := assemblies(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := full.DrawInput(rt)
		label := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(rt, "assembly")
		want, got := in.Model(), full.Deliveries(t, starter(all[label]), in)
		if !maps.EqualFunc(want, got, slices.Equal) {
			rt.Fatalf("the model says %v\n%s delivered %v", want, label, got)
		}
	})
}

// The settings that users have written down keep their names, defaults and bounds.
func TestAssembliesStay(t *testing.T) {
	want, err := os.ReadFile("testdata/assemblies.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Service().Assembly.Print(&got, Service().Name, true); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v; assemblies --json prints\n%s", err, &got)
	}
}
