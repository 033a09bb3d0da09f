package core

import (
	"encoding/json"

	"dyno/services/chain/chaintest"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// head is an event of newHeads.
func head(c *chaintest.Client, e chaintest.Event) (h types.Header, hash common.Hash) {
	c.T.Helper()
	named := struct{ Hash common.Hash }{}
	if err := json.Unmarshal(e.Result, &h); err != nil {
		c.T.Fatal(err)
	}
	if err := json.Unmarshal(e.Result, &named); err != nil || named.Hash != h.Hash() {
		c.T.Fatalf("a head says that its hash is %v; it is %v", named.Hash, h.Hash())
	}
	return h, h.Hash()
}

func subscribe(c *chaintest.Client, s *chaintest.Socket) (id string) {
	c.T.Helper()
	if err := s.Try(&id, "eth_subscribe", "newHeads"); err != nil || id == "" {
		c.T.Fatalf("a subscription %q: %v", id, err)
	}
	return id
}

// sendsHeads: each block once, in order, to every subscription.
func sendsHeads(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	sockets := []*chaintest.Socket{c.Dial(), c.Dial()}
	ids := []string{subscribe(c, sockets[0]), subscribe(c, sockets[1])}
	var last *chaintest.Receipt
	for range 10 {
		last = c.Mine(from.Send(to, 1))
	}
	for i, s := range sockets {
		var before types.Header
		for before.Number == nil || before.Number.Uint64() < uint64(last.BlockNumber) {
			e := s.Event()
			h, _ := head(c, e)
			if before.Number != nil && (h.ParentHash != before.Hash() || h.Number.Uint64() != before.Number.Uint64()+1) {
				c.T.Fatalf("head %v, of parent %v, comes after %v, %v", h.Number, h.ParentHash, before.Number, before.Hash())
			}
			if e.Subscription != ids[i] {
				c.T.Fatalf("an event of subscription %s, want %s", e.Subscription, ids[i])
			}
			before = h
		}
		if before.Hash() != last.BlockHash {
			c.T.Fatalf("head %v, want %v", before.Hash(), last.BlockHash)
		}
	}
}

// headsAreReadable: when a head comes, its block, receipts and number can be read.
func headsAreReadable(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	s := c.Dial()
	subscribe(c, s)
	for range 5 {
		c.Send(from.Send(to, 1))
	}
	for seen := 0; seen < 5; {
		h, hash := head(c, s.Event())
		block := chaintest.Get[*chaintest.Block](c, "eth_getBlockByHash", hash, false)
		if block == nil || block.Hash != hash {
			c.T.Fatalf("block %v of a head is %+v", h.Number, block)
		}
		if n := chaintest.Get[hexutil.Uint64](c, "eth_blockNumber"); uint64(n) < h.Number.Uint64() {
			c.T.Fatalf("the number is %d after head %v", n, h.Number)
		}
		for _, tx := range block.Transactions {
			r := c.TryReceipt(tx)
			if r == nil || r.BlockHash != hash {
				c.T.Fatalf("the receipt of %v in block %v is %+v", tx, h.Number, r)
			}
			if r.From == from.Address() {
				seen++
			}
		}
	}
}

// endsSubscription: after it ended no event comes, and other subscriptions go on.
func endsSubscription(c *chaintest.Client) {
	from, to := c.NewAccount(1), c.NewAccount(0).Address()
	s := c.Dial()
	ended, stays := subscribe(c, s), subscribe(c, s)
	if ended == stays {
		c.T.Fatalf("two subscriptions are called %s", ended)
	}
	var ok bool
	if err := s.Try(&ok, "eth_unsubscribe", ended); err != nil || !ok {
		c.T.Fatalf("%t, %v", ok, err)
	}
	if err := s.Try(&ok, "eth_unsubscribe", "0x123"); err == nil && ok {
		c.T.Fatal("what is no subscription was ended")
	}
	r := c.Mine(from.Send(to, 1))
	for ended2 := false; !ended2; {
		e := s.Event()
		h, _ := head(c, e)
		ended2 = h.Number.Uint64() >= uint64(r.BlockNumber)
		if e.Subscription == ended && ended2 {
			c.T.Fatalf("head %v came to a subscription that was ended", h.Number)
		}
	}
	err := c.Try(nil, "eth_subscribe", "newHeads")
	c.Refused(err, -32601, "")
	if err := s.Try(nil, "eth_subscribe", "nothing"); err == nil {
		c.T.Fatal("a subscription to nothing")
	}
}
