package ledger

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/ledger/backfill"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/store"
	"dyno/services/ledger/tip"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl/history"
)

func syncJob() daemon.Job {
	var s syncer
	return daemon.Job{
		Name:  "sync",
		Short: "Download a range of history, prove it and store it",
		Long: `Sync downloads ledgers --from to --to from the servers, proves them and stores them in --data. It may be stopped or
killed at any moment: run again without further flags, it continues. Its last line on stdout is a summary.

The exit code is 0 when the whole range is stored, 1 when ledgers are missing. It is also 1 when, at L4, stored
ledgers have their hashes and fail verification: they are marked, and no server is at fault.`,
		Example: `  ledgersync sync --from 90000000 --to 90000999 --server https://xrplcluster.com --server wss://s2.ripple.com --data history
  ledgersync sync --data history
  ledgersync sync --from 90000000 --to 90000999 --level L4 --anchor quorum --unl vl.json --server wss://xrplcluster.com --data history`,
		Flags: s.declare,
		Run:   s.run,
	}
}

type syncer struct {
	request
	flags   *pflag.FlagSet
	json    bool
	windows bool
}

func (s *syncer) declare(f *pflag.FlagSet) {
	s.flags = f
	s.request.declare(f)
	f.BoolVar(&s.json, "json", false, "the last line is a JSON object")
	f.BoolVar(&s.windows, "windows", false, "print windows of 100 ms to stdout, for the lab, instead of the last line")
}

func (s *syncer) run(ctx context.Context, env *daemon.Env, _ []string) (err error) {
	h, err := openHome(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	if err := s.complete(s.flags.Changed, h.store.Progress()); err != nil {
		return daemon.Usage(err)
	}
	p, err := s.open(ctx, h)
	if err != nil {
		return err
	}
	p.show(s.span(), s.windows)
	begin := time.Now()
	err = p.checkAnchor()
	if err == nil {
		err = p.loadUNL()
	}
	if err == nil {
		err = p.fill(ctx, s.span(), p.trustAnchor)
	}
	if err == nil {
		err = indexAccounts(ctx, env, h.store)
	}
	err = s.printSummary(env.Stdout, p, time.Since(begin), errors.Join(err, p.close()))
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && h.store.Progress().Range() == s.span() {
		return fmt.Errorf("sync was stopped before it was done; ledgersync sync --data %s continues it", env.Data)
	}
	return err
}

// loadUNL reads the list of trusted validators, before any request, if a quorum is needed.
func (p *pipeline) loadUNL() error {
	if p.request.anchor != quorum || p.config.Level < trust.L2 || p.store.Stored().Has(p.request.to) {
		return nil
	}
	_, err := p.quorum()
	return err
}

func (p *pipeline) checkAnchor() error {
	t, named, err := p.request.named()
	if err != nil || !named || p.config.Level < trust.L2 || !p.store.Stored().Has(t.Index) {
		return err
	}
	p.trustSource = fmt.Sprintf("ledger %d is %v, as given with --anchor", t.Index, t.Hash)
	_, stored, err := p.store.Header(t.Index)
	if err == nil && stored != t.Hash {
		err = fmt.Errorf("ledger %d is %v by --anchor, and %v in the folder: one of them belongs to another history; name another folder, or the right anchor", t.Index, t.Hash, stored)
	}
	return err
}

// fill downloads the missing ledgers of a range, its uppermost gap first. trusted returns the
// anchor of the range's top, if that is missing; the ledger above any other gap is stored and
// proved, and names the gap's top. A ledger that no server gives does not end it.
func (p *pipeline) fill(ctx context.Context, span history.Range, trusted func(context.Context) (backfill.Trusted, error)) error {
	gaps := p.store.Stored().Missing(span)
	if len(gaps) == 0 {
		return nil
	}
	if err := p.discover(ctx); err != nil {
		return err
	}
	slices.Reverse(gaps)
	var errs error
	for _, gap := range gaps {
		c := p.config
		if gap.To == span.To {
			t, err := trusted(ctx)
			if err != nil {
				return err
			}
			c.Trusted = t
		} else {
			h, _, err := p.store.Header(gap.To + 1)
			if err != nil {
				return err
			}
			c.Trusted = backfill.Trusted{Index: gap.To, Hash: h.Parent}
			if p.config.Level >= trust.L2 {
				p.trustSource = cmp.Or(p.trustSource, fmt.Sprintf("ledger %d is the parent of the stored ledger %d", gap.To, gap.To+1))
			}
		}
		err := p.gap(ctx, c, gap)
		errs = errors.Join(errs, err)
		if missing := (*backfill.Missing)(nil); err != nil && (!errors.As(err, &missing) || errors.Is(err, backfill.ErrStalled)) {
			break
		}
	}
	return errs
}

// trustAnchor finds the hash that the range is proved from, and records its source.
func (p *pipeline) trustAnchor(ctx context.Context) (t backfill.Trusted, err error) {
	if p.config.Level < trust.L2 {
		p.trustSource = "ledgers are not linked at " + p.request.level
		return t, nil
	}
	t, ok, err := p.request.named()
	switch {
	case err != nil:
		return t, err
	case ok:
		p.trustSource = fmt.Sprintf("ledger %d is %v, as given with --anchor", t.Index, t.Hash)
		return t, nil
	}
	a, err := p.findAnchor(ctx)
	switch {
	case errors.Is(err, tip.ErrDisagree):
		return t, fmt.Errorf("%w; name what you trust with --anchor", err)
	case err != nil:
		return t, err
	}
	if p.request.anchor == quorum {
		p.trustSource = a.String()
	} else {
		p.trustSource = fmt.Sprintf("ledger %d is %v, as reported by %d of %d servers", a.Index, a.Hash, a.Votes, a.Of)
	}
	return backfill.Trusted{Index: a.Index, Hash: a.Hash}, nil
}

var waitsForQuorum = "waiting for the validators to agree on a ledger"

func (p *pipeline) findAnchor(ctx context.Context) (a trust.Anchor, err error) {
	if p.request.anchor != quorum {
		return p.finder().ByServers(ctx, p.request.to)
	}
	q, err := p.quorum()
	if err != nil {
		return a, err
	}
	p.waits.Store(&waitsForQuorum)
	defer p.waits.Store(nil)
	return p.finder().ByQuorum(ctx, q, p.request.to)
}

func (p *pipeline) finder() *tip.AnchorFinder {
	return &tip.AnchorFinder{Servers: p.servers, Pool: p.pool, Timeout: p.config.StallTimeout, Hint: " (--set patience=TIME waits longer)", Wrong: func(server string, a *response.Answer, why error) {
		p.watch.Wrong.Add(1)
		p.wrong(server, a, why)
	}}
}

// gap fills one gap, which must continue what is stored below it.
func (p *pipeline) gap(ctx context.Context, c backfill.Config, gap history.Range) error {
	if below := gap.From - 1; p.store.Stored().Has(below) {
		_, hash, err := p.store.Header(below)
		if err != nil {
			return err
		}
		c.Below = backfill.Trusted{Index: below, Hash: hash}
	}
	if err := p.store.Unmark(gap); err != nil {
		return err
	}
	w := store.NewWriter(p.store, p.writing)
	c.Sink = w
	err := backfill.Run(ctx, c, gap)
	if e := w.Close(); !errors.Is(err, e) { // the pipeline returns the writer's error too
		err = errors.Join(err, e)
	}
	return err
}

// summary is the last line of sync --json. Keys may be added, never changed.
type summary struct {
	Ledgers    uint64   `json:"ledgers"`
	Bytes      uint64   `json:"bytes"` // of answers
	Elapsed    float64  `json:"elapsed_s"`
	Rate       float64  `json:"ledgers_per_s"`
	P95        float64  `json:"p95_ms"` // time from a ledger's request to its proof
	BoundBy    string   `json:"bound_by"`
	Refetched  uint64   `json:"refetched"`
	Blamed     []blamed `json:"blamed"`
	Gaps       []string `json:"gaps"` // of the range, as FROM-TO
	Signatures uint64   `json:"signatures"`
	// Source of trust in the top's hash; empty if no new ledger was linked.
	Trusted string `json:"trusted"`
	// How far the stored ledgers were proved; empty if none are stored.
	Proved string `json:"proved"`

	trust.Marks // of the range
}

type blamed struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// printSummary prints the last line, and adds to the error what it means for the range.
func (s *syncer) printSummary(out io.Writer, p *pipeline, took time.Duration, err error) error {
	if s.windows {
		return errors.Join(err, p.windows.Close(err))
	}
	sum, e := p.summary(took, s.span())
	if err = errors.Join(err, e); err == nil && sum.Len() > 0 && p.config.Level >= trust.L4 {
		err = fmt.Errorf("all ledgers are stored, but %d fail verification at L4 though their hashes fit; the first is %d: %s", sum.Len(), sum.Marked[0].Index, sum.Marked[0].Reason)
	}
	if s.json {
		if e := json.NewEncoder(out).Encode(sum); e != nil {
			return errors.Join(err, e)
		}
		return err
	}
	var text bytes.Buffer
	if whole := len(sum.Gaps) == 0; whole && sum.Ledgers == 0 {
		fmt.Fprintf(&text, "nothing to do: ledgers %v are stored\n", s.span())
	} else if whole {
		fmt.Fprintf(&text, "%d ledgers in %s, %.1f/s, P95 %.0f ms, bound by: %s; %s\n", sum.Ledgers, took.Round(time.Millisecond), sum.Rate, sum.P95, sum.BoundBy, sum.Trusted)
	}
	if p.store.Progress().Sample > 1 {
		fmt.Fprintf(&text, "proved at %s: check --level L4 checks them all\n", sum.Proved)
	}
	text.WriteString(sum.Summary())
	for _, b := range sum.Blamed {
		fmt.Fprintf(&text, "%s answered wrongly %d times: %s\n", b.Server, b.Count, b.Reason)
	}
	if _, e := text.WriteTo(out); e != nil {
		return errors.Join(err, e)
	}
	return err
}
