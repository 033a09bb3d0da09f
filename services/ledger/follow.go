package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/ledger/backfill"
	"dyno/services/ledger/store"
	"dyno/services/ledger/tip"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

func followJob() daemon.Job {
	var f follower
	return daemon.Job{
		Name:  "follow",
		Short: "Keep up with the tip: fetch, prove and store every ledger that is validated",
		Long: `Follow subscribes to the servers, over WebSocket, and stores every ledger from the newest stored one on as the
network validates them, until it is stopped. To serve them at the same time: ledgersync serve --follow.`,
		Example: `  ledgersync follow --data history
  ledgersync follow --server wss://xrplcluster.com --server wss://s2.ripple.com --data history
  ledgersync follow --server wss://xrplcluster.com --level L3 --anchor quorum --unl vl.json --data history`,
		Flags: f.declare,
		Run:   f.run,
	}
}

type follower struct {
	request
	flags *pflag.FlagSet
}

func (f *follower) declare(set *pflag.FlagSet) {
	f.flags = set
	f.declareServers(set)
}

func (f *follower) run(ctx context.Context, env *daemon.Env, _ []string) (err error) {
	h, err := openHome(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.store.Close()) }()
	p, err := f.openToFollow(ctx, h, f.flags.Changed)
	if err != nil {
		return err
	}
	err = errors.Join(p.follow(ctx), p.close())
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // stopped, the normal end
	}
	return err
}

// openToFollow is open for a request without a range.
func (r *request) openToFollow(ctx context.Context, h home, given func(flag string) bool) (*pipeline, error) {
	before := h.store.Progress()
	r.inherit(given, before)
	r.from, r.to = before.From, before.To // unchanged
	if err := r.check(); err != nil {
		return nil, daemon.Usage(err)
	}
	return r.open(ctx, h)
}

func (p *pipeline) follow(ctx context.Context) error {
	c := tip.Config{Top: p.top, First: p.store.Progress().From, Fetch: p.fetch, Log: p.env.Log}
	for _, s := range p.servers {
		c.Servers = append(c.Servers, s)
	}
	if p.request.anchor == quorum {
		q, err := p.quorum()
		if err != nil {
			return err
		}
		c.Quorum = q
	}
	f, err := tip.NewFollower(c)
	if err != nil {
		return daemon.Usage(err)
	}
	if err := p.env.Expose(prefix+"follow_", exposeFollower(f), followMetrics...); err != nil {
		return err
	}
	return f.Run(ctx)
}

// top is the end of the stored range without a hole that contains the first requested ledger; 0 if
// there is none. Ledgers above a hole were stored by a process that was killed while it caught up.
func (p *pipeline) top() uint32 {
	stored, first := p.store.Stored(), p.store.Progress().From
	for _, r := range stored {
		if first == 0 || r.Has(first) {
			return r.To
		}
	}
	return 0
}

// fetch stores a range at the tip, whose top is known.
func (p *pipeline) fetch(ctx context.Context, missing history.Range, top xrpl.Hash) error {
	if p.writing.Progress.From == 0 { // the store begins here
		p.writing.Progress.From, p.writing.Progress.To = missing.From, missing.To
	}
	err := p.fill(ctx, missing, func(context.Context) (backfill.Trusted, error) {
		return backfill.Trusted{Index: missing.To, Hash: top}, nil
	})
	if errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrFailed) {
		return fmt.Errorf("%w: %w", tip.ErrStop, err)
	}
	return err
}

func (p *pipeline) quorum() (*trust.Quorum, error) {
	unl, err := trust.LoadValidators(p.request.unl, p.request.unlKey)
	if err != nil {
		return nil, daemon.Usage(fmt.Errorf("--unl: %w", err))
	}
	return trust.NewQuorum(unl)
}
