package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/parts/servicetest"
	"dyno/services/chain/chaintest"
)

// A node is killed after 1 to mostAcknowledged acknowledgements, and a random moment more, so that
// it ends between any two system calls.
const (
	mostAcknowledged = 400
	mostMore         = 20 * time.Millisecond
)

// mostCalls is how many calls an array may have.
const mostCalls = 1000

// Result is the result of Kill, which fails if anything was lost or changed.
type Result struct {
	Kills        int
	Acknowledged int // transactions, all of them mined
	Unanswered   int // transactions that were mined although the kill took the answer
	Waited       int // acknowledged transactions that had no receipt when the node was killed
	Seen         int // receipts that were read before a kill, none of which changed
	Blocks       int // in the end, with the head that go-ethereum computes
}

func (r Result) String() string {
	return fmt.Sprintf("%d kills: %d acknowledged (%d of them in no block that was seen) and %d unanswered transactions mined, %d receipts seen before and unchanged, %d blocks executed by go-ethereum",
		r.Kills, r.Acknowledged, r.Waited, r.Unanswered, r.Seen, r.Blocks)
}

// Kill kills a node at random moments while senders send single calls, arrays, raw bytes and
// messages over WebSocket. Every acknowledged transaction must be mined without being sent again,
// and no receipt may change. In the end its folder is checked, and go-ethereum executes the
// exported chain.
func Kill(t *testing.T, p Program, kills int, seed uint64) Result {
	k := &killed{random: rand.New(rand.NewPCG(seed, 0)), receipts: map[common.Hash]string{}}
	chaintest.Alone(t, p.start, map[string]chaintest.Case{"killed": func(c *chaintest.Client) {
		k.c = c
		c.Run()
		k.to = c.NewAccount(0).Address()
		for range 8 {
			k.accounts = append(k.accounts, c.NewAccount(100))
		}
		for k.Kills < kills {
			k.round()
			if k.Kills%20 == 0 {
				c.T.Logf("%d kills, %d acknowledged", k.Kills, k.Acknowledged)
			}
		}
		k.unchanged(k.order)
		for range 3 { // blocks that only the journal has
			txs := []*types.Transaction{k.accounts[0].Send(k.to, 1)}
			c.Mine(txs[0])
			k.receipts[txs[0].Hash()] = ""
		}
		c.Kill()
		k.provesItself(p)
		k.namesDamage(p)
	}})
	return k.Result
}

// killed is a node that is killed while several senders send.
type killed struct {
	Result
	c        *chaintest.Client
	random   *rand.Rand
	to       common.Address
	accounts []*chaintest.Account
	receipts map[common.Hash]string // of what was acknowledged, as JSON
	order    []common.Hash          // its keys, in the order in which they were added
}

// acknowledged collects hashes that were returned, and receipts that were read.
type acknowledged struct {
	mu      sync.Mutex
	enough  int
	reached chan struct{} // closed when there are enough
	hashes  []common.Hash
	seen    map[common.Hash]string
}

func (a *acknowledged) add(hashes []common.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.hashes)
	a.hashes = append(a.hashes, hashes...)
	if before < a.enough && len(a.hashes) >= a.enough {
		close(a.reached)
	}
}

// some returns hashes whose receipts have not been seen.
func (a *acknowledged) some() (hashes []common.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, hash := range a.hashes {
		if _, seen := a.seen[hash]; !seen && len(hashes) < 100 {
			hashes = append(hashes, hash)
		}
	}
	return hashes
}

// round kills the node under load, and checks what the next one has.
func (k *killed) round() {
	a := &acknowledged{enough: 1 + k.random.IntN(mostAcknowledged), reached: make(chan struct{}), seen: map[common.Hash]string{}}
	more := time.Duration(k.random.Int64N(int64(mostMore)))
	var clients sync.WaitGroup
	for i, from := range k.accounts {
		send := []func([]*types.Transaction) ([]common.Hash, error){k.alone, k.array, k.raw, k.socket(k.c.Dial())}[i%4]
		clients.Go(func() { k.send(from, 1+i*3, send, a) })
	}
	clients.Go(func() { k.watch(a) })
	<-a.reached
	<-time.After(more) // its progress meanwhile is random
	k.c.Kill()
	clients.Wait()
	k.Kills++
	k.c.Run()
	k.mined(a)
}

// send sends transactions until the node is killed.
func (k *killed) send(from *chaintest.Account, together int, send func([]*types.Transaction) ([]common.Hash, error), a *acknowledged) {
	for {
		var txs []*types.Transaction
		for range together {
			txs = append(txs, from.Send(k.to, 1))
		}
		hashes, err := send(txs)
		a.add(hashes)
		if err != nil {
			return
		}
	}
}

// watch reads receipts until the node is killed.
func (k *killed) watch(a *acknowledged) {
	for {
		hashes := a.some()
		if len(hashes) == 0 {
			if k.c.Try(nil, "eth_chainId") != nil {
				return
			}
			continue
		}
		receipts, err := k.read(hashes)
		if err != nil {
			return
		}
		for i, r := range receipts {
			if r != "null" {
				a.seen[hashes[i]] = r // by this goroutine only, until the round waits for it
			}
		}
	}
}

// mined checks what was acknowledged before the kill, and some of what was before that.
func (k *killed) mined(a *acknowledged) {
	t := k.c.T
	var late []common.Hash
	servicetest.Await(t, func() string { return fmt.Sprintf("the receipts of %d acknowledged transactions: %v", len(late), late) }, func() bool {
		late = nil
		for i, r := range k.readAll(a.hashes) {
			if r == "null" {
				late = append(late, a.hashes[i])
			}
			k.receipts[a.hashes[i]] = r
		}
		return len(late) == 0
	})
	for hash, was := range a.seen {
		if is := k.receipts[hash]; is != was {
			t.Fatalf("kill %d: the receipt was %s, is %s", k.Kills, was, is)
		}
	}
	var old []common.Hash
	for range min(len(k.order), mostCalls) {
		old = append(old, k.order[k.random.IntN(len(k.order))])
	}
	k.unchanged(old)
	k.order = append(k.order, a.hashes...)
	k.Acknowledged, k.Seen, k.Waited = len(k.order), k.Seen+len(a.seen), k.Waited+len(a.hashes)-len(a.seen)
	for _, from := range k.accounts {
		from.Nonce = k.c.Nonce(from.Address(), "pending") // some were accepted, and the answer was lost
	}
}

// unchanged checks that receipts are what they were.
func (k *killed) unchanged(hashes []common.Hash) {
	for i, is := range k.readAll(hashes) {
		if was := k.receipts[hashes[i]]; is != was {
			k.c.T.Fatalf("kill %d: the receipt was %s, is %s", k.Kills, was, is)
		}
	}
}

// readAll reads receipts of a node that lives.
func (k *killed) readAll(hashes []common.Hash) (receipts []string) {
	for len(hashes) > 0 {
		part := hashes[:min(mostCalls, len(hashes))]
		read, err := k.read(part)
		if err != nil {
			k.c.T.Fatal(err)
		}
		receipts, hashes = append(receipts, read...), hashes[len(part):]
	}
	return receipts
}

// read reads receipts, as JSON: "null" where there is none.
func (k *killed) read(hashes []common.Hash) (receipts []string, err error) {
	var calls []chaintest.Request
	for i, hash := range hashes {
		calls = append(calls, chaintest.Call(i, "eth_getTransactionReceipt", hash))
	}
	err = k.calls(calls, func(a chaintest.Answer) error {
		receipts = append(receipts, string(a.Result))
		return a.Into(nil)
	})
	return receipts, err
}

// calls sends an array of calls, and gives the answers to a function.
func (k *killed) calls(calls []chaintest.Request, each func(chaintest.Answer) error) error {
	text, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	r, err := k.c.TryPost(string(text), nil)
	if err != nil {
		return err
	}
	return answers(r.Body, each)
}

func answers(body []byte, each func(chaintest.Answer) error) error {
	var all []chaintest.Answer
	if err := json.Unmarshal(body, &all); err != nil {
		return fmt.Errorf("%.200s: %w", body, err)
	}
	for _, a := range all {
		if err := each(a); err != nil {
			return err
		}
	}
	return nil
}

// alone sends transactions one after the other, in calls of their own.
func (k *killed) alone(txs []*types.Transaction) (hashes []common.Hash, err error) {
	for _, tx := range txs {
		var hash common.Hash
		if err := k.c.Try(&hash, "eth_sendRawTransaction", chaintest.Raw(tx)); err != nil {
			return hashes, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// sends are the calls that send transactions.
func sends(txs []*types.Transaction) (calls []chaintest.Request) {
	for i, tx := range txs {
		calls = append(calls, chaintest.Call(i, "eth_sendRawTransaction", chaintest.Raw(tx)))
	}
	return calls
}

// array sends transactions in an array of calls.
func (k *killed) array(txs []*types.Transaction) (hashes []common.Hash, err error) {
	err = k.calls(sends(txs), into(&hashes))
	return hashes, err
}

// socket sends arrays over a WebSocket.
func (k *killed) socket(s *chaintest.Socket) func([]*types.Transaction) ([]common.Hash, error) {
	return func(txs []*types.Transaction) (hashes []common.Hash, err error) {
		text, err := json.Marshal(sends(txs))
		if err != nil {
			return nil, err
		}
		if err := s.TryWrite(string(text)); err != nil {
			return nil, err
		}
		message, err := s.TryRead()
		if err != nil {
			return nil, err
		}
		err = answers(message, into(&hashes))
		return hashes, err
	}
}

// into appends the hash of each answer.
func into(hashes *[]common.Hash) func(chaintest.Answer) error {
	return func(a chaintest.Answer) error {
		var hash common.Hash
		if err := a.Into(&hash); err != nil {
			return err
		}
		*hashes = append(*hashes, hash)
		return nil
	}
}

// raw sends transactions to /submit.
func (k *killed) raw(txs []*types.Transaction) ([]common.Hash, error) {
	var body []byte
	for _, tx := range txs {
		body = append(body, hexutil.MustDecode(chaintest.Raw(tx))...)
	}
	resp, err := http.Post(k.c.Program.URL+"/submit", "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Accepted []common.Hash
		Refused  []json.RawMessage
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if len(answer.Refused) > 0 {
		err = fmt.Errorf("refused: %s", answer.Refused)
	}
	return answer.Accepted, err
}
