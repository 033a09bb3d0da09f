package soak

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"dyno/parts/quicktest"
	"dyno/services/orders/pgtest"
	"dyno/services/orders/soak/history"
)

// A gateway without faults passes, and each fault is detected.
func TestFindsFaults(t *testing.T) {
	quicktest.Skip(t, "keeps PostgreSQL busy for some seconds")
	for fault, finds := range map[string][]history.Kind{
		"":          nil,
		joins:       {history.Stale, history.Backwards, history.Missing}, // also queries of orders that did not exist yet
		keeps:       {history.Stale, history.Backwards},
		unchanged:   {history.Stale, history.Backwards, history.Foreign},
		denies:      {history.Missing},
		shares:      {history.Foreign, history.Torn},
		leftovers:   {history.Torn},
		connections: {history.Foreign, history.Missing},
		words:       {history.Foreign},
		hurries:     {history.Missing},
		takesAgain:  {history.Repeated},
		keepsPages:  {history.Stale, history.Missing},
		overlaps:    {history.Disordered},
		forgets:     {history.Missing},
		marks:       {history.Unasked},
	} {
		t.Run("fault "+fault, func(t *testing.T) {
			t.Parallel()
			reads := 300_000 // at most: it ends at the first violation
			if fault == "" {
				reads = 5000
			}
			findsFault(t, fault, Config{Reads: reads, StopAtFirst: true}, finds...)
		})
	}
}

// Faults that only show at the end are also detected.
func TestFindsWhatIsLeft(t *testing.T) {
	quicktest.Skip(t, "keeps PostgreSQL busy for some seconds")
	t.Run("audit", func(t *testing.T) {
		t.Parallel()
		findsFault(t, apart, Config{Reads: 4000}, history.Unaudited)
	})
	t.Run("connections", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.Database(t)
		_, err := Run(t.Context(), faultyConfig(Config{URL: newFaulty(t, dsn, leaks), DSN: dsn, Reads: 100, Connections: faultyConnections}))
		if !errors.Is(err, errLeak) {
			t.Errorf("%v, want a leak", err)
		}
	})
}

func faultyConfig(c Config) Config {
	c.Token = func(account string) string { return account }
	c.Seed = 1
	return c
}

func findsFault(t *testing.T, fault string, c Config, finds ...history.Kind) {
	c.DSN = pgtest.Database(t)
	c.URL = newFaulty(t, c.DSN, fault)
	summary, err := Run(t.Context(), faultyConfig(c))
	t.Logf("\n%s\n%v", summary, err)
	if summary == nil {
		t.Fatal(err)
	}
	if fault == "" {
		if err != nil {
			t.Error("there is no fault")
		}
		return
	}
	if !slices.ContainsFunc(finds, func(k history.Kind) bool { return summary.Verdict.Broken[k] > 0 }) {
		t.Errorf("found %v, want one of %v", slices.Collect(maps.Keys(summary.Verdict.Broken)), finds)
	}
}

// A run that ends early does not wait for its restart.
func TestStopsBeforeRestart(t *testing.T) {
	quicktest.Skip(t, "keeps PostgreSQL busy")
	findsFault(t, marks, Config{Reads: 1_000_000, StopAtFirst: true, Restart: func(context.Context) error {
		t.Error("the database is restarted")
		return nil
	}}, history.Unasked)
}

// An invalid configuration is refused immediately.
func TestRefuses(t *testing.T) {
	for _, url := range []string{"", "localhost:80", "https://localhost", "http://"} {
		if _, err := Run(t.Context(), Config{URL: url}); err == nil {
			t.Errorf("%q is soaked", url)
		}
	}
}

// A PostgreSQL that is killed under load causes answers 503, and no violation.
func TestRestart(t *testing.T) {
	quicktest.Skip(t, "starts a PostgreSQL of its own and kills it")
	pg := pgtest.Server(t, nil)
	summary, err := Run(t.Context(), faultyConfig(Config{
		URL: newFaulty(t, pg.DSN(), ""), DSN: pg.DSN(), Reads: 6000, Connections: faultyConnections,
		Restart: func(ctx context.Context) error { return errors.Join(pg.Kill(), pg.Restart(ctx)) },
	}))
	t.Logf("\n%s", summary)
	if err != nil {
		t.Fatal(err)
	}
	if !summary.Restarted {
		t.Error("the database was not restarted")
	}
}
