package deliveries

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/websocket"
)

const (
	maxMessage = 64 << 20 // bytes; a block with the hashes of 900,000 transactions fits
	// maxReads bounds the blocks that are being read. A node that is further behind makes the run
	// fail.
	maxReads = 10_000
	// maxEarly bounds the hashes that were committed before their answer arrived, and those of
	// other clients' transactions, which look the same.
	maxEarly = 1 << 18
)

// emptyRoot is the transactionsRoot of a block without transactions: the hash of an empty trie.
const emptyRoot = `"0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"`

type hash [32]byte

// Blocks matches the transactions that a node accepted with the blocks that contain them.
type Blocks struct {
	conn  *websocket.Conn
	reads map[uint64]int64 // id of a block's read -> instant of the block's announcement, ns
	next  uint64           // id of the next read

	mu      sync.Mutex
	rec     *load.Recorder // nil: Follow was not called yet
	waiting map[hash]*accepted
	early   map[hash]int64 // committed before the answer that accepted it -> instant
	order   []hash         // keys of early, the oldest first
}

// accepted is a request whose transactions are not all committed.
type accepted struct {
	seq   uint64
	units int   // transactions that the node accepted
	left  int   // accepted transactions that are not committed yet
	last  int64 // instant of the latest commit
}

// DialBlocks subscribes to a node's blocks. It returns once the node has confirmed the
// subscription, so that no block with a later request's transaction is missed.
func DialBlocks(ctx context.Context, u *url.URL, secure *tls.Config) (*Blocks, error) {
	conn, err := websocket.Dial(ctx, u, nil, secure, maxMessage)
	if err != nil {
		return nil, fmt.Errorf("following blocks: %w", err)
	}
	b := &Blocks{conn: conn, reads: map[uint64]int64{}, next: 1, waiting: map[hash]*accepted{}, early: map[hash]int64{}}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := b.subscribe(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("following blocks: %w", err)
	}
	return b, nil
}

func (b *Blocks) subscribe() error {
	b.conn.Queue([]byte(`{"jsonrpc":"2.0","id":0,"method":"eth_subscribe","params":["newHeads"]}`))
	if err := b.conn.Flush(); err != nil {
		return err
	}
	answer, err := b.conn.Receive()
	if err != nil {
		return err
	}
	if result, err := corpus.JSONField(answer, "result"); err != nil || len(result) == 0 || result[0] != '"' {
		return fmt.Errorf("the node does not announce its blocks: %.200s", answer)
	}
	return nil
}

// Close ends the subscription.
func (b *Blocks) Close() { b.conn.Close() }

// Accepted registers the transactions that an answer accepts. The answer holds the result of
// eth_sendRawTransaction, an array of such results, or a list of accepted hashes
// ({"accepted":["0x.."]}).
func (b *Blocks) Accepted(seq uint64, answer []byte) {
	o := &accepted{seq: seq}
	b.mu.Lock()
	defer b.mu.Unlock()
	enter := func(value []byte) {
		h, ok := parseHash(value)
		if !ok {
			return
		}
		o.units++
		if at, committed := b.early[h]; committed {
			delete(b.early, h)
			o.last = max(o.last, at)
			return
		}
		b.waiting[h] = o
		o.left++
	}
	switch trimmed := bytes.TrimLeft(answer, " \t\r\n"); {
	case len(trimmed) > 0 && trimmed[0] == '[':
		corpus.EachJSONField(answer, enter, "*", "result")
	default:
		result, _ := corpus.JSONField(answer, "result")
		enter(result)
		corpus.EachJSONField(answer, enter, "accepted", "*")
	}
	b.settle(o)
}

// settle reports a request's delivery if all its transactions are committed.
func (b *Blocks) settle(o *accepted) {
	if o.left == 0 && o.units > 0 && b.rec != nil {
		b.rec.DeliveredUnits(o.seq, o.last, o.units)
	}
}

// parseHash parses a quoted "0x" with 64 hexadecimal digits.
func parseHash(value []byte) (h hash, ok bool) {
	if len(value) != 68 || string(value[:3]) != `"0x` {
		return h, false
	}
	_, err := hex.Decode(h[:], value[3:67])
	return h, err == nil
}

// Follow reads blocks and reports commits to the recorder until ctx is done. If it ends for any
// other reason, it returns an error. Follow is a load.Deliveries.
func (b *Blocks) Follow(ctx context.Context, rec *load.Recorder) error {
	b.mu.Lock()
	b.rec = rec
	b.mu.Unlock()
	writing, stop := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { b.conn.Write(writing) })
	err := b.read()
	stop()
	writer.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var _ load.Deliveries = (&Blocks{}).Follow

// read handles messages until the connection fails.
func (b *Blocks) read() error {
	for {
		message, err := b.conn.Receive()
		if err != nil {
			return err
		}
		at := monotonic.Now()
		method, err := corpus.JSONField(message, "method")
		switch {
		case err != nil:
		case method != nil:
			err = b.announced(message, at)
		default:
			err = b.block(message)
		}
		if err != nil {
			return err
		}
	}
}

// announced requests the transactions of an announced block.
func (b *Blocks) announced(message []byte, at int64) error {
	root, _ := corpus.JSONField(message, "params", "result", "transactionsRoot")
	block, _ := corpus.JSONField(message, "params", "result", "hash")
	if _, ok := parseHash(block); !ok {
		return fmt.Errorf("an announcement has no block hash: %.200s", message)
	}
	if string(root) == emptyRoot {
		return nil
	}
	if len(b.reads) == maxReads {
		return fmt.Errorf("%d announced blocks have not been read: the node is too far behind", maxReads)
	}
	call := append([]byte(`{"jsonrpc":"2.0","id":`), strconv.FormatUint(b.next, 10)...)
	call = append(call, `,"method":"eth_getBlockByHash","params":[`...)
	call = append(append(call, block...), `,false]}`...)
	b.reads[b.next] = at
	b.next++
	b.conn.Queue(call)
	return nil
}

// block commits the transactions in a block that was read.
func (b *Blocks) block(message []byte) error {
	id, _ := corpus.JSONField(message, "id")
	n, err := strconv.ParseUint(string(id), 10, 64)
	at, asked := b.reads[n]
	if err != nil || !asked {
		return fmt.Errorf("an answer has no id of a call: %.200s", message)
	}
	delete(b.reads, n)
	if transactions, _ := corpus.JSONField(message, "result", "transactions"); transactions == nil {
		return fmt.Errorf("the node announced a block and does not have it: %.200s", message)
	}
	corpus.EachJSONField(message, func(value []byte) {
		if h, ok := parseHash(value); ok {
			b.commit(h, at)
		}
	}, "result", "transactions", "*")
	return nil
}

// commit enters the commit of a transaction.
func (b *Blocks) commit(h hash, at int64) {
	b.mu.Lock() // locked for each transaction, so that a large block does not delay a sending thread
	defer b.mu.Unlock()
	if o := b.waiting[h]; o != nil {
		delete(b.waiting, h)
		o.left--
		o.last = max(o.last, at)
		b.settle(o)
		return
	}
	if len(b.order) == maxEarly {
		delete(b.early, b.order[0])
		b.order = b.order[1:]
	}
	b.early[h] = at
	b.order = append(b.order, h)
}
