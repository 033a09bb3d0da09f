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
	"dyno/services/ledger/history"
	"dyno/services/ledger/store"
	"dyno/services/ledger/trust"
)

func syncJob() daemon.Job {
	var s syncer
	return daemon.Job{
		Name:  "sync",
		Short: "Download a range of history, prove it and store it",
		Long: `Sync downloads ledgers --from to --to from the servers, proves them and stores them in --data. It may be stopped or
killed at any moment: without further flags it goes on where it was. Its last line on stdout says how it went.

The exit code is 0 when the whole range is stored, 1 when something is missing. It is 1, too, when at L4 ledgers are
stored that have their hashes and do not verify: they are marked, and no server is blamed for them.`,
		Example: `  ledgersync sync --from 90000000 --to 90000999 --server https://xrplcluster.com --server wss://s2.ripple.com --data history
  ledgersync sync --data history
  ledgersync sync --from 90000000 --to 90000999 --level L4 --anchor quorum --unl vl.json --server wss://xrplcluster.com --data history`,
		Flags: s.declare,
		Run:   s.run,
	}
}

// syncer is one sync.
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
	st, err := openStore(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := s.complete(s.flags.Changed, st.Progress()); err != nil {
		return daemon.Usage(err)
	}
	p, err := s.open(ctx, env, st)
	if err != nil {
		return err
	}
	p.show(s.span(), s.windows)
	begin := time.Now()
	err = p.holds()
	if err == nil {
		err = p.knowsValidators()
	}
	if err == nil {
		err = p.fill(ctx, s.span(), p.anchor)
	}
	if err == nil {
		err = indexAccounts(ctx, env, st)
	}
	err = s.tell(env.Stdout, p, time.Since(begin), errors.Join(err, p.close()))
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && st.Progress().Range() == s.span() {
		return fmt.Errorf("sync was told to stop before it was done; ledgersync sync --data %s goes on", env.Data)
	}
	return err
}

// knowsValidators sees that the list can be read of those whose quorum will be waited for, before anybody is asked.
func (p *pipeline) knowsValidators() error {
	if p.request.anchor != quorum || p.config.Level < trust.L2 || p.store.Stored().Has(p.request.to) {
		return nil
	}
	_, err := p.quorum()
	return err
}

// holds sees that what is stored already is not another history than the one that is asked for.
func (p *pipeline) holds() error {
	t, named, err := p.request.named()
	if err != nil || !named || p.config.Level < trust.L2 || !p.store.Stored().Has(t.Index) {
		return err
	}
	p.word = fmt.Sprintf("ledger %d is %v on your word", t.Index, t.Hash)
	_, stored, err := p.store.Header(t.Index)
	if err == nil && stored != t.Hash {
		err = fmt.Errorf("ledger %d is %v by --anchor, and %v in the folder: one of the two is of another history; name another folder, or the right anchor", t.Index, t.Hash, stored)
	}
	return err
}

// fill downloads what of a range is not stored, its uppermost gap first. Trusted is asked for what the range's top is
// linked to, if that is missing; what is above other gaps is stored and proved, and names its parent.
func (p *pipeline) fill(ctx context.Context, span history.Range, trusted func(context.Context) (backfill.Trusted, error)) error {
	gaps := p.store.Stored().Missing(span)
	if len(gaps) == 0 {
		return nil
	}
	if err := p.meet(ctx); err != nil {
		return err
	}
	slices.Reverse(gaps)
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
				p.word = cmp.Or(p.word, fmt.Sprintf("ledger %d is the parent of ledger %d, which is stored", gap.To, gap.To+1))
			}
		}
		if err := p.gap(ctx, c, gap); err != nil {
			return err
		}
	}
	return nil
}

// gap fills one gap, which has to fit onto what is stored below it.
func (p *pipeline) gap(ctx context.Context, c backfill.Config, gap history.Range) error {
	if below := gap.From - 1; p.store.Stored().Has(below) {
		_, hash, err := p.store.Header(below)
		if err != nil {
			return err
		}
		c.Below = backfill.Trusted{Index: below, Hash: hash}
	}
	w, err := store.NewWriter(p.set.Commit, p.store, p.writing)
	if err != nil {
		return err
	}
	if err := p.store.Unmark(gap); err != nil {
		return errors.Join(err, w.Close())
	}
	c.Sink = w
	err = backfill.Run(ctx, c, gap)
	if e := w.Close(); !errors.Is(err, e) { // the pipeline passes on what the writer could not do
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
	P95        float64  `json:"p95_ms"` // of the time from a ledger's request to its proof
	BoundBy    string   `json:"bound_by"`
	Refetched  uint64   `json:"refetched"`
	Blamed     []blamed `json:"blamed"`
	Gaps       []string `json:"gaps"` // of the range, as FROM-TO
	Signatures uint64   `json:"signatures"`
	Trusted    string   `json:"trusted"` // on whose word the top's hash stands; empty when nothing was linked to anything new
	Proved     string   `json:"proved"`  // how far what is stored was; empty when nothing is

	trust.Marks // of the range
}

type blamed struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// tell prints the last line, and adds to the error what it means for the range.
func (s *syncer) tell(out io.Writer, p *pipeline, took time.Duration, err error) error {
	if s.windows {
		return errors.Join(err, p.windows.Close(err))
	}
	sum, e := p.summary(took, s.span())
	if err = errors.Join(err, e); err == nil && sum.Len() > 0 && p.config.Level >= trust.L4 {
		err = fmt.Errorf("all is stored, and %d ledgers do not verify at L4 though their hashes fit; the first is %d: %s", sum.Len(), sum.Marked[0].Index, sum.Marked[0].Reason)
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
