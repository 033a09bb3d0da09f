package generator

import (
	"context"
	"net/url"
	"strings"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/load"
	"dyno/lab/load/deliveries"
	"dyno/lab/scenario"
)

// dialTimeout bounds the time in which a node must agree to announce its blocks.
const dialTimeout = 5 * time.Second

// Deliveries connects to what reports the deliveries of these requests; end disconnects it.
// follow is nil if the load does not ask for deliveries.
func (b *Generator) Deliveries(ctx context.Context, s *environment.Testbed, r *Requests) (follow []load.Deliveries, end func(), err error) {
	address := b.Scenario.Load.Deliveries
	if address == "" {
		return nil, func() {}, nil
	}
	if address, err = s.Expand("load.receipts", strings.ReplaceAll(address, "${run}", r.Run)); err != nil {
		return nil, nil, err
	}
	if r.committed != nil {
		return b.blocks(ctx, address, r)
	}
	stream, err := deliveries.Dial(ctx, address, r.Run)
	if err != nil {
		return nil, nil, err
	}
	return []load.Deliveries{stream.Follow}, stream.Close, nil
}

// blocks subscribes to a node's blocks.
func (b *Generator) blocks(ctx context.Context, address string, r *Requests) (follow []load.Deliveries, end func(), err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, &scenario.Fault{Err: err}
	}
	settings, err := b.tls()
	if err != nil {
		return nil, nil, &scenario.Fault{Err: err}
	}
	secure, err := settings.Config(u.Hostname(), false)
	if err != nil {
		return nil, nil, &scenario.Fault{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	node, err := deliveries.DialBlocks(ctx, u, secure)
	if err != nil {
		return nil, nil, err
	}
	r.committed.Store(node)
	return []load.Deliveries{node.Follow}, func() {
		r.committed.Store(nil)
		node.Close()
	}, nil
}
