package filter

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/api"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/store"
)

// newLogs returns a function that returns the logs since its last call, after those of blocks that
// were taken back, and the number of the last block that it has seen. Where there are very many, the
// next call continues.
func (f *Filters) newLogs(c *Criteria) func(context.Context) (logs []*types.Log, seen uint64, err error) {
	at := f.start()
	first, last := c.window()
	at.wants = func(l *types.Log) bool { return l.BlockNumber >= first && l.BlockNumber <= last && c.matches(l) }
	return func(ctx context.Context) ([]*types.Log, uint64, error) {
		head := at.turn()
		from, to := max(at.next, first), min(head, last)
		if from > to {
			return at.removed(), head, nil
		}
		logs, after, err := scan(ctx, f.node, c, from, min(to, from+maxBlocks-1))
		switch turned := at.turned(); {
		case turned:
			return at.removed(), at.next - 1, nil // some may have been taken back meanwhile
		case err != nil:
			return nil, at.next - 1, err
		}
		at.next = after
		return append(at.removed(), logs...), at.next - 1, nil
	}
}

// newHeaders returns a function that returns the headers since its last call, at most a number of
// them, and the number of the last one.
func (f *Filters) newHeaders(most int) func() (headers []*types.Header, seen uint64, err error) {
	at := f.start()
	return func() (headers []*types.Header, seen uint64, err error) {
		head := at.turn()
		for n := at.next; n <= head && len(headers) < most; n++ {
			header, err := f.node.Blocks.Header(n)
			if at.turned() {
				return nil, at.next - 1, nil
			}
			if err != nil {
				return nil, 0, err
			}
			headers = append(headers, header)
		}
		at.next += uint64(len(headers))
		return headers, at.next - 1, nil
	}
}

// place is where a reader of new blocks is.
type place struct {
	f     *Filters
	next  uint64 // the first block that it has not seen
	times int    // that blocks were taken back, ever
	wants func(*types.Log) bool
	gone  []*types.Log // that it wants, of blocks that it had seen and that were taken back
}

// removed returns the logs that were taken back since its last call; none is an empty slice.
func (p *place) removed() []*types.Log {
	gone := p.gone
	p.gone = nil
	return append([]*types.Log{}, gone...)
}

func (f *Filters) start() *place {
	p := &place{f: f}
	p.turned()
	p.next = f.head() + 1
	return p
}

// turn goes back to where blocks were taken back, and returns the head.
func (p *place) turn() (head uint64) {
	p.turned()
	return p.f.head()
}

// turned goes back to where blocks were taken back since it was called last, if any were.
func (p *place) turned() bool {
	r, ok := p.f.node.Feed.(api.Reverting)
	if !ok {
		return false
	}
	times, taken := r.Reverted(p.times)
	p.times = times
	for _, t := range taken {
		for _, log := range t.Logs {
			if p.wants != nil && log.BlockNumber < p.next && p.wants(log) {
				p.gone = append(p.gone, log)
			}
		}
		if p.next = min(p.next, t.Last+1); t.Begins {
			p.next = t.Last + 1
		}
	}
	return len(taken) > 0
}

// newHashes returns a function that returns the hashes of the transactions that were accepted since
// its last call, at most a number of them, and a channel that is closed when there are more.
func (f *Filters) newHashes(most int) func() ([]common.Hash, <-chan struct{}) {
	next := f.node.Feed.Accepted(math.MaxUint64, most).From
	return func() ([]common.Hash, <-chan struct{}) {
		a := f.node.Feed.Accepted(next, most)
		f.dropped.Add(max(a.From, next) - next) // a test chain that was reset has fewer
		next = a.From + uint64(len(a.Hashes))
		return a.Hashes, a.More
	}
}

func (f *Filters) head() uint64 { return f.node.States.Head().Number.Uint64() }

// transactions returns what clients get of accepted transactions: hashes, or the whole.
func (f *Filters) transactions(hashes []common.Hash, whole bool) ([]any, error) {
	shown := make([]any, 0, len(hashes))
	for _, hash := range hashes {
		if !whole {
			shown = append(shown, hash)
			continue
		}
		tx := f.node.Pool.Waiting(hash)
		if tx == nil { // it is sealed already, or was replaced
			block, index, err := f.node.FindTransaction(hash)
			if err != nil {
				return nil, err
			}
			if block == nil {
				continue
			}
			tx = block.Transactions()[index]
		}
		shown = append(shown, api.NewTransaction(tx, f.signer))
	}
	return shown, nil
}

// source returns what is new since its last call, and a channel that is closed when there is more.
type source func(context.Context) (events []any, more <-chan struct{}, err error)

// source returns that of a kind of subscription.
func (f *Filters) source(kind string, argument json.RawMessage) (source, error) {
	switch kind {
	case "newHeads":
		return f.headSource(), nil
	case "logs":
		c := &Criteria{}
		if err := read(argument, c); err != nil {
			return nil, err
		}
		return f.logSource(c), c.judge()
	case "newPendingTransactions":
		whole := false
		if err := read(argument, &whole); err != nil {
			return nil, err
		}
		hashes := f.newHashes(ahead)
		return func(context.Context) ([]any, <-chan struct{}, error) {
			found, more := hashes()
			events, err := f.transactions(found, whole)
			return events, more, err
		}, nil
	case "transactionReceipts":
		var of struct{ TransactionHashes []common.Hash }
		if err := read(argument, &of); err != nil {
			return nil, err
		}
		return f.receiptSource(of.TransactionHashes)
	case "syncing": // a node never is
		return func(context.Context) ([]any, <-chan struct{}, error) { return nil, nil, nil }, nil
	}
	return nil, jsonrpc.Errorf(jsonrpc.UnknownMethod, "no %.100q subscription in eth namespace", kind)
}

// read reads the second parameter of eth_subscribe, which may be missing.
func read(argument json.RawMessage, into any) error {
	if len(argument) == 0 {
		return nil
	}
	if err := json.Unmarshal(argument, into); err != nil {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid argument 1: %v", err)
	}
	return nil
}

func (f *Filters) headSource() source {
	headers := f.newHeaders(ahead)
	return func(context.Context) (events []any, more <-chan struct{}, err error) {
		found, seen, err := headers()
		for _, header := range found {
			events = append(events, api.NewHeader(header, header.Hash()))
		}
		return events, f.node.Feed.Grown(seen), err
	}
}

func (f *Filters) logSource(c *Criteria) source {
	logs := f.newLogs(c)
	return func(ctx context.Context) (events []any, more <-chan struct{}, err error) {
		found, seen, err := logs(ctx)
		for _, log := range found {
			events = append(events, log)
		}
		return events, f.node.Feed.Grown(seen), err
	}
}

// maxHashes bounds the transactions of a subscription, as go-ethereum does.
const maxHashes = 200

// receiptSource returns the receipts of each block as one event, of some transactions or of all.
func (f *Filters) receiptSource(hashes []common.Hash) (source, error) {
	if len(hashes) > maxHashes {
		return nil, jsonrpc.Errorf(jsonrpc.ServerError, "exceed max number of transaction hashes allowed per transactionReceipts subscription")
	}
	var wanted func(common.Hash) bool
	if len(hashes) > 0 {
		wanted = func(hash common.Hash) bool { return slices.Contains(hashes, hash) }
	}
	headers := f.newHeaders(1) // a block can have thousands
	return func(context.Context) (events []any, more <-chan struct{}, err error) {
		found, seen, err := headers()
		for _, header := range found {
			s, err := f.node.Sealed(header.Number.Uint64())
			switch {
			case errors.Is(err, store.ErrNotFound): // it was taken back meanwhile
				continue
			case err != nil:
				return nil, nil, err
			case s.Hash() != header.Hash():
				continue
			}
			receipts, err := s.ShownReceipts(wanted)
			if err != nil {
				return nil, nil, err
			}
			if len(receipts) > 0 {
				events = append(events, receipts)
			}
		}
		return events, f.node.Feed.Grown(seen), err
	}, nil
}

func (f *Filters) subscribe(ctx context.Context, params []byte) (any, error) {
	var kind string
	var argument json.RawMessage
	if err := jsonrpc.Params(params, 1, &kind, &argument); err != nil {
		return nil, err
	}
	next, err := f.source(kind, argument)
	if err != nil {
		return nil, err
	}
	sub, err := jsonrpc.Subscribe(ctx, "eth_subscription")
	if err != nil {
		return nil, err
	}
	f.tasks.Go(func() { follow(ctx, sub, next) })
	return sub.ID(), nil
}

// ahead is how many headers or transactions a subscription has read and not sent yet, at most:
// those of a client that does not read must not fill the memory.
const ahead = 64

// follow sends what is new until the subscription ends.
func follow(ctx context.Context, sub *jsonrpc.Subscription, next source) {
	defer sub.Close()
	for {
		sub.WaitForRoom()
		events, more, err := next(ctx)
		if err != nil {
			return // the disk fails, which the client learns from its next call
		}
		for _, event := range events {
			sub.WaitForRoom()
			if sub.Send(event) != nil {
				return
			}
		}
		select {
		case <-more:
		case <-sub.Done():
			return
		}
	}
}

func (f *Filters) unsubscribe(ctx context.Context, params []byte) (any, error) {
	var id string
	if err := jsonrpc.Params(params, 1, &id); err != nil {
		return nil, err
	}
	if !jsonrpc.Unsubscribe(ctx, id) {
		return nil, jsonrpc.Errorf(jsonrpc.ServerError, "subscription not found")
	}
	return true, nil
}
