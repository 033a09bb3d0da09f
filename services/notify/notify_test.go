package notify

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"dyno/parts/daemon"
	"dyno/parts/queue"
	"dyno/services/notify/notifytest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// assemblies are all that the tests run under: every step of the ladder, and every queue under the first
// and the last.
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
	delete(out, daemon.Tuned) // the last step
	for _, q := range queue.Names() {
		if q == Assembly().Seams[0].Impls[0].Name {
			continue // the baseline's
		}
		add("baseline,queue="+q, daemon.Baseline, map[string]string{"queue": q})
		add("tuned,queue="+q, daemon.Tuned, map[string]string{"queue": q})
	}
	// a queue that is far too small holds no acknowledged notice up
	add("baseline,capacity=1", daemon.Baseline, map[string]string{"queue_capacity": "1"})
	add("tuned,queue=shards,capacity=1", daemon.Tuned, map[string]string{"queue": "shards", "queue_capacity": "1"})
	return out
}

// starter starts a dispatcher of that assembly behind an HTTP server.
func starter(c Config) notifytest.Start {
	return func(t testing.TB, l notifytest.Limits) notifytest.Program {
		c := c
		c.MaxPending, c.MaxAttempts, c.Timeout = l.Pending, l.Attempts, l.Timeout
		c.Backoff, c.MaxBackoff, c.AllowPrivate = l.Backoff, l.MaxBackoff, l.AllowPrivate
		d, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(d.Handler())
		return notifytest.Program{URL: web.URL, Stop: func() int {
			web.Close()
			ctx, cancel := context.WithTimeout(context.Background(), l.Drain)
			defer cancel()
			left := d.Close(ctx)
			if reserved := int(d.reserved.Load()); reserved != left {
				t.Errorf("%d are reserved, but the lanes hold %d", reserved, left)
			}
			return left
		}}
	}
}

func TestSuite(t *testing.T) {
	for label, c := range assemblies(t) {
		if testing.Short() && label != daemon.Baseline && label != "batch" {
			continue // the two ends of the ladder
		}
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			notifytest.Test(t, starter(c))
		})
	}
}

// The same input gives the same deliveries under every assembly.
func TestMetamorphic(t *testing.T) {
	all := assemblies(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := notifytest.DrawInput(rt)
		label := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(rt, "assembly")
		want := notifytest.Deliveries(t, starter(all[daemon.Baseline]), in)
		got := notifytest.Deliveries(t, starter(all[label]), in)
		if !maps.EqualFunc(want, got, slices.Equal) {
			rt.Fatalf("baseline delivered %v\n%s delivered %v", want, label, got)
		}
	})
}

// What deleted subscriptions leave in the queue holds no notices, but it is bounded all the same.
func TestDeletedLanesAreBounded(t *testing.T) {
	for label, c := range assemblies(t) {
		t.Run(label, func(t *testing.T) {
			arrived, release := make(chan struct{}, 1), make(chan struct{})
			receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				arrived <- struct{}{}
				<-release
			}))
			defer receiver.Close()
			c.Workers, c.MaxPending, c.AllowPrivate = 1, 10, true
			d, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close(t.Context())
			defer close(release)
			post := func(keys ...string) error {
				var ns []*notice
				for _, key := range keys {
					ns = append(ns, &notice{ID: key, Key: key, Type: "t", Payload: []byte("1")})
				}
				_, err := d.accept(ns)
				return err
			}
			d.add(newTestSubscription(t, receiver.URL))
			if err := post("held"); err != nil {
				t.Fatal(err)
			}
			<-arrived // the only worker is held from here on
			d.remove(d.subscriptions()[0].id)
			for i := range 3 {
				sub := newTestSubscription(t, receiver.URL)
				sub.batch = 1 // so that every lane is queued by itself
				d.add(sub)
				if err, full := post("a", "b", "c", "d"), i == 2; (err != nil) != full {
					t.Errorf("with %d lanes left behind and room for %d: %v", 4*i, c.MaxPending, err)
				}
				d.remove(sub.id)
			}
		})
	}
}

func TestAssemblyIsSound(t *testing.T) {
	a := Assembly()
	if err := a.Check(); err != nil {
		t.Fatal(err)
	}
	for seam, have := range map[string][]string{
		"queue":    queue.Names(),
		"client":   slices.Sorted(maps.Keys(newClients)),
		"encoding": slices.Sorted(maps.Keys(newEncoders)),
		"batching": slices.Sorted(maps.Keys(newPackers)),
	} {
		i := slices.IndexFunc(a.Seams, func(s daemon.Seam) bool { return s.Name == seam })
		var declared []string
		for _, impl := range a.Seams[i].Impls {
			declared = append(declared, impl.Name)
		}
		slices.Sort(declared)
		if !slices.Equal(declared, have) {
			t.Errorf("seam %s declares %v, there are %v", seam, declared, have)
		}
	}
}

func TestUnknownImplementations(t *testing.T) {
	good := assemblies(t)[daemon.Baseline]
	for seam, set := range map[string]func(*Config){
		"queue":    func(c *Config) { c.Queue = "bufferd" },
		"client":   func(c *Config) { c.Client = "bufferd" },
		"encoding": func(c *Config) { c.Encoding = "bufferd" },
		"batching": func(c *Config) { c.Batching = "bufferd" },
	} {
		c := good
		set(&c)
		if _, err := New(c); err == nil {
			t.Errorf("seam %s took an unknown name", seam)
		}
	}
}
